"""The recipe of one run, in the order it is followed.

check → build → allocate → make inputs → upload → predict → verify → warm up → sample → stop.

Where inputs are large, a launch's time is also predicted before they are made: to say that a
launch would take a minute must not itself take a minute of making inputs. Memory that nobody
wrote yet reads faster than real inputs, so that first word only ever refuses; the prediction that
counts comes later.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from gpuexplorer.backends.base import (
    MAX_QUEUED_LAUNCHES,
    MAX_QUEUED_S,
    Batch,
    Runner,
    build_deadline_s,
)
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import DeviceLost, InputError, WrongResult
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.core.result import Phases, Verification
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.core.units import quantity
from gpuexplorer.measure.cooling import Cooling, pause
from gpuexplorer.measure.problems import Problem
from gpuexplorer.measure.series import Series
from gpuexplorer.measure.stop import StopRule
from gpuexplorer.measure.transfers import SequencePhases, run_sequence

BATCH_S = 0.010
"""Device time of one batch: 100 a second reach the window, and a knob waits no longer."""
FIRST_BATCH_S = 0.002
"""Device time of the first batch, so that the first sample is seen at once."""
LIVE_WARM_UP_S = 0.002
WARM_UP_S = 0.050
"""Launches before the first sample; a live run keeps it short and shows its own start."""
MOST_WARM_UP_S = 1.0
"""Longest wait for a GPU's clock to settle."""
SETTLED = 0.02
SETTLING_S = 0.050
"""The clocks of two batches so far apart differ by no more than that share once it has settled."""
COPY_DEADLINE_S = 60.0
PREDICT_DEADLINE_S = 10.0
LARGE_INPUTS_B = 1 << 26
"""Inputs above this many bytes take long enough to make that a launch is predicted before."""
REPEATED_PREDICTIONS = 2
"""How often a prediction that would stop the run is made again."""
LAUNCH_DEADLINE_S = 10.0
"""Least time a launch is given before it counts as hung."""
DEADLINE_FACTOR = 10.0
"""A launch may take this many times its prediction before it counts as hung."""
MEMORY_DEADLINE_S = 60.0
MEMORY_AFTER_S = 1.0
"""A run without an end counts its memory after so much sampling: a knob that still moves waits for
nothing, and whoever looks sees the figure soon."""


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
    warm_up_s: float = WARM_UP_S
    in_search: bool = False
    """Nobody watches the samples as they come: a batch may be as long as may be queued."""
    wait_when_throttled: bool = False
    """Whether to let the device rest when its clock is held down; a live run shows it instead."""
    clock_reasons: Callable[[], Sequence[str]] = tuple
    """Tells what held the device's clock, by its driver's word, when it was last read."""
    include_transfers: bool = False
    known_prediction_s: float | None = None
    rough_below_s: float = 0.0
    """A prediction below this need not be any finer."""
    known_verification: Verification | None = None
    """Of an earlier run of the very same in this process; None: the result is checked."""
    verification: Verification | None = None
    """What the check said, once it was made or taken over."""
    not_verified: str | None = None
    """Why nobody could check the result, where that is so."""
    memory: MemoryUse = field(default_factory=MemoryUse)
    """Predicted, and the peak once it was counted, in this run or an earlier one of the same."""
    memory_told: bool = False
    """Whether the peak, or why there is none, was handed over in this run."""
    previous: Runner | None = None
    """A runner of the same problem, whose arrays may be taken over."""
    phases_s: Phases = field(default_factory=Phases)
    """The phases as far as known; of the previous run until this one has measured its own."""
    predicted_s: float | None = None
    whole_s: float = 0.0
    """What a launch takes with all that is not timed: resets, and emptying the cache."""
    arrays: Literal["untouched", "held", "filled"] = "untouched"
    """Whether the runner has taken its arrays yet, and whether they hold the inputs."""

    @property
    def memory_waits(self) -> bool:
        """Whether the memory can be counted, and was not told yet."""
        return self.runner.counts_memory and not self.memory_told


@dataclass(frozen=True)
class Ready:
    """What is known of a run before its first sample."""

    device: DeviceInfo
    runner: Runner
    verification: Verification | None
    """None: nobody could check the result, and ``not_verified`` says why."""
    phases_s: Phases
    predicted_s: float | None
    memory: MemoryUse
    not_verified: str | None = None

    @property
    def verified(self) -> bool:
        """Whether the result was checked and found right."""
        return self.verification is not None and self.verification.ok


