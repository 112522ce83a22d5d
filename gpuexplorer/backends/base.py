"""The interface of a backend: devices that run work, and runners that time one configuration.

A backend is a subclass of ``Backend`` and one of ``Runner`` in a file or folder of its own, and a
line in ``registry``. Every method is called from one thread, the engine's measuring thread.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.backends.cpu import memory_available_B
from gpuexplorer.core.accesses import AccessLook, Trace
from gpuexplorer.core.deadline import said_deadline_s
from gpuexplorer.core.device import DeviceInfo, Unavailable
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.core.operators import Recorded
from gpuexplorer.core.result import Arithmetic, Resources, Verification
from gpuexplorer.workloads.plan import Plan

HostArray = npt.NDArray[Any]
Marks = Callable[[], AbstractContextManager[None]]
"""Makes what a profiler looks at the inside of."""

MAX_QUEUED_LAUNCHES = 512
"""Launches that may be queued ahead of the device."""
MAX_QUEUED_S = 0.030
"""Device time that may be queued ahead, so that a knob acts at once."""
BUILD_DEADLINE_S = 120.0
"""How long building may take before it counts as hung, where the environment does not say."""
COMPILE_DEADLINE_S = 900.0
"""The same where torch.compile is switched on, which may try many kernels."""


class Batch(msgspec.Struct, frozen=True):
    """Launches queued together and timed by the device.

    ``start_ns`` is the engine's monotonic clock when the first was queued; ``seconds`` are device
    durations of one launch, one a sample, in order. Where a launch is too short to be timed alone,
    a sample is the mean of ``launches`` of them, and counts as one.
    """

    start_ns: int
    seconds: npt.NDArray[np.float64]
    launches: int = 1
    clock_Hz: float | None = None
    """The clock the device held while the batch ran; None where that cannot be told."""


class TimingChoice(msgspec.Struct, frozen=True):
    """How the launches of a configuration are timed, chosen by what they took."""

    group: int = 1
    """Launches of a sample."""
    short: bool = False
    """Whether they were found too short for the clock to time one by itself."""
    recorded: bool = False
    """Whether a profiler's records of the kernels give the times."""
    no_records: str = ""
    """Why they do not, where they are wanted."""


class TimingLost(WorkFailed):
    """The way launches were timed stopped working; ``settle`` finds another one."""


def build_deadline_s(plan: Plan | None = None) -> float:
    """Return how long building may take: importing a model's file, compiling, a first step."""
    compiles = plan is not None and plan.switches.get("compile", "off") != "off"
    return said_deadline_s() or (COMPILE_DEADLINE_S if compiles else BUILD_DEADLINE_S)


class Backend(ABC):
    """One way to reach devices. Importing its module must not import the framework."""

    name: ClassVar[str]

    def __init__(self, threads: int) -> None:
        """Remember how many CPU threads work may use; it holds for the process's life."""
        self.threads = threads

    @abstractmethod
    def discover(self) -> tuple[DeviceInfo, ...] | Unavailable:
        """Return the devices that can run work here, or why there are none and what would help."""

    @abstractmethod
    def runner(self, plan: Plan, device: DeviceInfo) -> Runner:
        """Return a runner for one configuration; nothing is built or allocated yet."""

    def prepare(self, device: DeviceInfo) -> None:
        """Load and open what a first run on a device would have to wait for."""
        return None

    def memory_free_B(self, device: DeviceInfo) -> int | None:
        """Return the bytes that a run could take of a device now; None where that is not known."""
        return memory_available_B() if device.kind == "cpu" else None

    def versions(self) -> dict[str, str]:
        """Return the versions of the libraries used, by the names of ``result.Environment``."""
        return {}

    def close(self) -> None:
        """Let go of contexts and threads."""


