"""The recipe of one run, in the order it is followed.

check → build → allocate → make inputs → upload → predict → verify → warm up → sample → stop.

Where inputs are large, a launch's time is also predicted before they are made: to say that a
launch would take a minute must not itself take a minute of making inputs. Memory that was not
written yet reads faster than real inputs, so that first prediction only ever refuses; the one that
counts comes later.

In a search the launch that is verified is a first look: where it alone says that a configuration is
slower by far, it is the only sample.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from gpuexplorer.backends.base import MAX_QUEUED_S, Batch, TimingLost, build_deadline_s
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import DeviceLost, InputError
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.core.result import Phases, Verification
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.core.units import quantity
from gpuexplorer.measure.job import (
    BATCH_S,
    COPY_DEADLINE_S,
    FIRST_BATCH_S,
    LARGE_INPUTS_B,
    Job,
    Ready,
    Sink,
    Stopped,
    TooLong,
    batch_size,
    check_cancelled,
    launch,
    launch_deadline_s,
)
from gpuexplorer.measure.series import Series
from gpuexplorer.measure.settling import Cooling, pause, warm_up
from gpuexplorer.measure.stop import Slower, StopRule, TimeUp
from gpuexplorer.measure.transfers import SequencePhases, run_sequence
from gpuexplorer.measure.verification import verify, verify_again

REPEATED_PREDICTIONS = 2
"""How often a prediction that would stop the run is made again."""
BEYOND_DOUBT = 10.0
"""A prediction so many times what is allowed is not made again: no neighbour's load does that."""
MEMORY_DEADLINE_S = 60.0
"""What making the arrays anew may take while memory is counted; the launches come on top."""
MEMORY_LAUNCHES = 3
"""Launches at the most while memory is counted."""
LOADED_S = 0.010
"""A GPU's first launch of a kernel that took so long was not only loading its code."""
LATER_S = 1.0
"""A run without an end checks its result again and counts its memory after so much sampling: a knob
that still moves waits for nothing, and the figures are there soon."""


def run_job(job: Job, sink: Sink) -> str:
    """Follow the recipe and return what ended the run.

    Raises Stopped, TooLong, or the ExplorerError that says what is wrong.
    """
    phases = _build(job, sink)
    if not _have_arrays(job, sink, phases):
        if sum(a.nbytes for a in job.runner.plan.inputs) > LARGE_INPUTS_B:
            job.runner.clear_indices()
            _predict(job, sink)
        check_cancelled(job)
        _upload(job, sink, phases)
        check_cancelled(job)
    job.predicted_s = predicted_s = _predict(job, sink)
    check_cancelled(job)
    verification, first, download_s = verify(job, sink, predicted_s)
    first_s = float(first.seconds[0])
    phases.device_to_host_s = job.phases_s.device_to_host if download_s is None else download_s
    job.phases_s = phases.document()
    if job.include_transfers:
        sink.prepared(_ready(job, verification))
        verify_again(job, sink)
        stopped_by = _sample_sequences(job, sink, first_s)
    elif _is_slower_by_far(job, first_s):
        sink.prepared(_ready(job, verification))
        sink.samples(_samples_of(first))
        stopped_by = Slower.reason
    else:
        stopped_by = _settle_and_sample(job, sink, verification, first_s)
        if not job.cancelled():
            verify_again(job, sink)
    _count_memory(job, sink)
    return stopped_by


def _is_slower_by_far(job: Job, first_s: float) -> bool:
    """Return whether the launch that was verified is enough to give up on a configuration.

    On a GPU a short one is not: its code may have been loaded meanwhile. Nor is a library's: a long
    call is not tried out before, and its first one loads or compiles a library's code.
    """
    if job.slower is None:
        return False
    is_library = job.runner.plan.library is not None
    if job.runner.device.kind == "gpu" and (is_library or first_s < LOADED_S):
        return False
    return job.slower.by_far(first_s)


def _ready(job: Job, verification: Verification | None) -> Ready:
    return Ready(
        device=job.runner.device,
        runner=job.runner,
        verification=verification,
        phases_s=job.phases_s,
        predicted_s=job.predicted_s,
        memory=job.memory,
        not_verified=job.not_verified,
    )


def _settle_and_sample(
    job: Job, sink: Sink, verification: Verification | None, first_s: float
) -> str:
    """Choose how launches are timed, and sample.

    Where that stops working meanwhile, another way is chosen and sampling begins again: samples
    of two ways never stand in one series.
    """
    for last in (False, False, True):  # first a profiler's records may be lost, then the gate
        job.timing = job.runner.settle(first_s, job.timing)
        sink.prepared(_ready(job, verification))
        try:
            return _sample(job, sink, first_s, deepcopy(job.stop_rules))
        except TimingLost:
            if last:
                raise
    raise AssertionError("the loop returns or raises")


def _count_memory(job: Job, sink: Sink) -> None:
    """Ask the runner once what memory the run takes, unless the run was cancelled."""
    runner, known = job.runner, job.memory
    if not job.memory_waits or job.cancelled():
        return
    job.memory_told = True
    if known.peak_B is None:
        launches_s = launch_deadline_s(MEMORY_LAUNCHES * job.whole_s, job.least_deadline_s)
        sink.stage("memory", MEMORY_DEADLINE_S + launches_s)
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
    if not job.runner.is_built:
        sink.stage("build", build_deadline_s(job.runner.plan))
    started = time.perf_counter()
    job.runner.build()
    timed.compile_s = time.perf_counter() - started
    check_cancelled(job)
    return timed


