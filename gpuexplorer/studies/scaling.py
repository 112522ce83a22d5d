"""Time against size over several variants: how it grows, from where on, and past which memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.analysis.curves import slopes
from gpuexplorer.charts.over_sizes import sizes_chart, times_line
from gpuexplorer.charts.spec import Axis, ChartSpec, Series, series
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.fields import Count
from gpuexplorer.core.intervals import t_975
from gpuexplorer.core.knobs import TRANSFERS
from gpuexplorer.core.sheet import Cell, Column, Medium, Row, Sheet
from gpuexplorer.core.studies import AtSize, Measured, SizesStudy
from gpuexplorer.core.units import count, listed, percent, plural, quantity
from gpuexplorer.results.study import FIGURES, REMARKS, TIME_TIP, file_only, size_rows
from gpuexplorer.studies.kind import Choice, StudyKind
from gpuexplorer.studies.over_sizes import OverSizes
from gpuexplorer.studies.running import How
from gpuexplorer.studies.turns import measured_of, with_dropped
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.workload import Workload

WITHIN = 0.1  # of its line every time of an asymptote is
FEWEST_POINTS = 3  # that a line is fitted to: two lie on one always


class ScalingPoint(AtSize, frozen=True, kw_only=True):
    """One size; ``skipped`` has the variants that could not be measured there."""

    memory_B: Count | None = None
    """All arrays together; None where the first variant cannot be run."""
    measured: dict[str, Measured] = msgspec.field(default_factory=dict)


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """How one variant's time grows: ``factor_s`` times the size to the ``exponent``."""

    variant: str
    exponent: float | None = None
    """From ``start`` on, where every time is within a tenth of the line; None: nowhere."""
    ci95_low: float | None = None
    ci95_high: float | None = None
    factor_s: float | None = None
    start: int | None = None
    words: str


class ScalingStudy(SizesStudy, frozen=True, kw_only=True, tag="scaling"):
    """Times of several variants over a range of sizes, and how they grow."""

    precision: str
    work_exponent: float | None = None
    """How the useful work grows between the largest two sizes; None for a single size."""
    points: tuple[ScalingPoint, ...] = ()
    growth: tuple[Growth, ...] = ()
    borders: dict[str, int] = msgspec.field(default_factory=dict)
    """The first size that the workload allows and whose arrays no longer fit into a memory of the
    device, by its title."""


