"""Models of a framework as runs: what the runners of every framework share.

A model is made for one plan and holds its arrays on the device. Weights and data are arrays of the
manifest, the same for every framework; the host's copies are float32 (float64 for ``fp64``), and
the framework rounds them to the run's precision when they are written. A step puts its results
into new arrays, as model code does: nothing is written in place but weights that learn.

A framework's folder holds its ``Model``s, a registry of them, and a ``ModelRunner``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter_ns
from typing import ClassVar, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from gpuexplorer.backends.base import Batch, HostArray, Marks, Runner
from gpuexplorer.backends.caches import cpu_flush
from gpuexplorer.backends.numpy import reading_flush
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, WorkFailed
from gpuexplorer.core.result import Arithmetic
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.plan import Plan

MODEL_NAMES = (
    "matmul",
    "mlp",
    "mlp_training",
    "conv2d",
    "attention",
    "softmax",
    "layer_norm",
    "transformer_block",
    "cnn",
)
"""The models of the shipped workloads, each called as its workload is."""
SHORT_FLOP = 1e9
"""A step below this takes well under a second and needs no estimate."""
STEP_WORDS = "host clock around each step, its dispatch included"

ModelStep = Callable[[], object]
Made = TypeVar("Made")


class Model(Protocol):
    """One model in one framework, for one plan.

    The order is ``prepare``, ``allocate``, ``write``, ``step`` again and again, ``read``, ``free``;
    after ``free`` it may begin again with ``allocate``. Methods may raise what the framework
    raises; the runner turns it into a sentence.
    """

    def prepare(self) -> None:
        """Build, trace and compile, so that no later step does; its time is the phase ``compile``.

        Raises CannotRunHere for a choice that needs what this machine lacks.
        """

    def allocate(self) -> None:
        """Allocate weights and data on the device, as far as the framework does that apart."""

    def write(self, arrays: Mapping[str, HostArray]) -> None:
        """Copy the host's arrays to the device in the run's precision, and wait.

        A weight that learns (role ``inout``) may be written again: the optimiser then starts anew.
        """

    @property
    def step(self) -> ModelStep:
        """What runs one launch and returns its results: done where the host times, else queued."""

    def read(self, results: object, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy a step's results, and weights that learnt, to the host; the plan's dtypes."""

    def reset(self) -> None:
        """Set the plan's ``reset`` arrays back to what was written, and the optimiser with them."""

    def free(self) -> None:
        """Free every array; calling it twice is harmless."""


