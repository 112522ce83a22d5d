"""The thread that owns the engine: it feeds, drains, restarts and ends it.

The main thread asks through ``run``, ``cancel``, ...; the latest run asked for wins, so a slider
that moves fast queues nothing up. What comes back is gathered and handed over at most
``UPDATES_PER_S`` times a second, and only after the last hand-over was drawn: a busy main thread
gets fewer, larger updates, never a backlog. While it draws, this thread leaves it the interpreter.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from PySide6.QtCore import Signal

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.run_options import LIVE, RunOptions
from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.core.statistics import Summary
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import Engine, EngineLost, EngineOptions, EngineReady
from gpuexplorer.gui.model.tally import Tally
from gpuexplorer.gui.model.trace import Floats, sample_times_s
from gpuexplorer.gui.task import Task
from gpuexplorer.workloads.workload import Workload

UPDATES_PER_S = 60
CALM_UPDATES_PER_S = 30
"""While a run just goes on; what is new about one is told as fast as ``UPDATES_PER_S`` allows."""
IDLE_POLL_S = 0.5
FEWEST_SUMMARY_GAP_S, MOST_SUMMARY_GAP_S = 0.1, 2.0
"""A first summary may take long on a busy machine; the next does not wait for that."""
SUMMARY_SHARE = 0.05
"""Share of this thread's time that live figures may take."""
RECENT_READINGS = 16
"""Readings of the device that tell what held its clock lately."""
UNANSWERED_GAP_S = 0.25
"""Before a new run's first samples there is little to show, and they should find the way free."""
DRAWING_S = 0.05
"""How long the main thread may draw before this thread goes on beside it: what the engine tells
meanwhile waits in its pipe, and two threads that take turns make a paint twice as long."""
MOST_SAMPLES = 1 << 15
"""Samples of one update. After a stall many wait: taken in at once they would be a hitch."""
BEHIND_GAP_S = 0.005
"""Between two updates of many samples that wait."""

EngineEvent = (
    EngineReady | EngineLost | protocol.Devices | protocol.Stage | protocol.Prepared
    | protocol.MemoryCounted | protocol.Finished | protocol.Counted | protocol.Profiled
    | protocol.Accessed
    | protocol.Cancelled
    | protocol.Failed | protocol.NeedsConfirmation
)  # fmt: skip
JobEvent = EngineEvent | protocol.Samples | protocol.Telemetry
"""What is said of a job's run."""


class Chunk(msgspec.Struct):
    """Samples that arrived together: when each launch began (this process's clock) and took."""

    times_s: list[Floats] = msgspec.field(default_factory=list)
    durations_s: list[Floats] = msgspec.field(default_factory=list)
    batches: list[SampleBatch] = msgspec.field(default_factory=list)
    """The messages they came in; of one that is spread over chunks, in the first."""
    dropped: int = 0

    @property
    def samples(self) -> int:
        """How many there are."""
        return sum(map(len, self.durations_s))


class DeviceReading(NamedTuple):
    """A device's state, and when it was read, on this process's clock."""

    device: str
    time_s: float
    reading: Reading
    worked: bool
    """Whether the engine had a run to do at any time since the reading before it."""


class Update(msgspec.Struct):
    """Everything that happened since the last update, in order.

    ``items`` are pairs of a run's ticket (0 for none) and what was told about it: an event, a
    ``Chunk`` or a ``Summary``.
    """

    items: list[tuple[int, EngineEvent | Chunk | Summary]] = msgspec.field(default_factory=list)
    readings: list[DeviceReading] = msgspec.field(default_factory=list)

    def next_part(self) -> Update:
        """Take out the readings, and what comes first with no more than ``MOST_SAMPLES``."""
        samples = end = 0
        for _, item in self.items:
            samples += item.samples if isinstance(item, Chunk) else 0
            if samples > MOST_SAMPLES:
                break
            end += 1
        part = Update(self.items[:end], self.readings)
        self.items, self.readings = self.items[end:], []
        return part


class _Ask(msgspec.Struct, frozen=True):
    ticket: int
    config: RunConfig
    workload: Workload
    options: RunOptions
    recording: protocol.Recording
    sink: Callable[[JobEvent], None] | None
    """Who is told of the run instead of the main thread."""


JOB_TICKET = -1
"""The ticket of every run of a job."""
QUIET_TICKET = -2
"""The ticket of every run of a job that nobody asked for."""


