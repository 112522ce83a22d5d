"""A run of a user's own model: the torch runners, with foreign code kept at arm's length."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from gpuexplorer.backends.models import Model
from gpuexplorer.backends.torch.load import load, set_as_started
from gpuexplorer.backends.torch.model import TorchModel
from gpuexplorer.backends.torch.model_runner import (
    TorchCpuModelRunner,
    TorchCudaModelRunner,
    TorchModelRunner,
)
from gpuexplorer.backends.torch.own_model import OwnModel
from gpuexplorer.core.result import Arithmetic, Verification

Made = TypeVar("Made")
SET_BACK = "inputs that the model overwrites are set back before each step, outside the times"


class OwnRunner(TorchModelRunner):
    """What both kinds of device share."""

    wrong_remedy: ClassVar[str] = (
        "nothing was timed; if that error is as it should be, say so in the file, "
        'such as TOLERANCE = {"bf16": 0.3}'
    )

    @property
    def _own(self) -> OwnModel:
        model = self.model
        assert isinstance(model, OwnModel)
        return model

    def _make(self) -> Model:
        self._torch = load()
        set_as_started(self._torch)
        self._start()
        model = self._new_model()
        model.set_flags()
        return model

    def _new_model(self) -> TorchModel:
        return OwnModel(self._torch, self.plan, self._place)

    def build(self) -> None:
        """Run the file, convert its module, and take over what it says of its work."""
        super().build()
        self.plan = self._own.plan

    @property
    def method(self) -> str:
        """How launches are timed, and that inputs are set back, where that is so."""
        if not self._own.overwrites:
            return super().method
        return f"{super().method}; {SET_BACK}"

    def _surviving(self, doing: str, work: Callable[[], Made]) -> Made:
        """Do something with the user's code and tell its failures with file and line."""
        with self._own.file.running(doing):
            return work()

    def predict_s(self) -> float | None:
        """Return what an iteration took while building."""
        return self._own.first_s

    def _observed(self) -> Arithmetic:
        """Say what ran: by the kernels' names, and by whether fp32 gives the very same."""
        from gpuexplorer.backends.torch import evidence
        from gpuexplorer.backends.torch.own_model_check import like_fp32

        own = self._own
        with own.mode():
            own.reset()
            kernels = evidence.kernel_names(own) if own.kind == "gpu" else []
        same, why_not = like_fp32(own)
        return evidence.arithmetic_of(own, same, why_not, kernels)

    def check_itself(self) -> Verification | str | None:
        """Compare the last launch with the same module in float64."""
        from gpuexplorer.backends.torch.own_model_check import check

        results = self._results
        return self._surviving("being compared with float64", lambda: check(self._own, results))


class OwnCpuRunner(OwnRunner, TorchCpuModelRunner):
    """A user's model on the CPU."""


class OwnCudaRunner(OwnRunner, TorchCudaModelRunner):
    """A user's model on a GPU."""
