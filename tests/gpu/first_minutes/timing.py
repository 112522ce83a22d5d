"""The gate, CUDA's events, CUPTI's records and the clock that was held."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
import numpy.typing as npt

from gpuexplorer.backends.cuda import activity, gate
from gpuexplorer.backends.cuda.driver import MULTIPROCESSORS
from gpuexplorer.backends.cuda.session import CudaSession
from gpuexplorer.backends.cuda.timing import Work, time_launches
from gpuexplorer.telemetry.nvml import NvmlSource
from tests.gpu.first_minutes.check import Failed, LeftOut, Note, require, within
from tests.gpu.first_minutes.here import Here
from tests.gpu.first_minutes.sources import SPIN, SPIN_SOURCE

HOLD_S = 0.05
EMPTY_PAIRS = 256
LONGEST_EMPTY_S = 20e-6
BUSY_S = 0.4
"""Long enough for NVML's clock to be read a few times, and below what a display GPU allows."""
BUSY_THREADS = 256
CLOCK_TRIES = 3
"""The gate's end tells the clock where it runs on the multiprocessor of its gate, mostly."""
CLOCKS_AGREE = 0.05
RECORDED_S = 100e-6
SPIN_SHARE = (0.8, 1.5)
"""A device's timer may go in steps, of 32 µs on some GPUs."""
RECORDS_AGREE = 0.03
RECORDED_LAUNCHES = 16


def gate_opens(here: Here, note: Note) -> None:
    """The gate can be opened; its kernels take what kernels of that size take."""
    with _warnings() as said:
        opened = here.session.gate is not None
    require(opened, "; ".join(said) or f"CUDA_LAUNCH_BLOCKING is set: {gate.launches_block()}")
    for entry in gate.ENTRIES:
        loaded = here.kernel(gate.SOURCE_NAME, gate.SOURCE, entry)
        note(f"registers of {entry}", loaded.registers)
        within(f"the number of registers of {entry}", loaded.registers, 0, 64)
        require(loaded.local_B == 0, f"{entry} spills {loaded.local_B} bytes")
        require(loaded.max_threads_per_block >= 32, f"{entry} cannot run a warp")


def gate_holds(here: Here, note: Note) -> None:
    """What is queued behind a closed gate does not run, and does once it opens."""
    session, shut = here.session, _gate(here.session)
    runtime, event = session.api.runtime, session.events(1)[0]
    began = time.perf_counter()
    with shut.closed():
        runtime.eventRecord(event, session.stream)
        time.sleep(HOLD_S)  # the stream must still be shut at the end of this
        status = runtime.eventQuery(event)
    session.wait()
    note("held for_s", time.perf_counter() - began)
    require(status != 0, "the stream ran on behind the gate")
    require(not shut.take_late(), "the gate opened by itself")
    require(runtime.eventQuery(event) == 0, "the stream did not run on when the gate opened")


def empty_pairs(here: Here, note: Note) -> None:
    """Two events with nothing between them are a few microseconds apart, whatever their flag."""
    runtime = here.session.api.runtime
    for flag, words in ((runtime.eventDefault, "without"), (runtime.eventBlockingSync, "with")):
        median_s = float(np.median(_pairs_s(here.session, flag)))
        note(f"median of {EMPTY_PAIRS} pairs {words} the blocking flag_s", median_s)
        within(f"an empty pair of events {words} the flag", median_s, 0, LONGEST_EMPTY_S, "s")


def empty_batches(here: Here, note: Note) -> None:
    """Our own batches of nothing take no longer, held back or not."""
    empty = Work(lambda: None, None, 1)
    for gated, limit_s in ((True, LONGEST_EMPTY_S), (False, 1e-3)):
        batch = time_launches(here.session, empty, EMPTY_PAIRS, gated=gated)
        words = "held back" if gated else "not held back"
        median_s = float(np.median(batch.seconds))
        note(f"median of {EMPTY_PAIRS} empty launches, {words}_s", median_s)
        within(f"an empty launch, {words},", median_s, 0, limit_s, "s")


def events_tell_time(here: Here, note: Note) -> None:
    """A kernel that spins for a known time takes that time by our events."""
    launch = _spinner(here, RECORDED_S)
    launch()
    here.session.wait()
    batch = time_launches(here.session, Work(launch, None, 1), RECORDED_LAUNCHES, gated=True)
    median_s = float(np.median(batch.seconds))
    note("a kernel of 100 µs by events_s", median_s)
    low, high = SPIN_SHARE
    within("a kernel of 100 µs", median_s, low * RECORDED_S, high * RECORDED_S, "s")