class ScalingLab(OverSizes[ScalingStudy]):
    """Several variants of one workload, size by size, all of a size in turns."""

    def __init__(
        self, request: RunRequest, workload: Workload, devices: DeviceList, how: How | None = None,
        *, variants: Sequence[str] | None = None, **sizes: Any,
    ) -> None:  # fmt: skip
        """``variants``: None are the request's, or all that run; sizes are as in ``OverSizes``.

        Block, tunables and switches are those of the request's variant, or of the only one.
        Raises what ``complete`` raises when a variant was named, or none can run, and InputError
        where it is not clear whose a block, a tunable or a switch is.
        """
        super().__init__(request, workload, devices, how, **sizes)
        named = variants or ([request.variant] if request.variant is not None else None)
        names = list(dict.fromkeys(named or workload.manifest.variants))
        owner = request.variant or (names[0] if len(names) == 1 else None)
        if owner is None and (request.block or request.tunables or self._request.switches):
            raise InputError(
                "a block, a tunable or a switch belongs to one variant, and several are measured",
                remedy="name it with --variant",
            )
        first_error: ExplorerError | None = None
        for name in names:
            own: dict[str, Any] = {"block": None, "tunables": {}, "switches": {}}
            changes = own if name != owner else {}
            wanted = msgspec.structs.replace(self._request, variant=name, **changes)
            try:
                self._configs[name] = complete(wanted, workload, devices)
            except ExplorerError as error:
                if named:
                    raise
                first_error = first_error or error
        if first_error is not None and not self._configs:
            raise first_error

    @property
    def total(self) -> str:
        """What will be measured, in a sentence."""
        return plural(
            len(self._configs),
            "{number} variant at {sizes} sizes, in turns.",
            "{number} variants at {sizes} sizes, in turns.",
            sizes=count(len(self.sizes)),
        )

    def document(self) -> ScalingStudy:
        """Return the document of what is measured so far."""
        plans = {size: plan for size in self.sizes if (plan := self.plan_at(size)) is not None}
        work = [p.flops or p.compulsory_read_B + p.compulsory_write_B for p in plans.values()]
        points = tuple(
            ScalingPoint(
                value=size, memory_B=plans[size].memory_B if size in plans else None,
                measured={name: measured_of(run) for name, run in self.results(size).items()},
                skipped=self.skipped(size),
            ) for size in self.sizes
        )  # fmt: skip
        study = ScalingStudy(
            **self.head(f"{self.workload.manifest.title}: time against {self.symbol}",
                        "An exponent's interval is that of the line through the logarithms of the "
                        "medians."),
            device="; ".join(dict.fromkeys(f"{d.name} · {d.driver}" for d in self.devices_used)),
            precision=next(iter(self._configs.values())).precision,
            work_exponent=next(iter(slopes([*plans], work)[-1:]), None), points=points,
            growth=tuple(growth_of(name, self.symbol, points) for name in self._configs),
            borders=self._borders,
        )  # fmt: skip
        return with_dropped(study, self._turns.values())

    @cached_property
    def _borders(self) -> dict[str, int]:
        on = self.devices_used[0]
        memories = {"last-level cache": on.last_level_cache_B, "device memory": on.limits.memory_B}
        firsts = ((title, at_B, self.first_above(at_B)) for title, at_B in memories.items())
        return {f"{t}, {quantity(at_B, 'B')}": size for t, at_B, size in firsts if size is not None}


def growth_of(variant: str, symbol: str, points: Sequence[ScalingPoint]) -> Growth:
    """Fit log t = a + k log n by least squares to the largest sizes, as many as lie on a line.

    k's 95 % interval is Student's, with two degrees of freedom less than there are sizes.
    """
    known = [(p.value, m) for p in points if (m := p.measured.get(variant)) is not None]
    found = [(size, m.time_s) for size, m in known if m.time_s > 0 and not m.suspect]
    for start in range(len(found) - FEWEST_POINTS + 1):
        x, y = np.log(np.array(found[start:], dtype=np.float64)).T
        away = x - x.mean()
        k = float(away @ y / (away @ away))
        rest = y - y.mean() - k * away
        if np.abs(rest).max() > math.log1p(WITHIN):
            continue
        half = t_975(len(x) - 2) * math.sqrt(float(rest @ rest) / (len(x) - 2) / (away @ away))
        low, high, size = k - half, k + half, found[start][0]
        words = (f"{variant}: time grows as {symbol}^{k:.2f} ({low:.2f}–{high:.2f}) "
                 f"from {symbol} = {count(size)} on.")  # fmt: skip
        return Growth(variant=variant, exponent=k, ci95_low=low, ci95_high=high, start=size,
                      factor_s=math.exp(y.mean() - k * x.mean()), words=words)  # fmt: skip
    if len(found) < FEWEST_POINTS:
        words = f"{variant}: no power of {symbol} holds within {percent(WITHIN)}: too few sizes."
    else:
        words = (f"{variant}: no power of {symbol} holds within {percent(WITHIN)}: the largest "
                 "sizes lie on no line.")  # fmt: skip
    return Growth(variant=variant, words=words)