def run_job(job: Job, sink: Sink) -> str:
    """Follow the recipe and return what ended the run.

    Raises Stopped, TooLong, or the ExplorerError that says what is wrong.
    """
    phases = _build(job, sink)
    if not _have_arrays(job, sink, phases):
        if sum(a.nbytes for a in job.runner.plan.inputs) > LARGE_INPUTS_B:
            _predict(job, sink)
        _check_cancelled(job)
        _upload(job, sink, phases)
        _check_cancelled(job)
    job.predicted_s = predicted_s = _predict(job, sink)
    _check_cancelled(job)
    verification, first_s, download_s = _verify(job, sink, predicted_s)
    phases.device_to_host_s = job.phases_s.device_to_host if download_s is None else download_s
    job.phases_s = phases.document()
    if not job.include_transfers:
        job.runner.settle(first_s)
    sink.prepared(
        Ready(
            device=job.runner.device,
            runner=job.runner,
            verification=verification,
            phases_s=job.phases_s,
            predicted_s=predicted_s,
            memory=job.memory,
            not_verified=job.not_verified,
        )
    )
    if job.include_transfers:
        stopped_by = _sample_sequences(job, sink, first_s)
    else:
        stopped_by = _sample(job, sink, first_s)
    _count_memory(job, sink)
    return stopped_by


def _count_memory(job: Job, sink: Sink) -> None:
    """Ask the runner what memory the run takes, once; not where somebody waits for the device."""
    runner, known = job.runner, job.memory
    if not job.memory_waits or job.cancelled():
        return
    job.memory_told = True
    if known.peak_B is None:
        sink.stage("memory", MEMORY_DEADLINE_S)
        try:
            counted = runner.peak_memory(job.problem.inputs)
            reason = runner.uncounted
        except DeviceLost:
            raise
        except Exception as error:  # noqa: BLE001 - the times were taken, and they stay
            counted, reason = None, f"counting failed: {error}"
            runner.free()
            runner.allocate()
            runner.upload(job.problem.inputs)
        job.arrays = "filled"
        if counted is None:
            job.memory = MemoryUse(predicted=known.predicted, reason=reason)
        else:
            peak_B, counter = counted
            job.memory = MemoryUse(predicted=known.predicted, peak_B=peak_B, counter=counter)
    sink.memory(job.memory)


def _check_cancelled(job: Job) -> None:
    if job.cancelled():
        raise Stopped


@dataclass
class _Timed:
    """The phases as they are measured, in seconds."""

    compile_s: float | None = None
    allocate_s: float | None = None
    host_to_device_s: float | None = None
    device_to_host_s: float | None = None

    def document(self) -> Phases:
        return Phases(
            compile=self.compile_s,
            allocate=self.allocate_s,
            host_to_device=self.host_to_device_s,
            device_to_host=self.device_to_host_s,
        )


def _build(job: Job, sink: Sink) -> _Timed:
    timed = _Timed()
    sink.stage("build", build_deadline_s(job.runner.plan))
    started = time.perf_counter()
    job.runner.build()
    timed.compile_s = time.perf_counter() - started
    _check_cancelled(job)
    return timed


def _have_arrays(job: Job, sink: Sink, timed: _Timed) -> bool:
    """Have the arrays on the device; return whether they were taken over with their inputs."""
    previous = job.previous
    job.arrays = "held"
    if previous is not None and job.runner.adopt(previous):
        job.arrays = "filled"
        timed.allocate_s = job.phases_s.allocate
        timed.host_to_device_s = job.phases_s.host_to_device
        return True
    if previous is not None:
        previous.free()
    sink.stage("allocate", COPY_DEADLINE_S)
    started = time.perf_counter()
    job.runner.allocate()
    timed.allocate_s = time.perf_counter() - started
    return False


def _upload(job: Job, sink: Sink, timed: _Timed) -> None:
    sink.stage("inputs", None)
    inputs = job.problem.inputs
    sink.stage("upload", COPY_DEADLINE_S)
    started = time.perf_counter()
    job.runner.upload(inputs)
    timed.host_to_device_s = time.perf_counter() - started
    job.arrays = "filled"
    job.phases_s = timed.document()  # a run that takes the arrays over reports how they got there


