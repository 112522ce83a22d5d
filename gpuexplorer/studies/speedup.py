"""One workload on two devices over a range of sizes, as CPU against GPU.

The first has the data at hand. The second is measured twice: with the data there already, and with
the whole textbook program, which allocates, copies there, launches, copies back and frees.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec

from gpuexplorer.analysis.curves import crossing
from gpuexplorer.charts.over_sizes import axis_around, line_of, sizes_chart, times_axis, times_line
from gpuexplorer.charts.spec import Axis, ChartSpec, Role, Series, series
from gpuexplorer.charts.studies_words import size_words
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.fields import Amount
from gpuexplorer.core.knobs import TRANSFERS
from gpuexplorer.core.sheet import Cell, Column, Medium, Row, Sheet
from gpuexplorer.core.studies import AtSize, Measured, SizesStudy, Speedup
from gpuexplorer.core.units import count, listed
from gpuexplorer.results.study import FIGURES, REMARKS, SPEEDUP, file_only, size_rows, speedup_cell
from gpuexplorer.studies.kind import StudyKind
from gpuexplorer.studies.over_sizes import OverSizes
from gpuexplorer.studies.running import How
from gpuexplorer.studies.sides import TWO_DEVICES, Side, side_of, two_sides
from gpuexplorer.studies.turns import measured_of, with_dropped
from gpuexplorer.workloads.workload import Workload

WAYS: tuple[tuple[str, str, str, Role], ...] = (
    ("second", "speedup", "without transfers", "measured"),
    ("second_with", "speedup_with", "with transfers", "transfer"),
)
"""How the second device is measured: two fields of a point, words, and the role in a chart."""
FIRST, SECOND, EVEN = 0, 1, 3
"""Slots of a chart's palette."""


class SizePoint(AtSize, frozen=True, kw_only=True):
    """One size on the first device, on the second, and there with transfers."""

    size: dict[str, int]
    first: Measured | None = None
    second: Measured | None = None
    second_with: Measured | None = None
    speedup: Speedup | None = None
    speedup_with: Speedup | None = None


class BreakEven(msgspec.Struct, frozen=True, kw_only=True):
    """From which size on the second device is faster, and where the ends of its intervals are."""

    size: Amount | None = None
    low: Amount | None = None
    high: Amount | None = None
    words: str