class EngineWorker(Task):
    """Owns an ``Engine``; ``updated`` carries an ``Update`` to the main thread."""

    updated = Signal(object)
    logged = Signal(object)

    def __init__(self, options: EngineOptions) -> None:
        super().__init__("engine-worker")
        self._options = options
        self._lock = threading.Lock()
        self._ask: _Ask | None = None
        self._cancel = False
        self._list = False
        self._new_options: EngineOptions | None = None
        self._taken = True
        self._may_go_on = threading.Event()
        """Not while the main thread draws what was handed over, unless it asks for something."""
        self._may_go_on.set()
        self._urgent = False
        self._behind = False
        """Whether the update handed over last left some for the next."""
        self._unanswered = False
        self._engine: Engine | None = None
        self._pending = Update()
        self._emitted_at = 0.0
        self._offset_ns = 0
        self._generation = 0
        self._ticket = 0
        self._sink: Callable[[JobEvent], None] | None = None
        self._tally = Tally()
        self._device = ""
        """The device of the latest live run."""
        self._readings: deque[Reading] = deque(maxlen=RECENT_READINGS)
        """Its latest readings."""
        self._worked = False
        """Whether the engine has had a run to do since the latest reading."""
        self._summary_due = 0.0
        self._summary_stale = False

    # ---- asked from the main thread

    def ask_run(
        self,
        config: RunConfig,
        workload: Workload,
        options: RunOptions = LIVE,
        recording: protocol.Recording = "samples",
        *,
        ticket: int,
        sink: Callable[[JobEvent], None] | None = None,
    ) -> None:
        """Do a run instead of whatever runs or waits; from any thread.

        What is told of it goes to ``updated`` with its ticket, or for a job to ``sink``, in this
        worker's thread.
        """
        with self._lock:
            self._ask = _Ask(ticket, config, workload, options, recording, sink)
            self._cancel = False
        self._wake()

    def release(self, sink: Callable[[JobEvent], None]) -> None:
        """Tell a job nothing more, whose run has ended: it would not be read."""
        if self._sink == sink:
            self._sink = None

    def ask_cancel(self) -> None:
        """Stop what runs or waits."""
        with self._lock:
            self._ask, self._cancel = None, True
        self._wake()

    def ask_devices(self) -> None:
        """Ask for the devices."""
        with self._lock:
            self._list = True
        self._wake()

    def ask_restart(self, options: EngineOptions) -> None:
        """End the engine and start one with other options."""
        with self._lock:
            self._new_options = options
        self._wake()

    def taken(self) -> None:
        """Say that the last update was taken in and drawn; the next may come."""
        with self._lock:
            self._taken = True
            waiting = bool(self._pending.items or self._pending.readings)
        self._may_go_on.set()
        if waiting:
            self._wake()

    def close(self, timeout_s: float = 6.0) -> bool:
        """End the engine and this thread; return whether it ended in time."""
        with self._lock:
            self.cancel()
        self._wake()
        return self.wait(int(timeout_s * 1000))

    def _wake(self) -> None:
        self._may_go_on.set()
        engine = self._engine
        if engine is not None:
            engine.wake()

    @property
    def engine_pid(self) -> int | None:
        """The engine's process number, while there is one."""
        engine = self._engine
        return engine.pid if engine is not None else None

    # ---- in the thread

    def work(self) -> None:
        """Serve until asked to stop."""
        engine = self._engine = Engine(self._options, self._on_event, self._log)
        try:
            engine.start()
            while self._serve(engine):
                engine = self._engine
                if self._sink is None:
                    self._may_go_on.wait(DRAWING_S)
                engine.poll(self._patience_s())
                self._summarize_if_due()
                self._hand_over()
        finally:
            self._engine.close()

    def _log(self, line: str) -> None:
        self.logged.emit(line)

    def _serve(self, engine: Engine) -> bool:
        with self._lock:
            ask, self._ask = self._ask, None
            cancel, self._cancel = self._cancel, False
            devices, self._list = self._list, False
            options, self._new_options = self._new_options, None
        if self.cancelled:
            return False
        if options is not None:
            engine.close()
            self._finish_summary()
            self._generation = 0
            engine = self._engine = Engine(options, self._on_event, self._log)
            engine.start()
        if devices:
            engine.list_devices()
        if cancel:
            engine.cancel()
        if ask is not None:
            self._sink = ask.sink
            self._worked = True
            generation = engine.run(ask.config, ask.workload, ask.options, ask.recording)
            self._finish_summary()
            self._generation, self._ticket = generation, ask.ticket
            self._unanswered = ask.sink is None
            self._tally = Tally()
            self._summary_due, self._summary_stale = 0.0, False
        return True

    def _patience_s(self) -> float:
        now = time.monotonic()
        waits = [IDLE_POLL_S]
        if self._summary_stale:
            waits.append(self._summary_due - now)
        with self._lock:
            if self._taken and (self._pending.items or self._pending.readings):
                waits.append(self._emitted_at + self._gap_s() - now)
        return max(0.0, min(waits))

    def _on_event(self, event: protocol.EngineMessage | EngineReady | EngineLost) -> None:
        if self._sink is not None and self._goes_to(self._sink, event):
            return
        if isinstance(event, protocol.Telemetry):
            if event.device == self._device:
                self._readings.append(event.reading)
            measures = self._engine is not None and self._engine.is_measuring
            worked, self._worked = self._worked or measures, measures
            with self._lock:
                time_s = (event.reading.t_ns + self._offset_ns) * 1e-9
                self._pending.readings.append(
                    DeviceReading(event.device, time_s, event.reading, worked)
                )
        elif isinstance(event, protocol.Samples):
            if event.generation == self._generation:
                self._take_samples(event)
        elif isinstance(event, EngineReady | EngineLost | protocol.Devices):
            if isinstance(event, EngineReady):
                self._offset_ns = time.perf_counter_ns() - event.welcome.monotonic_ns
            elif isinstance(event, EngineLost):
                self._finish_summary()
            self._tell(
                self._ticket if isinstance(event, EngineLost) and event.generation else 0, event
            )
        elif not isinstance(event, protocol.Welcome | protocol.Refused):
            if event.generation == self._generation and not isinstance(event, protocol.Stage):
                self._finish_summary()
                if isinstance(event, protocol.Prepared):
                    # Fresh: a run may be prepared again, timed in another way from there on.
                    self._tally = Tally(event.resolution_s, event.device.nominal_clock_Hz)
                    if event.device.id != self._device:
                        self._device = event.device.id
                        self._readings.clear()
            ticket = self._ticket if event.generation == self._generation else 0
            if ticket or event.generation == 0:
                self._tell(ticket, event)

    def _goes_to(
        self,
        sink: Callable[[JobEvent], None],
        event: protocol.EngineMessage | EngineReady | EngineLost,
    ) -> bool:
        """Tell a job what concerns its run; return whether it concerns that job alone."""
        if isinstance(event, protocol.Telemetry):
            sink(event)
        elif isinstance(event, EngineLost):
            if event.generation or not event.restarting:
                sink(event)
        elif not isinstance(
            event, EngineReady | protocol.Devices | protocol.Welcome | protocol.Refused
        ):
            if event.generation and event.generation == self._generation:
                sink(event)
            return event.generation != 0
        return False

    def _tell(self, ticket: int, item: EngineEvent | Summary) -> None:
        with self._lock:
            self._pending.items.append((ticket, item))
            if not isinstance(item, protocol.Stage | protocol.Prepared | Summary):
                self._urgent, self._unanswered = True, False

    def _take_samples(self, event: protocol.Samples) -> None:
        batch = event.batch
        durations = batch.durations_s
        if not len(durations):
            return
        times = sample_times_s(batch, self._offset_ns)
        first = not len(self._tally)
        self._tally.extend(batch, self._readings)
        self._summary_stale = True
        with self._lock:
            for begin in range(0, len(durations), MOST_SAMPLES):
                part = slice(begin, begin + MOST_SAMPLES)
                chunk = self._chunk_with_room(len(durations[part]))
                chunk.times_s.append(times[part])
                chunk.durations_s.append(durations[part])
                if begin == 0:
                    chunk.batches.append(batch)
                    chunk.dropped += event.dropped
            self._urgent = self._urgent or first
            self._unanswered = False

    def _chunk_with_room(self, samples: int) -> Chunk:
        """Return the chunk that more samples of the current run go to (the lock is held)."""
        items = self._pending.items
        ticket, chunk = items[-1] if items else (0, None)
        if (
            ticket != self._ticket
            or not isinstance(chunk, Chunk)
            or chunk.samples + samples > MOST_SAMPLES
        ):
            chunk = Chunk()
            items.append((self._ticket, chunk))
        return chunk

    def _summarize_if_due(self) -> None:
        if self._summary_stale and time.monotonic() >= self._summary_due:
            self._finish_summary()

    def _finish_summary(self) -> None:
        """Bring the figures of the current run up to date, and tell."""
        if not self._summary_stale:
            return
        began = time.thread_time()
        self._tell(self._ticket, self._tally.summary())
        gap_s = (time.thread_time() - began) / SUMMARY_SHARE
        gap_s = min(max(FEWEST_SUMMARY_GAP_S, gap_s), MOST_SUMMARY_GAP_S)
        self._summary_due = time.monotonic() + gap_s
        self._summary_stale = False

    def _gap_s(self) -> float:
        """Return the least gap between hand-overs now."""
        if self._behind:
            return BEHIND_GAP_S
        if self._urgent:
            return 1 / UPDATES_PER_S
        return UNANSWERED_GAP_S if self._unanswered else 1 / CALM_UPDATES_PER_S

    def _hand_over(self) -> None:
        now = time.monotonic()
        with self._lock:
            if not self._taken or not (self._pending.items or self._pending.readings):
                return
            if now < self._emitted_at + self._gap_s():
                return
            update = self._pending.next_part()
            self._behind = bool(self._pending.items)
            self._urgent = False
            self._taken = False
            self._may_go_on.clear()
            self._emitted_at = now
        self.updated.emit(update)