def _predict(job: Job, sink: Sink) -> float | None:
    """Estimate a launch's time and refuse one that is longer than agreed to."""
    predicted_s = job.known_prediction_s
    if predicted_s is None:
        sink.stage("predict", PREDICT_DEADLINE_S)
        job.runner.rough_below_s = job.rough_below_s
        predicted_s = job.runner.predict_s()
        allowed_s = min(job.allow_s, job.runner.device.limits.max_launch_s or math.inf)
        for _ in range(REPEATED_PREDICTIONS):  # a busy machine only ever makes it look longer
            if predicted_s is None or predicted_s <= allowed_s:
                break
            predicted_s = min(predicted_s, job.runner.predict_s() or predicted_s)
    if predicted_s is not None:
        _check_time_limit(job.runner.device, predicted_s)
        if predicted_s > job.allow_s:
            raise TooLong(predicted_s)
    return predicted_s


def _check_time_limit(device: DeviceInfo, predicted_s: float) -> None:
    """Refuse a launch that the system would end, with everything else on the GPU."""
    limit_s = device.limits.max_launch_s
    if limit_s is not None and predicted_s > limit_s:
        raise InputError(
            f"one launch would take about {quantity(predicted_s, 's', 2)}, and the system ends a "
            f"launch of about 2 s on {device.id}, which drives a display",
            remedy="choose a smaller size or another block, or a GPU without a display",
        )


def _launch_deadline_s(expected_s: float | None) -> float:
    if expected_s is None:
        return COPY_DEADLINE_S
    return max(LAUNCH_DEADLINE_S, DEADLINE_FACTOR * expected_s)


def _verify(
    job: Job, sink: Sink, predicted_s: float | None
) -> tuple[Verification | None, float, float | None]:
    """Run once on poisoned outputs and compare with float64.

    Returns the verification (None where nobody can check), the launch's seconds, and the seconds
    to copy the outputs back. Where the result was verified before, the launch only warms up, and
    nothing is copied back.
    """
    runner = job.runner
    sink.stage("verify", _launch_deadline_s(predicted_s))
    refill = {a.name: job.problem.inputs[a.name] for a in runner.plan.arrays if a.role == "inout"}
    if refill:
        runner.upload(refill)
    if job.known_verification is not None:
        job.verification = job.known_verification
        return job.verification, float(_launch(job, 1).seconds[0]), None
    runner.poison()
    first_s = float(_launch(job, 1).seconds[0])
    runner.check_guards()
    started = time.perf_counter()
    outputs = runner.download(tuple(a.name for a in runner.plan.outputs))
    download_s = time.perf_counter() - started
    sink.stage("compare", COPY_DEADLINE_S * 5)
    own = runner.check_itself()
    if isinstance(own, str):
        job.not_verified = own
        return None, first_s, download_s
    verification = own or job.problem.reference.verify(outputs)
    config = runner.plan.config
    # Where it holds no number any more, there is no error to speak of.
    if not verification.ok and not (
        config.even_if_wrong and math.isfinite(verification.max_rel_error)
    ):
        which = f"; {job.problem.reference.explain(outputs)}" if own is None else ""
        raise WrongResult(
            f"the result of {config.workload}/{config.variant} in {config.precision} is wrong: "
            f"relative error {verification.max_rel_error:.2g}, allowed {verification.tolerance:.2g}"
            f" ({verification.method}){which}",
            remedy=runner.wrong_remedy,
        )
    job.verification = verification
    return verification, first_s, download_s


def _launch(job: Job, count: int) -> Batch:
    """Run a batch, and note what a launch of it takes with all that is not timed."""
    started = time.perf_counter()
    batch = job.runner.launch(count)
    job.whole_s = (time.perf_counter() - started) / (len(batch.seconds) * batch.launches)
    return batch


def batch_size(launch_s: float, batch_s: float = BATCH_S) -> int:
    """Return how many launches make a batch of about ``batch_s``."""
    return int(min(max(batch_s / max(launch_s, 1e-9), 1), MAX_QUEUED_LAUNCHES))