def _have_arrays(job: Job, sink: Sink, timed: _Timed) -> bool:
    """Have the arrays on the device; return whether they were taken over with their inputs."""
    previous = job.previous
    job.arrays = "held"
    if previous is not None and job.runner.adopt(previous):
        timed.allocate_s = job.phases_s.allocate
        if not job.previous_intact:
            return False
        job.arrays = "filled"
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
        plan, deadline_s = job.runner.plan, job.least_deadline_s
        if plan.library is not None:  # its first call compiles or loads what it needs
            deadline_s = max(deadline_s, build_deadline_s(plan))
        sink.stage("predict", deadline_s)
        job.runner.rough_below_s = job.rough_below_s
        predicted_s = job.runner.predict_s()
        allowed_s = min(job.allow_s, job.runner.device.limits.max_launch_s or math.inf)
        for _ in range(REPEATED_PREDICTIONS):  # a busy machine only ever makes it look longer
            if predicted_s is None or not allowed_s < predicted_s < BEYOND_DOUBT * allowed_s:
                break
            sink.stage("predict", job.least_deadline_s)
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


def _sample(job: Job, sink: Sink, first_s: float, rules: Sequence[StopRule]) -> str:
    """Sample in batches until a rule is met or the run is cancelled."""
    if job.slower is not None:
        rules = [job.slower, *rules]
    series = Series()
    sink.stage("measure", launch_deadline_s(first_s))
    launch_s = warm_up(job, first_s)
    announced_s = 0.0
    batch_s = MAX_QUEUED_S if job.in_search else FIRST_BATCH_S
    allowed_s = min((rule.seconds for rule in rules if isinstance(rule, TimeUp)), default=math.inf)
    cooling = Cooling()
    started, elapsed = time.perf_counter(), 0.0
    while not job.cancelled():
        count = batch_size(max(launch_s, job.whole_s), min(batch_s, allowed_s - elapsed))
        if job.samples is not None:
            count = min(count, job.samples - len(series.view()))
        if job.slower is not None and len(series.view()) < job.slower.LAUNCHES:
            count = min(count, job.slower.LAUNCHES - len(series.view()))
        batch_s = MAX_QUEUED_S if job.in_search else BATCH_S
        if count * launch_s > announced_s:  # said again only when it grew, not for every batch
            announced_s = 2 * count * launch_s
            sink.stage("measure", launch_deadline_s(announced_s))
        batch = launch(job, count)
        series.extend(batch.seconds)
        sink.samples(_samples_of(batch))
        elapsed = time.perf_counter() - started
        for rule in rules:
            if rule.met(series.view(), elapsed):
                return rule.reason
        launch_s = series.recent_median_s()
        if not rules and elapsed > LATER_S and (job.memory_waits or job.verification_waits):
            verify_again(job, sink)
            _count_memory(job, sink)
            announced_s = 0.0  # the next batch is announced with a deadline of its own
        if job.wait_when_throttled and (
            pause_s := cooling.pause_s(batch.clock_Hz, job.clock_reasons())
        ):
            pause(pause_s, job.cancelled)
    if not len(series.view()):
        raise Stopped
    return "user"


def _samples_of(batch: Batch) -> SampleBatch:
    return SampleBatch(
        seconds=batch.seconds.astype("<f8", copy=False).tobytes(),
        counts=(len(batch.seconds),),
        starts_ns=(batch.start_ns,),
        launches=(batch.launches,),
        clocks_Hz=(batch.clock_Hz,),
    )


def _sample_sequences(job: Job, sink: Sink, first_s: float) -> str:
    """Sample the whole textbook program: allocate, copy, launch, copy back, free."""
    runner = job.runner
    outputs = tuple(a.name for a in runner.plan.outputs)
    runner.free()
    job.arrays = "held"
    series = Series()
    rows: list[tuple[float, ...]] = []
    began_ns = 0
    began_s = started = time.perf_counter()

    def send() -> None:
        if rows:
            taken = np.array(rows, dtype="<f8")
            sink.samples(
                SampleBatch(
                    seconds=taken.sum(axis=1).tobytes(),
                    counts=(len(rows),),
                    starts_ns=(began_ns,),
                    phases_s=taken.tobytes(),
                )
            )
            rows.clear()

    try:
        while not job.cancelled():
            sink.stage("measure", COPY_DEADLINE_S + launch_deadline_s(first_s))
            if not rows:
                began_ns, began_s = runner.now_ns(), time.perf_counter()
            phases: SequencePhases = run_sequence(runner, job.problem.inputs, outputs)
            rows.append(phases.row())
            series.extend(np.array([phases.total_s]))
            ended_s = time.perf_counter()
            if len(series.view()) == 1 or ended_s - began_s >= BATCH_S:  # the first is awaited
                send()
            elapsed = ended_s - started
            for rule in job.stop_rules:
                if rule.met(series.view(), elapsed):
                    return rule.reason
    finally:
        send()
    if not len(series.view()):
        raise Stopped
    return "user"
