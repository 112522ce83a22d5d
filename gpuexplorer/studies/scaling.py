"""Time against size over several variants: how it grows, from where on, and past which memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, Series, series
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.core.intervals import t_975
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sheet import Cell, Column, Medium, Row, Sheet
from gpuexplorer.core.studies import Measured, Study
from gpuexplorer.core.units import count, quantity
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.results.study import FIGURES, TIME_TIP, UNKNOWN, figures_tip, file_only, time_cell
from gpuexplorer.studies.kind import Choice, StudyKind
from gpuexplorer.studies.over_sizes import OverSizes
from gpuexplorer.studies.running import How, turns_words
from gpuexplorer.studies.turns import measured_of
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload

WITHIN = 0.1
"""No time of an asymptote is further from its line than this share."""
FEWEST_POINTS = 3
"""Sizes that a line is fitted to at least: two lie on one always."""


class ScalingPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One size; variants that could not be measured there have their reason."""

    value: int
    memory_B: int
    """All arrays together."""
    measured: dict[str, Measured] = {}
    skipped: dict[str, str] = {}


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """How one variant's time grows: ``factor_s`` times the size to the ``exponent``."""

    variant: str
    exponent: float | None = None
    """From ``start`` on, where no time is further than a tenth from the line; None: nowhere."""
    ci95_low: float | None = None
    ci95_high: float | None = None
    factor_s: float | None = None
    start: int | None = None
    words: str


class Border(msgspec.Struct, frozen=True, kw_only=True):
    """The first size whose arrays no longer fit into a memory of the device."""

    size: int
    title: str


class ScalingStudy(Study, frozen=True, kw_only=True, tag="scaling"):
    """Times of several variants over a range of sizes, and how they grow."""

    workload: str
    precision: str
    symbol: str
    symbol_title: str
    work_exponent: float | None = None
    """How the useful work grows between the largest two sizes; None for a single size."""
    points: tuple[ScalingPoint, ...] = ()
    growth: tuple[Growth, ...] = ()
    borders: tuple[Border, ...] = ()


