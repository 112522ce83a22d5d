"""The whole textbook sequence as one sample, each of its steps timed by the host."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import pairwise

import msgspec

from gpuexplorer.backends.base import HostArray, Runner

METHOD = "host clock around allocate, copy, launch, copy back, free"


class SequencePhases(msgspec.Struct, frozen=True):
    """Seconds of each step of one sequence."""

    allocate_s: float
    host_to_device_s: float
    kernel_s: float
    device_to_host_s: float
    free_s: float

    @property
    def total_s(self) -> float:
        """Seconds of the whole sequence."""
        return sum(self.row())

    def row(self) -> tuple[float, float, float, float, float]:
        """Return the steps in order."""
        return (
            self.allocate_s,
            self.host_to_device_s,
            self.kernel_s,
            self.device_to_host_s,
            self.free_s,
        )


def run_sequence(
    runner: Runner, inputs: Mapping[str, HostArray], outputs: tuple[str, ...]
) -> SequencePhases:
    """Run the sequence once; the runner must own no arrays before and owns none after."""
    marks = [time.perf_counter()]
    runner.allocate()
    marks.append(time.perf_counter())
    runner.upload(inputs)
    marks.append(time.perf_counter())
    runner.launch_plain()
    marks.append(time.perf_counter())
    runner.download(outputs)
    marks.append(time.perf_counter())
    runner.free()
    marks.append(time.perf_counter())
    return SequencePhases(*(b - a for a, b in pairwise(marks)))