class ModelRunner(Runner):
    """A model on one device, timed by the host's clock around each step.

    Subclasses make the model and say which of the framework's errors are a lack of memory.
    """

    timed_by: ClassVar[str] = STEP_WORDS
    clock_step_s: ClassVar[float] = 1e-7
    wrong_remedy: ClassVar[str] = (
        "nothing was timed; choose a precision with more bits, or 'gpuexplorer study precision', "
        "which times it all the same"
    )

    _model: Model | None = None
    _results: object = None
    _flush: ModelStep | None = None
    _arithmetic: Arithmetic | None = None

    @abstractmethod
    def _make(self) -> Model:
        """Import the framework, set what holds for the run, and return its model, unprepared.

        Raises CannotRunHere for a model or a choice that the framework does not have.
        """

    @abstractmethod
    def _out_of_memory(self, error: Exception) -> bool:
        """Whether an error of the framework says that memory is short."""

    @abstractmethod
    def _estimate_s(self) -> float | None:
        """Estimate a step's duration without running it whole; None where that cannot be told."""

    @abstractmethod
    def _observed(self) -> Arithmetic | None:
        """Say what ran, once a step has; None where that cannot be told."""

    def _mode(self) -> AbstractContextManager[object]:
        """What steps run within, such as an inference mode; entered outside the time."""
        return nullcontext()

    def _flusher(self) -> ModelStep:
        """Return a call that empties the last-level cache."""
        return reading_flush()

    @property
    def flush_words(self) -> str:
        """How the cache is emptied before each launch, in words."""
        return cpu_flush().words

    @property
    def model(self) -> Model:
        """The model, once it is built."""
        if self._model is None:
            raise WorkFailed(f"the model of '{self.plan.config.variant}' was not built")
        return self._model

    # ---- the textbook program

    def build(self) -> None:
        """Make the model and compile it where that is asked for."""
        self._model = model = self._make()
        with self._mode():
            self._surviving("building the model", model.prepare)

    def allocate(self) -> None:
        """Allocate weights and data."""
        self.free()
        self._surviving("allocating", self.model.allocate)

    def upload(self, inputs: Mapping[str, HostArray]) -> None:
        """Copy weights and data, and wait."""
        self._surviving("copying", lambda: self.model.write(inputs))

    def poison(self) -> None:
        """Forget earlier results: a step that makes none has nothing to show."""
        self._results = None

    def predict_s(self) -> float | None:
        """Estimate the time of a long step."""
        if self.plan.flops < SHORT_FLOP:
            return None
        with self._mode():
            return self._surviving("trying the model", self._estimate_s)

    def launch(self, count: int) -> Batch:
        """Run ``count`` steps and time each."""
        with self._mode():
            return self._surviving("running", lambda: self._timed(count))

    def launch_plain(self) -> None:
        """Run one step with nothing before it, and wait; writing the weights set them back."""
        self._results = None
        with self._mode():
            self._results = self._surviving("running", self._step_and_wait)

    def launch_alone(self, marks: Marks = nullcontext) -> None:
        """Run one step and wait, without timing it."""
        before = self._before()
        with self._mode():
            if before is not None:
                self._surviving("setting arrays back", before)
            self._surviving("waiting", self._wait)
            with marks():
                self._surviving("running", self._step_and_wait)

    def _wait(self) -> None:
        """Wait for what was queued, where steps are."""

    def _step_and_wait(self) -> object:
        return self.model.step()

    def launch_untimed(self) -> None:
        """Run one step without timing it, and let go of its results."""
        self._results = None
        with self._mode():
            if self.plan.reset:
                self._surviving("setting arrays back", self.model.reset)
            self._surviving("running", self.model.step)

    def download(self, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy the last step's results and the weights to the host."""
        if self._results is None:
            raise WorkFailed(f"the model of '{self.plan.config.variant}' has not run yet")
        return self._surviving("copying back", lambda: self.model.read(self._results, names))

    def free(self) -> None:
        """Free every array."""
        self._results = self._flush = None
        if self._model is not None:
            self._model.free()

    def arithmetic(self) -> Arithmetic | None:
        """Say which arithmetic ran; worked out once."""
        if self._arithmetic is None and self._model is not None:
            with self._mode():
                self._arithmetic = self._surviving("looking at its arithmetic", self._observed)
        return self._arithmetic

    # ---- helpers

    def _timed(self, count: int) -> Batch:
        step, before, clock = self.model.step, self._before(), perf_counter_ns
        durations_ns: npt.NDArray[np.float64] = np.empty(count)
        self._results = None
        start_ns = self.now_ns()
        for index in range(count - 1):
            if before is not None:
                before()
            began = clock()
            step()  # what it returns is let go of within the time, as in a program's own loop
            durations_ns[index] = clock() - began
        if before is not None:
            before()
        began = clock()
        results = step()
        durations_ns[count - 1] = clock() - began
        self._results = results
        return Batch(start_ns=start_ns, seconds=durations_ns * 1e-9)

    def _before(self) -> ModelStep | None:
        """Return what comes before each step and is not timed; None for nothing."""
        reset = self.model.reset if self.plan.reset else None
        if not self.cold:
            return reset
        flush = self._flush = self._flush or self._flusher()

        def both() -> None:
            if reset is not None:
                reset()
            flush()

        return both

    def _surviving(self, doing: str, work: Callable[[], Made]) -> Made:
        """Do something of the framework's and turn its errors into ours.

        The framework's error holds the frames that hold the arrays: it is let go of before ours is
        raised, so that the memory is free again when the next run begins.
        """
        try:
            return work()
        except ExplorerError:
            raise
        except Exception as error:
            failure = self._explained(error, doing)
            if failure is None:
                raise
        raise failure

    def _explained(self, error: Exception, doing: str) -> ExplorerError | None:
        """Return our word for an error, None for one that says enough itself."""
        if isinstance(error, MemoryError) or self._out_of_memory(error):
            return WorkFailed(
                f"{self.device.id} ran out of memory while {doing}; the arrays alone take "
                f"{quantity(self.plan.memory_B, 'B')}",
                remedy="choose a smaller size",
                detail=str(error),
            )
        return None


def offered_by(backend: str) -> tuple[str, ...]:
    """Return the shipped models as a framework offers them, such as ``jax.mlp``."""
    return tuple(f"{backend}.{name}" for name in MODEL_NAMES)


def check_model(plan: Plan, device: DeviceInfo, offered: Collection[str]) -> str:
    """Return the plan's model; CannotRunHere when it is not one of those that are offered."""
    if plan.model is None or plan.model not in offered:
        raise CannotRunHere(
            f"'{plan.config.variant}' is not a model of {device.backend}",
            remedy=f"it offers {', '.join(offered)}",
        )
    return plan.model


def same_bits(results: Mapping[str, HostArray], others: Mapping[str, HostArray]) -> bool:
    """Whether two runs gave the very same numbers, so that their arithmetic was the same."""
    return all(
        name in others and np.array_equal(values, others[name], equal_nan=True)
        for name, values in results.items()
    )
