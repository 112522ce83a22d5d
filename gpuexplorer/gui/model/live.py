"""What the live view shows: the current configuration, the ones just before it, pinned ghosts.

Times on the chart's axis are seconds since the first sample, with the pauses between runs cut to
``PAUSE_S``, so that a run after a long break stands next to the one before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import datetime

import msgspec
import numpy as np

from gpuexplorer.analysis.energy import idle_power_W
from gpuexplorer.analysis.measured_traffic import measured
from gpuexplorer.charts.caption import Caption
from gpuexplorer.charts.words import block_words, switch_words
from gpuexplorer.core.accesses import AccessProfile
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.result import TelemetrySummary, Traffic
from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.core.statistics import Summary
from gpuexplorer.core.telemetry import Counters
from gpuexplorer.core.units import plural
from gpuexplorer.engine.protocol import Prepared
from gpuexplorer.engine.receiver import CeilingsOf, Receiver
from gpuexplorer.engine.record import RunRecord, requested_of
from gpuexplorer.gui.model.device import DeviceTrack
from gpuexplorer.gui.model.trace import Drawing, Floats, Trace, Trend

PAUSE_S = 0.25
MAX_PAST = 16
"""Earlier configurations that stay on the trace."""
PAST_COLUMNS = 120
RATE_GAP_S = 0.1
"""Time that one point of the traffic plot sums up."""
GHOST_COLUMNS = 200
STATE_GAP_S = 2.0
"""Between two looks at what the device's counters say of a launch."""
STATE_SPAN_S = 10.0
"""They rest on so much of the latest time."""
FIGURES_GAP_S = 1.0
"""Between two values of the figures that are shown; less while a run is young:"""
FIGURES_SHARE = 0.2
"""of its age."""
HISTOGRAM_SAMPLES = 32_768
MAX_PINS = 5

PHASES = ("allocate", "host_to_device", "kernel", "device_to_host", "free")


def short_label(config: RunConfig, other: RunConfig | None = None) -> str:
    """Return a few words for a configuration: its block, and what else differs from ``other``.

    What has no block of its own to choose is called by its variant.
    """
    parts = [block_words(config.block)] if config.block else []
    if other is not None:
        if config.workload != other.workload or config.variant != other.variant:
            parts.insert(0, config.variant)
        if config.size != other.size:
            parts.append(", ".join(f"{k} = {v}" for k, v in config.size.items()))
        if config.precision != other.precision:
            parts.append(config.precision)
        if config.tunables != other.tunables:
            parts += [f"{k} = {v}" for k, v in config.tunables.items()]
        if config.device != other.device:
            parts.append(config.device)
        if config.threads != other.threads and config.threads is not None:
            parts.append(plural(config.threads, "{number} thread", "{number} threads"))
        if config.cache != other.cache:
            parts.append(f"{config.cache} caches")
        if config.fill != other.fill:
            parts.append(f"{config.fill} inputs")
        if config.include_transfers != other.include_transfers:
            parts.append("with transfers" if config.include_transfers else "kernel only")
        own = _structure(config)
        if own.switches != _structure(other).switches:
            parts.append(switch_words(own) or "switches as usual")
    return " · ".join(parts) or config.variant


def ghost_label(config: RunConfig) -> str:
    """Return what tells a ghost from others: variant, sizes, block, precision, caches, switches."""
    parts = (
        config.variant,
        ", ".join(f"{k} = {v}" for k, v in config.size.items()),
        block_words(config.block) if config.block else "",
        config.precision,
        "cold caches" if config.cache == "cold" else "",
        switch_words(config),
    )
    return " · ".join(part for part in parts if part)


def _structure(config: RunConfig) -> RunConfig:
    """Return a configuration with the switches of its structure alone."""
    switches = {n: v for n, v in config.switches.items() if n != "include_transfers"}
    return msgspec.structs.replace(config, switches=switches)


def phases_of(rows: Sequence[Floats]) -> dict[str, float]:
    """Return the median of each phase over some samples' rows of five; empty without any."""
    if not any(map(len, rows)):
        return {}
    middle = np.median(np.concatenate(rows), axis=0)
    return dict(zip(PHASES, middle.tolist(), strict=True))


def from_file_words(label: str, record: RunRecord) -> str:
    """Return a ghost's label for a run that a session file brought; saying so once is enough."""
    said = f"from file, {record.prepared.device.name}"
    return label if label.endswith(said) else f"{label} · {said}"