class ScalingLab(OverSizes[ScalingStudy]):
    """Several variants of one workload on one device, size by size, all of a size in turns."""

    def __init__(
        self, request: RunRequest, workload: Workload, devices: DeviceList, how: How | None = None,
        *, variants: Sequence[str] | None = None, symbol: str | None = None,
        sizes: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        """``variants`` are those to look at, None: the request's, or all that run on its device.

        Raises what ``complete`` raises when a variant was named, or none can run.
        """
        super().__init__(request, workload, devices, how, symbol=symbol, sizes=sizes)
        own = [request.variant] if request.variant is not None else None
        first_error: ExplorerError | None = None
        for name in variants or own or workload.manifest.variants:
            wanted = msgspec.structs.replace(
                self._request, variant=name, **({} if name == request.variant else
                                                {"block": None, "tunables": {}, "switches": {}}),
            )  # fmt: skip
            try:
                self._configs[name] = complete(wanted, workload, devices)
            except ExplorerError as error:
                if variants or own:
                    raise
                first_error = first_error or error
        if not self._configs:
            raise first_error or InputError(f"workload '{workload.name}' has no variant")
        self._device = find_device(devices, next(iter(self._configs.values())).device)

    @property
    def total(self) -> str:
        """What will be measured, in a sentence."""
        plural = "" if len(self._configs) == 1 else "s"
        return f"{len(self._configs)} variant{plural} at {count(len(self.sizes))} sizes, in turns."

    def _measure(self, session: Measures) -> None:
        super()._measure(session)
        points = self.document().points
        if not any(point.measured for point in points):
            raise WorkFailed(next((why for p in points for why in p.skipped.values()), UNKNOWN))

    def document(self) -> ScalingStudy:
        """Return the document of what is measured so far."""
        runs: list[RunResult] = []
        points, work = [], []
        for size in self.sizes:
            found = self.results(size)
            runs += found.values()
            plan = self._plan(size)
            work.append(plan.flops or plan.compulsory_read_B + plan.compulsory_write_B)
            points.append(
                ScalingPoint(
                    value=size, memory_B=plan.memory_B, skipped=self.skipped(size),
                    measured={name: measured_of(run) for name, run in found.items()},
                )
            )  # fmt: skip
        slope = slopes(self.sizes, work)[-1:]
        rounds, fewer = self.rounds
        return ScalingStudy(
            id=self.id, time_utc=self.time_utc, rounds=rounds, stopped_by=self._stopped_by,
            title=f"{self.workload.manifest.title}: time against {self.symbol}",
            device=f"{self._device.name} · {self._device.driver}", runs=runs,
            notes=(turns_words(rounds, fewer=fewer), "The interval of an exponent is that of the "
                   "line through the logarithms of the medians."),
            workload=self.workload.name, symbol=self.symbol, symbol_title=self.symbol_title,
            precision=next(iter(self._configs.values())).precision,
            work_exponent=slope[0] if slope else None, points=tuple(points),
            growth=tuple(growth_of(name, self.symbol, points) for name in self._configs),
            borders=tuple(self._borders()),
        )  # fmt: skip

    def _plan(self, size: int) -> Any:
        return make_plan(self.workload, self.config_at(size, next(iter(self._configs))),
                         self._device)  # fmt: skip

    def _borders(self) -> list[Border]:
        memories = {
            "last-level cache": self._device.last_level_cache_B,
            "device memory": self._device.limits.memory_B,
        }
        found = []
        for title, holds_B in memories.items():
            low, high = self.sizes[0], self.sizes[-1]
            if holds_B is None or not self._needs_B(low) <= holds_B < self._needs_B(high):
                continue
            while low + 1 < high:  # fits at low, not at high
                middle = (low + high) // 2
                low, high = (middle, high) if self._needs_B(middle) <= holds_B else (low, middle)
            found.append(Border(size=high, title=f"{title}, {quantity(holds_B, 'B')}"))
        return found

    def _needs_B(self, size: int) -> float:
        try:
            return float(self._plan(size).memory_B)
        except ExplorerError:  # such as a size that is no multiple of a tile
            return math.inf if size == self.sizes[-1] else 0.0


def slopes(sizes: Sequence[float], values: Sequence[float]) -> list[float]:
    """Return d log(value) / d log(size) between neighbours, both above 0; sizes rise."""
    pairs = pairwise(zip(sizes, values, strict=True))
    return [math.log(d / b) / math.log(c / a) for (a, b), (c, d) in pairs if b > 0 and d > 0]


def growth_of(variant: str, symbol: str, points: Sequence[ScalingPoint]) -> Growth:
    """Fit log t = a + k log n by least squares to the largest sizes, as many as lie on a line.

    k's 95 % interval is Student's, with two degrees of freedom less than there are sizes.
    """
    found = [(p.value, m.time_s) for p in points if (m := p.measured.get(variant)) is not None
             and m.time_s > 0 and not m.suspect]  # fmt: skip
    for start in range(len(found) - FEWEST_POINTS + 1):
        x, y = np.log(np.array(found[start:], dtype=np.float64)).T
        away = x - x.mean()
        k = float(away @ y / (away @ away))
        a = float(y.mean() - k * x.mean())
        rest = y - a - k * x
        if np.abs(rest).max() > math.log1p(WITHIN):
            continue
        half = t_975(len(x) - 2) * math.sqrt(float(rest @ rest) / (len(x) - 2) / (away @ away))
        words = f"{variant}: time grows as {symbol}^{k:.2f} (95 % interval {k - half:.2f} to "
        words += f"{k + half:.2f}) from {symbol} = {count(found[start][0])} on."
        return Growth(variant=variant, exponent=k, ci95_low=k - half, ci95_high=k + half,
                      factor_s=math.exp(a), start=found[start][0], words=words)  # fmt: skip
    why = "too few sizes" if len(found) < FEWEST_POINTS else "the largest sizes lie on no line"
    return Growth(
        variant=variant, words=f"{variant}: no power of {symbol} holds within {WITHIN:.0%}: {why}."
    )


def sheet(study: ScalingStudy) -> Sheet:
    """Return the times as a table: a row for each size; in a file, for each variant at a size."""
    names = [growth.variant for growth in study.growth]
    columns = [
        Column(study.symbol, study.symbol, study.symbol_title),
        Column("memory", "arrays", "All arrays together", "B", fields={"arrays_B": ""}),
    ]
    columns += [Column(name, name, TIME_TIP, "s") for name in names]
    columns += [file_only("size"), file_only("variant"), file_only("skipped"),
                Column("figures", fields=FIGURES, media=Medium(0))]  # fmt: skip
    rows = []
    for point in study.points:
        title = f"{study.symbol} = {count(point.value)}"
        size = Cell(count(point.value), point.value)
        memory = Cell(quantity(point.memory_B, "B"), point.memory_B)
        cells = {name: time_cell(point.measured.get(name)) for name in names}
        marks = {m.run: figures_tip(f"{title}, {n}", m, ()) for n, m in point.measured.items()}
        why = "\n".join(f"{name}: {reason}" for name, reason in point.skipped.items())
        rows.append(Row(title, {study.symbol: size, "memory": memory, **cells}, why or title, marks,
                        role="" if marks else "skipped", media=Medium.SHOWN))  # fmt: skip
        for name in names:
            one = {"memory": memory, "size": size, "variant": Cell(name, name),
                   "figures": Cell(record=point.measured.get(name)),
                   "skipped": Cell(value=point.skipped.get(name))}  # fmt: skip
            rows.append(Row(f"{title}, {name}", one, media=Medium.FILE))
    return Sheet("Times over sizes", tuple(columns), tuple(rows), _words(study))


def chart(study: ScalingStudy) -> ChartSpec:
    """Return the times with the lines they lie on, and below how steep they are in between."""
    times: list[Series] = []
    steep: list[Series] = []
    for slot, growth in enumerate(study.growth):
        name = growth.variant
        have = [(p.value, m) for p in study.points if (m := p.measured.get(name)) and m.time_s > 0]
        sizes, found = [float(size) for size, _ in have], [m for _, m in have]
        low, high = ([getattr(m, end) or math.nan for m in found]
                     for end in ("ci95_low_s", "ci95_high_s"))  # fmt: skip
        seconds = [m.time_s for m in found]
        times.append(series(name, "points", "measured", x=sizes, y=seconds, colour=slot, low=low,
                            high=high, keys=tuple(m.run for m in found)))  # fmt: skip
        if growth.exponent is not None and growth.factor_s and growth.start:
            line = [float(growth.start), sizes[-1]]
            times.append(series(f"{study.symbol}^{growth.exponent:.2f}", "line", "model", x=line,
                                y=[growth.factor_s * n**growth.exponent for n in line],
                                colour=slot))  # fmt: skip
        middles = [math.sqrt(a * b) for a, b in pairwise(sizes)]
        steep.append(series(name, "line", "measured", x=middles, y=slopes(sizes, seconds),
                            colour=slot))  # fmt: skip
    if study.work_exponent is not None:
        steep.append(series("useful work", "hline", "ceiling", y=[study.work_exponent]))
    edges = [series(b.title, "vline", "ceiling", x=[float(b.size)]) for b in study.borders]
    x = Axis(label=f"{study.symbol_title} ({study.symbol})", scale="log",
             ticks=tuple(float(point.value) for point in study.points))  # fmt: skip
    return ChartSpec(
        title=study.title, subtitle=f"{study.workload} · {study.precision}\n{study.device}",
        rows=((Panel(x=x, y=Axis(label="time per launch", unit="s", scale="log"),
                     series=(*times, *edges)),),
              (Panel(x=x, y=Axis(label="exponent between sizes"), series=tuple(steep),
                     height=0.6),)),
        notes=(*_words(study), *study.notes),
    )  # fmt: skip


def _words(study: ScalingStudy) -> tuple[str, ...]:
    work = f"The useful work grows as {study.symbol}^{study.work_exponent or 0:.2f}."
    past = (f"From {study.symbol} = {count(b.size)} on the arrays exceed the {b.title}."
            for b in study.borders)  # fmt: skip
    return (*(g.words for g in study.growth), *((work,) if study.work_exponent else ()),
            *past)  # fmt: skip


def _settle(chosen: Mapping[str, Any]) -> Mapping[str, Any]:
    if not chosen["variants"]:
        raise InputError("no variant is ticked", remedy="tick one at least")
    return chosen


KIND = StudyKind(
    title="Scaling",
    heading="Time against size",
    tip="How the time of several variants grows with the size, and where a memory is exceeded",
    question="How does the time grow with the size, and from where on?",
    about="Several variants run over a range of sizes, in turns. A line is fitted to the largest "
    "sizes; the sizes at which the arrays outgrow a memory are marked.",
    doing="measuring sizes",
    command="time against size over several variants: exponents, and the memories' borders",
    document=ScalingStudy, lab=ScalingLab, sheet=sheet, chart=chart,
    finding=lambda study: " ".join(g.words for g in study.growth) if study.runs else "",
    choices=(Choice("variants", "--variants", "V,..", "which variants (default: --variant, or all "
                    "that run on the device)", title="Variants",
                    offers=lambda scene: scene.variant_offers()),),
    over_sizes=True, varies=("variant",), settle=_settle,
    subject=lambda study: f"{study.workload} · {study.precision}",
)  # fmt: skip
