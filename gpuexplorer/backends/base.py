"""The interface of a backend: devices that run work, and runners that time one configuration.

A backend is a subclass of ``Backend`` and one of ``Runner`` in a file or folder of its own, and a
line in ``registry``. Every method is called from one thread, the engine's measuring thread.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpuexplorer.core.device import DeviceInfo, Unavailable
from gpuexplorer.core.result import Resources
from gpuexplorer.workloads.plan import Plan

HostArray = npt.NDArray[Any]

MAX_QUEUED_LAUNCHES = 512
"""Launches that may be queued ahead of the device."""
MAX_QUEUED_S = 0.030
"""Device time that may be queued ahead, so that a knob acts at once."""


@dataclass(frozen=True)
class Batch:
    """Launches queued together and timed one by one by the device.

    ``start_ns`` is the engine's monotonic clock when the first was queued; ``seconds`` are device
    durations, one a launch, in order.
    """

    start_ns: int
    seconds: npt.NDArray[np.float64]


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

    method: ClassVar[str] = "host clock"
    """How ``launch`` times, in words that stand beside the number."""
    resolution_s: ClassVar[float] = 1e-9

    def __init__(self, plan: Plan, device: DeviceInfo) -> None:
        self.plan = plan
        self.device = device

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

    @abstractmethod
    def poison(self) -> None:
        """Fill outputs and scratch arrays with NaN (0xFF bytes): an unwritten element shows."""

    @abstractmethod
    def predict_s(self) -> float | None:
        """Estimate one launch's duration from a few blocks before the whole grid runs.

        The estimate may leave outputs half-written. None when there is nothing to split.
        """

    @abstractmethod
    def launch(self, count: int) -> Batch:
        """Run ``count`` launches (all steps each) and return the device's time for each.

        ``plan.reset`` arrays are set back before each launch, outside the timed part. Waits for
        the last launch by blocking, not by polling.
        """

    @abstractmethod
    def download(self, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy arrays back to the host and wait; shapes and dtypes are the plan's."""

    @abstractmethod
    def free(self) -> None:
        """Free every array; calling it twice is harmless."""

    def check_guards(self) -> None:
        """Raise WrongResult when a launch wrote outside its arrays, as far as that can be seen."""
        return None

    def adopt(self, other: Runner) -> bool:
        """Take over ``other``'s allocated arrays and their contents; False when that cannot be.

        After True, ``other`` owns nothing any more.
        """
        return False

    def resources(self) -> Resources:
        """Return what the compiled kernel takes of the device, as far as known."""
        return Resources()

    @staticmethod
    def now_ns() -> int:
        """Return the engine's monotonic clock in nanoseconds."""
        return time.perf_counter_ns()
