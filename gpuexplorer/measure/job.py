"""One run on its way: what it is made of, where it reports to, and how it launches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from gpuexplorer.backends.base import MAX_QUEUED_LAUNCHES, Batch, Runner, TimingChoice
from gpuexplorer.core.deadline import said_deadline_s
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.core.result import Phases, Verification
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.measure.problems import Problem
from gpuexplorer.measure.stop import Slower, StopRule

BATCH_S = 0.010
"""Device time of one batch: 100 a second reach the window, and a knob waits no longer."""
FIRST_BATCH_S = 0.002
"""Device time of the first batch, so that the first sample is seen at once."""
WARM_UP_S = 0.050
"""Launches before the first sample of a run that has an end."""
COPY_DEADLINE_S = 60.0
LAUNCH_DEADLINE_S = 10.0
"""Least time a launch, or the first part of one, is given before it counts as hung."""
AGREED_DEADLINE_S = 120.0
"""The same where the user has agreed to launches that take long."""
DEADLINE_FACTOR = 10.0
"""A launch may take this many times its prediction before it counts as hung."""
LARGE_INPUTS_B = 1 << 26
"""Inputs above this many bytes take long to make: a launch is predicted before, and none are made
for a second check."""


class Stopped(Exception):
    """The run was cancelled before its first sample."""


class TooLong(Exception):
    """A launch would take longer than the user agreed to."""

    def __init__(self, predicted_s: float) -> None:
        super().__init__(f"one launch would take {predicted_s:.1f} s")
        self.predicted_s = predicted_s


class Sink(Protocol):
    """Where a run reports to; no call may block, but ``prepared`` may let the device rest."""

    def stage(self, name: str, deadline_s: float | None) -> None:
        """Say what comes next, and how long it may take before it counts as hung."""

    def prepared(self, ready: Ready) -> None:
        """Say that the run is built, verified and about to be sampled."""

    def samples(self, batch: SampleBatch) -> None:
        """Hand over samples."""

    def memory(self, use: MemoryUse) -> None:
        """Say what memory the run takes, now that it was counted."""


@dataclass
class Job:
    """One run: the runner of its configuration, the problem, and when it ends."""

    runner: Runner
    problem: Problem
    stop_rules: list[StopRule]
    cancelled: Callable[[], bool]
    allow_s: float
    """Longest predicted launch that may run."""
    samples: int | None = None
    """Samples to take at the most; None: the rules alone say when it is enough."""
    slower: Slower | None = None
    """When to give up on a configuration as slower than another one; None: never."""
    warm_up_s: float = WARM_UP_S
    warmed_up_s: float = 0.0
    """How much of that was done while the result was compared."""
    in_search: bool = False
    """The samples are not shown as they come: a batch may be as long as may be queued."""
    wait_when_throttled: bool = False
    """Whether to let the device rest when its clock is held down; a live run shows it instead."""
    clock_reasons: Callable[[], Sequence[str]] = tuple
    """Tells what held the device's clock, by its driver's word, when it was last read."""
    timing: TimingChoice | None = None
    """How launches are timed: as in an earlier run of the same, until this one has settled."""
    include_transfers: bool = False
    known_prediction_s: float | None = None
    rough_below_s: float = 0.0
    """A prediction below this need not be any finer."""
    known_verification: Verification | None = None
    """Of an earlier run of the very same in this process; None: the result is checked."""
    verification: Verification | None = None
    """What the check said, once it was made or taken over."""
    not_verified: str | None = None
    """Why the result could not be checked, where that is so."""
    verified_again: bool = False
    """Whether the result was checked a second time in this run."""
    memory: MemoryUse = field(default_factory=MemoryUse)
    """Predicted, and the peak once it was counted, in this run or an earlier one of the same."""
    memory_told: bool = False
    """Whether the peak, or why there is none, was handed over in this run."""
    previous: Runner | None = None
    """A runner of the same problem, whose arrays may be taken over."""
    previous_intact: bool = True
    """Whether those hold the inputs still; otherwise they are copied again."""
    phases_s: Phases = field(default_factory=Phases)
    """The phases as far as known; of the previous run until this one has measured its own."""
    predicted_s: float | None = None
    whole_s: float = 0.0
    """What a launch takes with all that is not timed: resets, and emptying the cache."""
    arrays: Literal["untouched", "held", "filled"] = "untouched"
    """Whether the runner has taken its arrays yet, and whether they hold the inputs."""
    intact: bool = False
    """Whether the inputs were seen to be still there after launches that might overwrite them."""

    @property
    def least_deadline_s(self) -> float:
        """The least time that a launch is given: what the user said, but no less than the usual."""
        agreed = math.isinf(self.allow_s)
        usual_s = AGREED_DEADLINE_S if agreed else LAUNCH_DEADLINE_S
        return max(LAUNCH_DEADLINE_S, said_deadline_s() or usual_s)

    @property
    def memory_waits(self) -> bool:
        """Whether the memory can be counted, and was not told yet."""
        return self.runner.counts_memory and not self.memory_told

    @property
    def verification_waits(self) -> bool:
        """Whether a kernel's result was not checked a second time yet, in this run or before."""
        known = self.verified_again or self.known_verification is not None
        return bool(self.runner.plan.steps) and not known


class Ready(msgspec.Struct, frozen=True):
    """What is known of a run before its first sample."""

    device: DeviceInfo
    runner: Runner
    verification: Verification | None
    """None: the result could not be checked, and ``not_verified`` says why."""
    phases_s: Phases
    predicted_s: float | None
    memory: MemoryUse
    not_verified: str | None = None

    @property
    def verified(self) -> bool:
        """Whether the result was checked, all of it, and found right."""
        return self.verification is not None and self.verification.whole is True


def check_cancelled(job: Job) -> None:
    """Raise Stopped when the run was cancelled or replaced."""
    if job.cancelled():
        raise Stopped


def launch_deadline_s(expected_s: float | None, least_s: float = LAUNCH_DEADLINE_S) -> float:
    """Return how long a launch may take before it counts as hung; None: nothing is known of it."""
    if expected_s is None:
        return max(COPY_DEADLINE_S, least_s)
    return max(least_s, DEADLINE_FACTOR * expected_s)


def launch(job: Job, count: int) -> Batch:
    """Run a batch, and note what a launch of it takes with all that is not timed."""
    started = time.perf_counter()
    batch = job.runner.launch(count)
    job.whole_s = (time.perf_counter() - started) / (len(batch.seconds) * batch.launches)
    return batch


def batch_size(launch_s: float, batch_s: float = BATCH_S) -> int:
    """Return how many launches make a batch of about ``batch_s``."""
    return int(min(max(batch_s / max(launch_s, 1e-9), 1), MAX_QUEUED_LAUNCHES))