class SpeedupStudy(SizesStudy, frozen=True, kw_only=True, tag="speedup"):
    """One workload on two devices over a range of sizes, with and without transfers."""

    first: Side
    second: Side
    points: list[SizePoint] = msgspec.field(default_factory=list)
    break_even: BreakEven | None = None
    break_even_with: BreakEven | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Where the second device breaks even, a sentence each."""
        return tuple(b.words for b in (self.break_even, self.break_even_with) if b is not None)


class SpeedupLab(OverSizes[SpeedupStudy]):
    """One workload on two devices, size by size; all of a size is measured in turns."""

    nothing = "no size was measured on both devices"

    def __init__(
        self, request: RunRequest, workload: Workload, devices: DeviceList, how: How | None = None,
        *, names: Sequence[str] | None = None, **sizes: Any,
    ) -> None:  # fmt: skip
        """``names`` are two devices, None: the CPU and the GPU; sizes are as in ``OverSizes``.

        Raises CannotRunHere without a GPU where none is named, and what ``complete`` raises.
        """
        super().__init__(request, workload, devices, how, **sizes)
        first, second = two_sides(self._request, workload, devices, names)
        switches = {**second.switches, "include_transfers": True}
        whole = msgspec.structs.replace(second, switches=switches)
        self._configs = {"first": first, "second": second, "second_with": whole}
        self._sides = side_of(first, devices), side_of(second, devices)

    @property
    def total(self) -> str:
        """What will be measured, in a sentence."""
        return f"{count(len(self.sizes))} sizes on two devices, with and without transfers."

    def label(self, size: int, part: str) -> str:
        """Return what is measured, such as ``N = 32 on cuda:0 with transfers``."""
        place = f"{self.symbol} = {size} on {self._configs[part].device}"
        return f"{place} with transfers" if part == "second_with" else place

    def tells(self, size: int) -> bool:
        """Return whether there is a speed-up at a size."""
        return any(self.speedup(size, part, "first") for part, *_ in WAYS)

    def document(self) -> SpeedupStudy:
        """Return the document of what is measured so far."""
        first, second = self._sides
        points = [self._point(size) for size in self.sizes]
        evens = [
            break_even([(p.value, found) for p in points if (found := getattr(p, field))],
                       self.symbol, second.device, how)
            if self._turns else None for _, field, how, _ in WAYS
        ]  # fmt: skip
        study = SpeedupStudy(
            **self.head(f"{self.workload.manifest.title}: {first.device} against {second.device}",
                        "With transfers: allocate, copy there, launch, copy back, free, for every "
                        "launch; the first device has its data at hand."),
            device=" · ".join(dict.fromkeys((first.name, second.name))), first=first,
            second=second, points=points, break_even=evens[0], break_even_with=evens[1],
        )  # fmt: skip
        return with_dropped(study, self._turns.values())

    def _point(self, size: int) -> SizePoint:
        found: dict[str, Any] = {p: measured_of(run) for p, run in self.results(size).items()}
        found |= {field: self.speedup(size, part, "first") for part, field, *_ in WAYS}
        found |= {"size": self.config_at(size, "first").size, "skipped": self.skipped(size)}
        return SizePoint(value=size, **found)


def break_even(
    points: Sequence[tuple[int, Speedup]], symbol: str, second: str, how: str
) -> BreakEven:
    """Return where the second device breaks even, with the sizes where the intervals cross 1.

    Intervals say that it is slower at a size, and faster at the largest; without one, that cannot
    be told.
    """
    if not points:
        return BreakEven(words=f"No size was measured on both, {how}.")
    least, most = points[0][0], points[-1][0]
    unclear = [n for n, found in points if found.verdict in (None, "can't tell")]
    same = [n for n, found in points if found.verdict == "same"]
    clear = [(n, found.factor > 1) for n, found in points if n not in unclear + same]
    faster, when = [one for _, one in clear], how.capitalize()
    sizes = listed(map(str, same))
    even = f"it is as fast at {symbol} = {sizes}" if same else ""
    size, low, high, about = crossing([(n, found.factor) for n, found in points]), None, None, ""
    slower = any(found.ci95_high is not None and found.ci95_high <= 1 for _, found in points)
    if most in unclear + same or not slower:
        size = None
    if size is not None:
        low = crossing([(n, found.ci95_high) for n, found in points])
        high = crossing([(n, found.ci95_low) for n, found in points])
        near = size_words(size)
        words = f"{when}, {second} is faster from {symbol} ≈ {near} on"
        if low is not None and high is not None and low <= size <= high:
            ends = f"{size_words(low)}–{size_words(high)}"
            words = f"{when}, {second} is faster from {symbol} ≈ {near} on ({ends})"
        if (changes := sum(one != other for one, other in pairwise(faster)) - 1) > 0:
            about = f"below that the two change places {changes} times"
        even = ""
    elif unclear and (most in unclear or all(faster) or not any(faster)):
        sizes = listed(map(str, unclear))
        words = f"{when}, whether {second} is faster cannot be told at {symbol} = {sizes}"
        if faster and all(faster):
            about = "at the others it is faster"
        elif any(faster):
            sizes = listed(str(n) for n, one in clear if one)
            about = f"it is faster at {symbol} = {sizes}"
        elif faster:
            about = "at the others it is slower"
    elif same and (all(faster) or not any(faster)):
        words = f"{when}, {second} is as fast at {symbol} = {sizes}"
        even = ""
        if faster:
            about = "at the others it is faster" if all(faster) else "at the others it is slower"
    elif len(points) == 1:
        words = f"{when}, {second} is not faster at {symbol} = {least}"
        if faster[0]:
            words = f"{when}, {second} is faster at {symbol} = {least}"
        about = "one size does not tell where it breaks even"
    elif all(faster):
        words = f"{when}, {second} is faster at every size measured, {symbol} = {least} to {most}"
        about = f"if there is a break-even, it lies below {symbol} = {least}"
    elif not any(faster):
        words = f"{when}, {second} is at no size measured faster, {symbol} = {least} to {most}"
        about = f"if there is a break-even, it lies above {symbol} = {most}"
    else:
        words = f"{when}, {second} is faster at some sizes, not at the largest, {symbol} = {most}"
        about = "there is no size from which on it stays faster"
    words = "; ".join(filter(None, (words, even, about)))
    return BreakEven(size=size, low=low, high=high, words=f"{words}.")


def sheet(study: SpeedupStudy) -> Sheet:
    """Return both times and the speed-ups at every size; in a file, a row for each device at it."""
    first, second = study.first, study.second
    columns = (
        Column(study.symbol, study.symbol, f"{study.symbol_title}: the size that varies"),
        Column("first", first.device, f"Median time on {first.name}", "s", gives_way=4),
        Column("second", second.device, f"Median time on {second.name}, the data there already",
               "s", gives_way=3),
        Column("second_with", "with transfers",
               "The same with allocating, copying there and back, and freeing", "s", gives_way=2),
        *(file_only(name) for name in ("size", "device", "transfers")),
        Column("figures", fields=FIGURES, media=Medium(0)),
        Column("speedup", "speed-up", "How fast the second is beside the first, without transfers",
               fields=SPEEDUP),
        Column("speedup_with", "speed-up with transfers",
               "How fast the second is beside the first, with transfers"),
        REMARKS, file_only("skipped"),
    )  # fmt: skip
    titles = {part: _on_second(second, part) for part, *_ in WAYS} | {"first": first.label}
    rows: list[Row] = []
    for point in study.points:
        cells = {field: speedup_cell(getattr(point, field)) for _, field, *_ in WAYS}
        own = {"first": {"device": Cell(value=first.device), "transfers": Cell(value=False)}}
        for part, field, *_ in WAYS:
            own[part] = {"device": Cell(value=second.device), "speedup": cells[field],
                         "transfers": Cell(value=part == "second_with")}  # fmt: skip
        figures = {part: getattr(point, part) for part in titles}
        rows += size_rows(study.symbol, point, titles, figures, cells, own)
    return Sheet("Break-even over sizes", columns, tuple(rows), study.words)


def _on_second(second: Side, part: str) -> str:
    """Return how the second device was measured, with its name."""
    if part == "second_with":
        return f"{second.label}, with transfers"
    return f"{second.label}, without transfers"


def chart(study: SpeedupStudy) -> ChartSpec:
    """Return the chart of both times against the size, and below them of the speed-up."""
    first, second = study.first, study.second
    have = [(point.value, point.first) for point in study.points]
    times = times_line(f"{first.label}, data at hand", FIRST, "measured", have)
    speeds = [series("equally fast", "hline", "ceiling", y=[1.0])]
    for part, field, words, role in WAYS:
        have = [(point.value, getattr(point, part)) for point in study.points]
        times += times_line(_on_second(second, part), SECOND, role, have)
        factors = [(n, f.factor, f.ci95_low, f.ci95_high, m.run if m is not None else "")
                   for (n, m), point in zip(have, study.points, strict=True)
                   if (f := getattr(point, field)) is not None]  # fmt: skip
        speeds += line_of(words, SECOND, role, factors)
    axis = axis_around(speeds, f"speed of {second.device} over {first.device}")
    speeds += _marks(study, axis, named=False)
    times += _marks(study, times_axis(times), named=True)
    return sizes_chart(study, times, speeds, axis, height=0.75, notes=study.words)


def _marks(study: SpeedupStudy, axis: Axis, *, named: bool) -> list[Series]:
    """Return where the second device breaks even, with its interval."""
    drawn: list[Series] = []
    ends = [axis.low or 0.0] * 2 + [axis.high or 0.0] * 2
    for one, (_, _, how, role) in zip((study.break_even, study.break_even_with), WAYS, strict=True):
        if one is None or one.size is None:
            continue
        if one.low is not None and one.high is not None:
            drawn.append(series("", "band", "measured", x=[one.low, one.high], y=ends, colour=EVEN))
        words = f"break-even {how}, {study.symbol} ≈ {size_words(one.size)}" if named else ""
        drawn.append(series(words, "vline", role, x=[one.size], colour=EVEN))
    return drawn


def finding(study: SpeedupStudy) -> str:
    """Return from which size on the second device pays, in a sentence or two."""
    return " ".join(study.words) if any(point.speedup for point in study.points) else ""


KIND = StudyKind(
    title="CPU against GPU", heading="One device against another", doing="comparing two devices",
    tip="Times on two devices over a range of sizes, with and without transfers",
    question="From which size on does the second device pay?",
    about="The workload runs on both devices over a range of sizes: with the data at hand, and "
    "with all that it takes to bring them there and back.",
    command="CPU against GPU over a range of sizes: speed-up, and where the GPU breaks even",
    document=SpeedupStudy, lab=SpeedupLab, sheet=sheet, chart=chart, finding=finding,
    choices=(TWO_DEVICES,), over_sizes=True, varies=("device", "threads"), without=(TRANSFERS,),
    subject=lambda study: f"{study.first.label} and {study.second.label}",
)  # fmt: skip
