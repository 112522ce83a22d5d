"""A machine for tests of studies: times, errors and memory that a test decides, at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError, WrongResult
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.core.result import Arithmetic, Verification
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload
from tests.support.problems import device
from tests.support.simulated import SimulatedMachine

SHIPPED = load()
TOLERANCE = 1e-3
MODELS = tuple(v.model for w in SHIPPED.values() for v in w.manifest.variants.values() if v.model)


def torch_cpu(**changes: Any) -> DeviceInfo:
    """Return a CPU that torch's models run on, in the precisions that torch has there."""
    precisions = tuple(p for p in PRECISIONS if p not in ("tf32", "fp8_e4m3", "autocast_fp16"))
    said: dict[str, Any] = {
        "runs_kernels": False,
        "libraries": tuple(m for m in MODELS if m.startswith("torch.")),
        "precisions": precisions,
        "threads": 4,
    }
    return device("torch:cpu", **{**said, **changes})


def gpu(id_: str = "cuda:0", **changes: Any) -> DeviceInfo:
    """Return a GPU that runs kernels."""
    said: dict[str, Any] = {"kind": "gpu", "hardware_id": "GPU-1", "name": "Some GPU"}
    return device(id_, **{**said, **changes})


def cpu(**changes: Any) -> DeviceInfo:
    """Return a CPU that runs kernels."""
    return device("opencl:0", **{"threads": 4, **changes})


def devices(*listed: DeviceInfo) -> DeviceList:
    """Return a list of devices."""
    return DeviceList(devices=listed)


def asked(workload: str, **changes: Any) -> RunRequest:
    """Return a request."""
    return RunRequest(workload=workload, **changes)


class StudyMachine(SimulatedMachine):
    """Measures at once; what it says of errors, arithmetic and memory is a test's choice."""

    def __init__(
        self,
        launch_s: Callable[[RunConfig], float],
        *,
        error: Callable[[RunConfig], float] = lambda config: 1e-7,
        arithmetic: Callable[[RunConfig], Arithmetic | None] = lambda config: None,
        memory_B: Callable[[RunConfig], float | None] = lambda config: None,
        noise: float = 0.001,
        fails: Callable[[RunConfig], ExplorerError | None] = lambda config: None,
        seed: int = 1,
    ) -> None:
        """``error`` is the root mean square's; that of the worst element is four times it."""
        super().__init__(launch_s, noise=noise, fails=fails, seed=seed)
        self._error, self._arithmetic, self._memory_B = error, arithmetic, memory_B

    def measure(self, config: RunConfig, workload: Workload, options: RunOptions) -> RunRecord:
        """Return the samples, or raise WrongResult for an error above the tolerance."""
        rms = self._error(config)
        check = Verification(
            ok=4 * rms <= TOLERANCE, max_rel_error=4 * rms, rms_rel_error=rms,
            tolerance=TOLERANCE, method="full, float64",
        )  # fmt: skip
        if not check.ok and not config.even_if_wrong:
            raise WrongResult("the result is wrong")
        record = super().measure(config, workload, options)
        record.prepared = msgspec.structs.replace(
            record.prepared, verification=check, arithmetic=self._arithmetic(config)
        )
        peak_B = self._memory_B(config)
        if peak_B is not None:
            record.memory = MemoryUse(peak_B=peak_B, counter="a counter")
        return record