def origin_words(run: Run) -> str:
    """Return where and when a run of a file was measured; empty for one measured here."""
    if not run.origin:
        return ""
    parts = [f"From file {run.origin}"]
    if run.record is not None:
        device = run.record.prepared.device
        where = f"{device.name} ({device.id})"
        parts.append(", ".join([where, *_moment(run.record.time_utc)]))
    parts.append("not measured now")
    return " · ".join(parts)


def _moment(time_utc: str) -> list[str]:
    try:
        return [f"{datetime.fromisoformat(time_utc).astimezone():%Y-%m-%d %H:%M}"]
    except ValueError:
        return []


class Run(msgspec.Struct, dict=True):
    """One configuration on the timeline."""

    ticket: int
    config: RunConfig
    label: str = ""
    request: int | None = None
    """The ticket by which it is told of, where that is not its own: it was prepared again."""
    trace: Trace = msgspec.field(default_factory=Trace)
    medians: Trend = msgspec.field(default_factory=lambda: Trend(3))
    """Rows (t, median so far, and its 95 % interval)."""
    rates: Trend = msgspec.field(default_factory=lambda: Trend(4))
    """Rows (t, kernel, host→device, device→host, whole sample): medians of the latest samples."""
    latest: Summary | None = None
    """Figures of all its samples so far."""
    summary: Summary | None = None
    """The figures that are shown, by everything that shows any; they are brought up to date at a
    pace that can be read (``FIGURES_GAP_S``)."""
    figures_due_s: float = 0.0
    warnings: tuple[str, ...] = ()
    """What is odd about the series so far, a sentence each."""
    phases_s: dict[str, float] = msgspec.field(default_factory=dict)
    """With transfers included: the latest medians by phase."""
    over: bool = False
    waiting_s: list[Floats] = msgspec.field(default_factory=list)
    """Samples, and phases, that no row of ``rates`` holds yet."""
    waiting_phases: list[Floats] = msgspec.field(default_factory=list)
    rates_due_s: float = -1.0
    state: TelemetrySummary | None = None
    """The device's state lately, with energy and DRAM bytes of a launch or why they are missing."""
    counted: Traffic | None = None
    """DRAM bytes of one launch by the hardware's word."""
    state_due_s: float = STATE_GAP_S
    began_s: float = 0.0
    """When its first sample began, on the samples' clock."""
    origin: str = ""
    """The session file it was read from; empty for a run measured here."""
    ceilings: CeilingsOf | None = None

    def __post_init__(self) -> None:
        self.receiver = Receiver(self.config, ceilings=self.ceilings)

    @property
    def record(self) -> RunRecord | None:
        """Its samples and figures; None until it is prepared."""
        return self.receiver.record

    @property
    def prepared(self) -> Prepared | None:
        """What the engine told of it before its first sample."""
        return self.record.prepared if self.record is not None else None

    @property
    def caption(self) -> Caption:
        """What it is measured with."""
        return Caption([self.config]) if self.prepared is None else Caption.of([self.prepared])

    @property
    def traffic(self) -> dict[str, Traffic]:
        """Bytes by kind."""
        known = [*self.prepared.traffic] if self.prepared else []
        if self.counted is not None:
            known.append(self.counted)
        requested = requested_of(self.record.accesses) if self.record is not None else None
        return {t.kind: t for t in ([requested, *known] if requested is not None else known)}


class Past(msgspec.Struct, frozen=True):
    """An earlier configuration, thinned for drawing."""

    ticket: int
    label: str
    start_s: float
    end_s: float
    drawing: Drawing
    range_s: tuple[float, float, float]
    """What nearly all its points lie within, and their middle: low, median, high."""
    rates: Floats
    traffic: dict[str, Traffic]


class Pin(msgspec.Struct, frozen=True):
    """A ghost: what a configuration measured, kept beside the next ones."""

    number: int
    """Counts up; also picks the colour."""
    ticket: int
    label: str
    words: str
    """The configuration in full."""
    median_s: float
    drawing: Drawing
    """The trace, with times from the run's start."""
    samples_s: Floats
    """Samples for its distribution."""
    record: RunRecord