def clock(here: Here, note: Note) -> None:
    """The clock between the gate and its end is the one that NVML reads meanwhile."""
    session, shut = here.session, _gate(here.session)
    launch = _spinner(here, BUSY_S)
    source = NvmlSource.open(here.device)
    if not isinstance(source, NvmlSource):
        why = "it is not NVIDIA's" if source is None else source.reason
        raise Failed(f"NVML cannot be asked about {here.device.hardware_id}: {why}")
    try:
        launch()  # from here on the clock is that of a busy GPU
        session.wait()
        shut.take_clock_Hz()
        for _ in range(CLOCK_TRIES):
            with shut.closed():
                launch()
            read_Hz = _clocks_while(session, lambda: source.read().sm_clock_Hz)
            session.wait()
            held_Hz = shut.take_clock_Hz()
            if held_Hz is not None:
                break
    finally:
        source.close()
    note("clock by the gate_Hz", held_Hz)
    note("readings of NVML's", len(read_Hz))
    require(read_Hz, "NVML told no SM clock")
    said_Hz = float(np.median(read_Hz))
    note("clock by NVML_Hz", said_Hz)
    within("the clock by the gate", held_Hz, (1 - CLOCKS_AGREE) * said_Hz,
           (1 + CLOCKS_AGREE) * said_Hz, "Hz")  # fmt: skip
    highest_Hz = here.device.nominal_clock_Hz
    note("highest clock_Hz", highest_Hz)
    if highest_Hz is not None:
        within("the clock by the gate", held_Hz, 0, 1.02 * highest_Hz, "Hz")


def recorded(here: Here, note: Note) -> None:
    """CUPTI records every kernel of a batch, and its times are those of the events."""
    records = activity.open_records()
    if isinstance(records, str):
        raise LeftOut("cupti-python is not installed") if not records else Failed(records)
    launch = _spinner(here, RECORDED_S)
    session, work = here.session, Work(launch, None, 1)
    with records.collected(1):
        launch()
        session.wait()
    by_events = time_launches(session, work, RECORDED_LAUNCHES, gated=True)
    by_records = time_launches(session, work, RECORDED_LAUNCHES, gated=True, records=records)
    events_s, records_s = (float(np.median(b.seconds)) for b in (by_events, by_records))
    note("by events_s", events_s)
    note("by CUPTI's records_s", records_s)
    require(len(by_records.seconds) == RECORDED_LAUNCHES, "records are missing")
    low_s = (1 - RECORDS_AGREE) * events_s - LONGEST_EMPTY_S / 2
    within("the time by records", records_s, low_s, (1 + RECORDS_AGREE) * events_s, "s")


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect what the package warns of, which says why there is no gate."""
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("gpuexplorer")
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)


def _gate(session: CudaSession) -> gate.Gate:
    if session.gate is None:
        raise Failed("launches cannot be queued behind a gate here")
    return session.gate


def _pairs_s(session: CudaSession, flag: int) -> npt.NDArray[np.float64]:
    """Return the seconds between the two events of each pair, queued behind the gate."""
    runtime = session.api.runtime
    events = [int(runtime.eventCreateWithFlags(flag)) for _ in range(2 * EMPTY_PAIRS)]
    together = 2 * ((gate.MAX_OPERATIONS - 1) // 2)
    for first in range(0, len(events), together):
        with session.gate.closed() if session.gate is not None else nullcontext():
            for event in events[first : first + together]:
                runtime.eventRecord(event, session.stream)
    session.wait()
    pairs = zip(events[::2], events[1::2], strict=True)
    found = [runtime.eventElapsedTime(start, end) * 1e-3 for start, end in pairs]
    for event in events:
        runtime.eventDestroy(event)
    return np.array(found, np.float64)


def _spinner(here: Here, seconds: float) -> Callable[[], None]:
    """Return what queues a kernel that keeps every multiprocessor busy for so long."""
    kernel = here.kernel(SPIN, SPIN_SOURCE, "spin")
    done = here.upload(np.zeros(1, np.uint32))
    blocks = here.facts.needed(MULTIPROCESSORS)
    arguments = [np.uint64(done), np.uint64(round(seconds * 1e9))]
    return lambda: here.launch(kernel, (blocks, 1, 1), (BUSY_THREADS, 1, 1), arguments)


def _clocks_while(session: CudaSession, read: Callable[[], float | None]) -> list[float]:
    """Return what is read until a kernel that was just queued ends; its first part is left out."""
    runtime, event = session.api.runtime, session.events(1)[0]
    runtime.eventRecord(event, session.stream)
    began, found = time.perf_counter(), []
    while runtime.eventQuery(event) != 0 and time.perf_counter() - began < 2 * BUSY_S:
        told_Hz = read()
        if told_Hz is not None and time.perf_counter() - began > BUSY_S / 4:
            found.append(told_Hz)
    return found