def _warm_up(job: Job, first_s: float) -> float:
    """Launch without keeping a sample; return the last launch's seconds.

    For ``warm_up_s``, and on a GPU that tells its clock, where a whole warm-up is asked for, on
    until that has settled: from idle it may climb for several times as long. A first launch longer
    than the warm-up was one itself.
    """
    started = time.perf_counter()
    least_s = job.warm_up_s if first_s < job.warm_up_s else 0.0
    watched = job.warm_up_s >= WARM_UP_S and job.runner.device.kind == "gpu"
    clocks: list[tuple[float, float]] = []
    """When each batch ended, and the clock that it held in Hz."""
    launch_s, launched = first_s, False
    while True:
        elapsed_s = time.perf_counter() - started
        done = not watched or (launched and not clocks) or _has_settled(clocks)
        if elapsed_s >= least_s and (done or elapsed_s + launch_s > MOST_WARM_UP_S):
            return launch_s
        _check_cancelled(job)
        batch = _launch(job, batch_size(max(launch_s, job.whole_s), FIRST_BATCH_S))
        launch_s, launched = float(np.median(batch.seconds)), True
        if batch.clock_Hz is not None:
            clocks.append((time.perf_counter(), batch.clock_Hz))


def _has_settled(clocks: list[tuple[float, float]]) -> bool:
    """Return whether the newest clock is that of some time ago; a climbing one moves in steps."""
    if not clocks:
        return False
    now_s, clock_Hz = clocks[-1]
    before_Hz = [Hz for at_s, Hz in clocks if now_s - at_s >= SETTLING_S]
    return bool(before_Hz) and abs(clock_Hz - before_Hz[-1]) <= SETTLED * before_Hz[-1]


def _sample(job: Job, sink: Sink, first_s: float) -> str:
    """Sample in batches until a rule is met or the run is cancelled."""
    series = Series()
    sink.stage("measure", _launch_deadline_s(first_s))
    launch_s = _warm_up(job, first_s)
    announced_s = 0.0
    batch_s = MAX_QUEUED_S if job.in_search else FIRST_BATCH_S
    cooling = Cooling()
    started = time.perf_counter()
    while not job.cancelled():
        count = batch_size(max(launch_s, job.whole_s), batch_s)
        if job.samples is not None:
            count = min(count, job.samples - len(series.view()))
        batch_s = MAX_QUEUED_S if job.in_search else BATCH_S
        if count * launch_s > announced_s:  # said again only when it grew, not for every batch
            announced_s = 2 * count * launch_s
            sink.stage("measure", _launch_deadline_s(announced_s))
        batch = _launch(job, count)
        series.extend(batch.seconds)
        sink.samples(
            SampleBatch(
                seconds=batch.seconds.astype("<f8", copy=False).tobytes(),
                counts=(len(batch.seconds),),
                starts_ns=(batch.start_ns,),
                launches=(batch.launches,),
                clocks_Hz=(batch.clock_Hz,),
            )
        )
        elapsed = time.perf_counter() - started
        for rule in job.stop_rules:
            if rule.met(series.view(), elapsed):
                return rule.reason
        launch_s = series.recent_median_s()
        if job.memory_waits and not job.stop_rules and elapsed > MEMORY_AFTER_S:
            _count_memory(job, sink)
            announced_s = 0.0  # the next batch is announced with a deadline of its own
        if job.wait_when_throttled and (
            pause_s := cooling.pause_s(batch.clock_Hz, job.clock_reasons())
        ):
            pause(pause_s, job.cancelled)
    if not len(series.view()):
        raise Stopped
    return "user"


def _sample_sequences(job: Job, sink: Sink, first_s: float) -> str:
    """Sample the whole textbook program: allocate, copy, launch, copy back, free."""
    runner = job.runner
    outputs = tuple(a.name for a in runner.plan.outputs)
    runner.free()
    job.arrays = "held"
    series = Series()
    started = time.perf_counter()
    while not job.cancelled():
        sink.stage("measure", COPY_DEADLINE_S + _launch_deadline_s(first_s))
        start_ns = runner.now_ns()
        phases: SequencePhases = run_sequence(runner, job.problem.inputs, outputs)
        series.extend(np.array([phases.total_s]))
        sink.samples(
            SampleBatch(
                seconds=np.array([phases.total_s], dtype="<f8").tobytes(),
                counts=(1,),
                starts_ns=(start_ns,),
                phases_s=(phases.row(),),
            )
        )
        elapsed = time.perf_counter() - started
        for rule in job.stop_rules:
            if rule.met(series.view(), elapsed):
                return rule.reason
    if not len(series.view()):
        raise Stopped
    return "user"