class Live:
    """The timeline of live runs."""

    def __init__(self) -> None:
        self.current: Run | None = None
        self.past: deque[Past] = deque(maxlen=MAX_PAST)
        self.pins: list[Pin] = []
        self.readings: deque[Reading] = deque(maxlen=3000)
        self.device = DeviceTrack()
        self._resting: deque[Reading] = deque(maxlen=300)
        """What was read since the device has been at rest."""
        self._idle_power_W: float | None = None
        self.pinned_ever = 0
        self._origin_s: float | None = None
        self._cut_s = 0.0
        self._end_s = 0.0
        self._requests: tuple[AccessProfile, ...] = ()
        """What was counted last that no manifest says."""

    @property
    def end_s(self) -> float:
        """The latest time on the axis."""
        return self._end_s

    @property
    def is_timed(self) -> bool:
        """Whether the current configuration has samples."""
        return self.current is not None and len(self.current.trace) > 0

    @property
    def awaits_first(self) -> bool:
        """Whether the first launch of the current configuration is not over yet."""
        return self.current is not None and not self.current.over and not self.is_timed

    def settle(self, end_s: float) -> None:
        """Let the axis reach to ``end_s`` before a run is shown that was measured elsewhere."""
        self._end_s = end_s

    def show(self, run: Run) -> None:
        """Show a run that is over as the current one; its trace is on this axis."""
        self.current = run
        self._end_s = run.trace.end_s
        self._origin_s = 0.0 if self._origin_s is None else self._origin_s

    def exchange(self, other: Live) -> None:
        """Swap everything shown with another timeline, as opening a session file does."""
        self.device.exchange(other.device)
        mine, theirs = vars(self), vars(other)
        for name in mine:
            if name != "device":
                mine[name], theirs[name] = theirs[name], mine[name]

    def begin(
        self,
        ticket: int,
        config: RunConfig,
        ceilings: CeilingsOf | None = None,
        *,
        request: int | None = None,
    ) -> Run:
        """Start a new configuration; the one before it joins the past."""
        before = self.current
        self._retire()
        label = short_label(config, before.config if before else None)
        self.current = Run(ticket, config, label, request, ceilings=ceilings)
        return self.current

    def _retire(self) -> None:
        run, self.current = self.current, None
        if run is None or not len(run.trace):
            return
        drawing = run.trace.draw(-np.inf, np.inf, PAST_COLUMNS)
        low, middle, high = (float(v) for v in np.percentile(drawing.y, (2, 50, 96)))
        self.past.append(
            Past(
                ticket=run.ticket,
                label=run.label,
                start_s=run.trace.start_s,
                end_s=run.trace.end_s,
                drawing=drawing,
                range_s=(low, middle, high),
                rates=run.rates.rows(),
                traffic=run.traffic,
            )
        )

    def prepare(self, prepared: Prepared) -> None:
        """Note that the current configuration is built and verified."""
        run = self.current
        self.end_rest()
        if run is not None:
            run.receiver.take(prepared)
            run.config = prepared.config
            if run.record is not None:
                run.record.idle_power_W = self._idle_power_W
            self._tell_requests(run)

    def add(
        self,
        times_s: Floats,
        durations_s: Floats,
        batches: list[SampleBatch],
        dropped: int = 0,
    ) -> None:
        """Add samples of the current configuration; times are seconds on any one steady clock.

        ``dropped`` were lost before them, or before some of them.
        """
        run = self.current
        if run is None or not len(times_s):
            return
        if self._origin_s is None:
            self._origin_s = float(times_s[0])
        shown = times_s - (self._origin_s + self._cut_s)
        if not len(run.trace):
            run.began_s = float(times_s[0])
            gap = float(shown[0]) - self._end_s
            pause = 0.0 if not self.past and self._end_s == 0.0 else PAUSE_S
            if gap > pause or gap < 0:
                self._cut_s += gap - pause
                shown = shown - (gap - pause)
        else:
            shown = np.maximum(shown, self._end_s)
        run.trace.extend(shown, durations_s)
        self._end_s = float(shown[-1])
        self.device.place(run.began_s, float(times_s[-1]), self._origin_s + self._cut_s)
        self._add_rates(run, durations_s, batches)
        if run.record is not None:
            for place, batch in enumerate(batches, start=1):
                run.record.add(batch, dropped=dropped if place == len(batches) else 0)
            run.record.pack()

    def _add_rates(self, run: Run, durations_s: Floats, batches: list[SampleBatch]) -> None:
        """Add a row of medians each ``RATE_GAP_S``; the first samples make one at once."""
        run.waiting_s.append(durations_s)
        run.waiting_phases += [batch.phases for batch in batches if batch.phases_s]
        if self._end_s < run.rates_due_s:
            return
        run.rates_due_s = self._end_s + RATE_GAP_S
        whole = kernel = float(np.median(np.concatenate(run.waiting_s)))
        upload = download = float("nan")
        if run.waiting_phases:
            run.phases_s = phases_of(run.waiting_phases)
            kernel = run.phases_s["kernel"]
            upload, download = run.phases_s["host_to_device"], run.phases_s["device_to_host"]
        run.rates.add(self._end_s, kernel, upload, download, whole)
        run.waiting_s.clear()
        run.waiting_phases.clear()

    def summarize(self, summary: Summary) -> bool:
        """Note the current configuration's figures so far; return whether they are to be shown."""
        run = self.current
        if run is None:
            return False
        run.latest = summary
        shown = run.summary is None or run.over or self._end_s >= run.figures_due_s
        if shown:
            age_s = self._end_s - run.trace.start_s if len(run.trace) else 0.0
            run.figures_due_s = self._end_s + min(FIGURES_GAP_S, FIGURES_SHARE * age_s)
            self.show_latest()
        nan = float("nan")
        low = nan if summary.ci95_low_s is None else summary.ci95_low_s
        high = nan if summary.ci95_high_s is None else summary.ci95_high_s
        run.medians.add(self._end_s, summary.median_s, low, high)
        return shown

    def show_latest(self) -> None:
        """Show the current configuration's figures as they are now."""
        run = self.current
        if run is not None and run.latest is not None:
            run.summary, run.warnings = run.latest, run.latest.warnings

    def look(self) -> None:
        """Bring up to date what the device's counters say of a launch, every now and then."""
        run = self.current
        if run is None or run.record is None or not len(run.trace):
            return
        if self._end_s - run.trace.start_s < run.state_due_s:
            return
        run.state_due_s = self._end_s - run.trace.start_s + STATE_GAP_S
        run.state, dram = run.record.state(STATE_SPAN_S)
        run.counted = measured(run.record.counted(dram)) or run.counted

    def count(self, counters: Counters) -> None:
        """Show what a profiler counted in a launch of the current configuration."""
        run = self.current
        if run is not None:
            run.counted = measured(counters.traffic()) or run.counted

    def take_requests(self, profiles: tuple[AccessProfile, ...]) -> None:
        """Show what a kernel's threads ask for, as it was counted, with runs of the same kernel.

        That is a profile of each of its launches.
        """
        self._requests = profiles
        if self.current is not None:
            self._tell_requests(self.current)

    def _tell_requests(self, run: Run) -> None:
        if run.record is None or run.prepared is None or not self._requests:
            return
        counted = self._requests[0]
        sources = counted.environment.source_sha256, run.prepared.environment.source_sha256
        if counted.config == run.config and sources[0] == sources[1]:
            run.record.accesses = self._requests

    def read(self, reading: Reading, time_s: float, *, worked: bool = False) -> None:
        """Take in one look at the device's state, made at ``time_s`` of the samples' clock.

        ``worked``: something may have kept the device busy since the look before it.
        """
        self.readings.append(reading)
        self.device.read(time_s, reading)
        if worked:
            self.end_rest()
        if self.current is None or self.current.over:
            self._resting.append(reading)
        elif self.current.record is not None:
            self.current.record.add_reading(reading)

    def end_rest(self) -> None:
        """Note what the device takes at rest, which is over; what is read now begins another."""
        self._idle_power_W = idle_power_W(self._resting) or self._idle_power_W
        self._resting.clear()

    def clear_readings(self) -> None:
        """Forget the device's state, because another device is used now."""
        self.readings.clear()
        self.device.clear()
        self._resting.clear()
        self._idle_power_W = None

    # ---- ghosts

    def pin(self, words: str) -> Pin | None:
        """Keep the current configuration as a ghost; None when it has no samples yet."""
        run = self.current
        if run is None or not len(run.trace) or run.record is None:
            return None
        drawing = run.trace.draw(-np.inf, np.inf, GHOST_COLUMNS)
        samples = run.trace.durations_s[-HISTOGRAM_SAMPLES:].copy()
        label = ghost_label(run.config)
        return self.add_pin(
            ticket=run.ticket,
            label=from_file_words(label, run.record) if run.origin else label,
            words=words,
            median_s=run.summary.median_s if run.summary else float(np.median(samples)),
            drawing=drawing.outline(run.trace.start_s),
            samples_s=samples,
            record=run.record,
        )

    def add_pin(
        self,
        *,
        ticket: int,
        label: str,
        words: str,
        median_s: float,
        drawing: Drawing,
        samples_s: Floats,
        record: RunRecord,
    ) -> Pin:
        """Add a ghost; the oldest goes where there are too many."""
        if len(self.pins) == MAX_PINS:
            self.pins.pop(0)
        self.pinned_ever += 1
        pin = Pin(self.pinned_ever, ticket, label, words, median_s, drawing, samples_s, record)
        self.pins.append(pin)
        return pin

    def unpin(self, number: int) -> None:
        """Remove a ghost."""
        self.pins = [p for p in self.pins if p.number != number]