def sheet(study: ScalingStudy) -> Sheet:
    """Return the times as a table: a row for each size; in a file, for each variant at a size."""
    names = [growth.variant for growth in study.growth]
    columns = (
        Column(study.symbol, study.symbol, study.symbol_title),
        *(file_only(name) for name in ("size", "variant")),
        Column("memory", "arrays", "All arrays together", "B", fields={"arrays_B": ""},
               gives_way=2),
        *(Column(name, name, TIME_TIP, "s") for name in names),
        REMARKS, file_only("skipped"), Column("figures", fields=FIGURES, media=Medium(0)),
    )  # fmt: skip
    rows: list[Row] = []
    for point in study.points:
        figures = {name: point.measured.get(name) for name in names}
        memory = {"memory": Cell(quantity(point.memory_B, "B"), point.memory_B)}
        own = {name: {**memory, "variant": Cell(name, name)} for name in names}
        titles = dict(zip(names, names, strict=True))
        rows += size_rows(study.symbol, point, titles, figures, memory, own)
    return Sheet("Times over sizes", columns, tuple(rows), _words(study))


def chart(study: ScalingStudy) -> ChartSpec:
    """Return the times with the lines they lie on, and below how steep they are in between."""
    times: list[Series] = []
    steep: list[Series] = []
    for slot, growth in enumerate(study.growth):
        name = growth.variant
        have = [(point.value, point.measured.get(name)) for point in study.points]
        times += times_line(name, slot, "measured", have)
        known = {float(size): m.time_s for size, m in have if m is not None and m.time_s > 0}
        if growth.exponent is not None and growth.factor_s and growth.start:
            line = [float(growth.start), max(known)]
            on = [growth.factor_s * n**growth.exponent for n in line]
            times.append(series("", "line", "model", x=line, y=on, colour=slot))
        middles = [math.sqrt(a * b) for a, b in pairwise(known)]
        between = slopes([*known], [*known.values()])
        steep.append(series(name, "line", "measured", x=middles, y=between, colour=slot))
    if study.work_exponent is not None:
        steep.append(series("useful work", "hline", "ceiling", y=[study.work_exponent]))
    times += (series(w, "vline", "ceiling", x=[float(n)]) for w, n in study.borders.items())
    axis = Axis(label="exponent between sizes")
    return sizes_chart(study, times, steep, axis, height=0.6, notes=_words(study))


def growth_words(growths: Iterable[Growth]) -> list[str]:
    """Return how each grows, in a sentence; those of which the same is said share one."""
    said: dict[str, list[str]] = {}
    for one in growths:
        said.setdefault(one.words.removeprefix(f"{one.variant}: "), []).append(one.variant)
    return [f"{listed(names)}: {words}" for words, names in said.items()]


def _words(study: ScalingStudy) -> tuple[str, ...]:
    work = f"The useful work grows as {study.symbol}^{study.work_exponent or 0:.2f}."
    return (
        *growth_words(study.growth), *((work,) if study.work_exponent else ()),
        *(f"From {study.symbol} = {count(size)} on the arrays exceed the {title}."
          for title, size in study.borders.items()),
    )  # fmt: skip


def finding(study: ScalingStudy) -> str:
    """Return every exponent in one sentence."""
    found = [f"{study.symbol}^{g.exponent:.2f} ({g.variant})" for g in study.growth if g.exponent]
    return f"Time grows as {', '.join(found)}." if found else ""


KIND = StudyKind(
    title="Scaling", heading="Time against size", doing="measuring sizes", over_sizes=True,
    tip="How the time of several variants grows with the size, and where a memory is exceeded",
    question="How does the time grow with the size, and from where on?",
    about="Several variants run over a range of sizes, in turns. A line is fitted to the largest "
    "sizes; the sizes at which the arrays outgrow a memory are marked.",
    command="time against size over several variants: exponents, and the memories' borders",
    document=ScalingStudy, lab=ScalingLab, sheet=sheet, chart=chart, finding=finding,
    choices=(Choice("variants", "--variants", "V,..", "which variants (default: --variant, or all "
                    "that run on the device)", title="Variants", too_few="no variant is ticked",
                    offers=lambda scene: scene.variant_offers()),),
    varies=("variant",), without=(TRANSFERS,), subject=lambda s: f"{s.workload} · {s.precision}",
)  # fmt: skip