class Runner(ABC):
    """One configuration on one device: build, allocate, copy, launch, copy back, free.

    The order is the textbook program's. Arrays live on the device between ``allocate`` and
    ``free``; ``adopt`` takes them over from another runner instead, when only the launch changed.
    """

    timed_by: ClassVar[str] = "host clock"
    """How ``launch`` times, in words."""
    clock_step_s: ClassVar[float] = 1e-9
    """The finest step of that clock."""
    counts_memory: ClassVar[bool] = False
    """Whether ``peak_memory`` knows anything."""
    uncounted: str = "this backend keeps no count of the memory in use"
    """Why it knows nothing, as it stands beside the missing figure."""
    rough_below_s: float = 0.0
    """A prediction that turns out below this need not be any finer."""
    wrong_remedy: ClassVar[str] = "nothing was timed; correct the kernel or its manifest"
    """What to do about a result that is too far from float64."""

    def __init__(self, plan: Plan, device: DeviceInfo) -> None:
        self.plan = plan
        self.device = device

    @property
    def method(self) -> str:
        """How launches are timed and what the caches hold, as it stands beside the number."""
        return f"{self.timed_by}; {self.cache_words}"

    @property
    def resolution_s(self) -> float:
        """The finest difference between two samples that can be told."""
        return self.clock_step_s

    @property
    def cold(self) -> bool:
        """Whether the last-level cache is emptied before each launch."""
        return self.plan.config.cache == "cold"

    @property
    def cache_words(self) -> str:
        """What the caches hold when a launch begins, in words."""
        return f"cold: {self.flush_words}" if self.cold else "caches warm"

    @property
    def flush_words(self) -> str:
        """How the cache is emptied before each launch, in words."""
        return "the cache emptied before each launch"

    @property
    def is_built(self) -> bool:
        """Whether everything that ``build`` compiles is known to be there."""
        return False

    @abstractmethod
    def build(self) -> None:
        """Compile or look up what is launched.

        Raises WorkFailed with the compiler's message, which names the user's file and line, in
        ``detail``; InputError when the device cannot launch it (shared memory, registers).
        """

    @abstractmethod
    def allocate(self) -> None:
        """Allocate every array of the plan on the device, uninitialised.

        Raises WorkFailed when the memory is not there.
        """

    @abstractmethod
    def upload(self, inputs: Mapping[str, HostArray]) -> None:
        """Copy the host's inputs (exact dtype and shape of the plan) to the device and wait."""

    def clear_indices(self) -> None:
        """Zero arrays of whole numbers, where a launch may come before their inputs.

        What memory held before would be taken for indices, and lead anywhere.
        """
        return None

    @abstractmethod
    def poison(self) -> None:
        """Fill outputs and scratch with ``fills.poison_byte``: an unwritten element shows."""

    @abstractmethod
    def predict_s(self) -> float | None:
        """Estimate one launch's duration from a few blocks before the whole grid runs.

        The estimate may leave outputs half-written. None when there is nothing to split.
        """

    @abstractmethod
    def launch(self, count: int) -> Batch:
        """Run ``count`` launches (all steps each) and return the device's time for each.

        Before each launch ``plan.reset`` arrays are set back, and where the configuration asks for
        cold caches the last-level cache is emptied; both outside the timed part. After ``settle``,
        ``count`` may be rounded to whole samples of several launches. Waits for the last launch by
        blocking, not by polling.
        """

    def settle(self, first_s: float, earlier: TimingChoice | None = None) -> TimingChoice | None:
        """Choose how launches are timed from now on; ``first_s`` is what the first one took.

        ``method`` and ``resolution_s`` hold for every later ``launch``, which raises TimingLost
        where they no longer would. Near a border of two ways
        chance would decide, and the turns of a comparison would mix them: so ``earlier``, which was
        chosen in an earlier run of the same configuration, stays as long as it works. None where
        there is nothing to choose, or too little was seen for it to hold in later runs.
        """
        return None

    def launch_alone(self, marks: Marks = nullcontext) -> None:
        """Run one launch and wait, with nothing beside it on the device: a profiler looks.

        What comes before the launch is over when ``marks`` are entered, on every device where a
        profiler can look.
        """
        with marks():
            self.launch(1)

    def launch_plain(self) -> None:
        """Run one launch as the textbook program does, and wait; its results can be copied back.

        The host's clock runs around it, so nothing is queued that such a program would not queue.
        The inputs were just uploaded: only arrays that begin as zeros are set back.
        """
        self.launch(1)

    def launch_untimed(self) -> None:
        """Run one launch without timing it or keeping its results; arrays are set back before."""
        self.launch_alone()

    @abstractmethod
    def download(self, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy arrays back to the host and wait; shapes and dtypes are the plan's."""

    @abstractmethod
    def free(self) -> None:
        """Free every array; calling it twice is harmless."""

    def check_guards(self) -> None:
        """Raise WrongResult when a launch wrote outside its arrays, as far as that can be seen."""
        return None

    def check_alignment(self) -> None:
        """Raise WrongResult for an access that only this device takes, as far as that can be seen.

        Arrays may hold anything afterwards.
        """
        return None

    def printed(self) -> str | None:
        """Return what kernels printed in the launch that was checked; None where none did.

        On an NVIDIA GPU the driver prints it, to the engine's own output.
        """
        return None

    def adopt(self, other: Runner) -> bool:
        """Take over ``other``'s allocated arrays and their contents; False when that cannot be.

        After True, ``other`` owns nothing any more.
        """
        return False

    def peak_memory(self, inputs: Mapping[str, HostArray]) -> tuple[float, str] | None:
        """Return the bytes that arrays and launches hold at most, and the counter that says so.

        Asked between launches that are timed, whether there are arrays or not; may free them, and
        leaves them filled with ``inputs``. None where nothing counts this: see ``uncounted``.
        """
        return None

    def check_itself(self) -> Verification | str | None:
        """Compare the last launch with a reference of the runner's own.

        None where the workload's reference decides, as for everything that a manifest describes; a
        text where it cannot be checked: why.
        """
        return None

    def operators(self, *, shapes: bool) -> Recorded:
        """Record the operators of one launch; the arrays are filled.

        Raises CannotRunHere where nothing tells them.
        """
        raise CannotRunHere(
            f"nothing tells the operators of '{self.plan.config.variant}'",
            remedy="choose a variant that PyTorch runs",
        )

    def accesses(self, look: AccessLook) -> Trace:
        """Count what a warp of one launch asks of memory; the arrays are filled.

        Raises CannotRunHere where nothing tells it.
        """
        raise CannotRunHere(
            f"the accesses of '{self.plan.config.variant}' are counted on the CPU device, and "
            f"{self.device.id} ({self.device.name}) is none",
            remedy="choose the CPU device and a variant that is a kernel",
        )

    def arithmetic(self) -> Arithmetic | None:
        """Say which arithmetic ran, once it has; None where the configuration alone says it."""
        return None

    def resources(self) -> Resources:
        """Return what the compiled kernel takes of the device, as far as known."""
        return Resources()

    @staticmethod
    def now_ns() -> int:
        """Return the engine's monotonic clock in nanoseconds."""
        return time.perf_counter_ns()
