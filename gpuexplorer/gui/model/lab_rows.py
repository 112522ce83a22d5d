"""A study as a table: its rows, and the places that rows and marks of the chart lead to.

A place is a configuration that was measured, with what is known of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.studies import (
    Added,
    Measured,
    PrecisionPoint,
    PrecisionStudy,
    SizePoint,
    Speedup,
    SpeedupStudy,
    Study,
    Switched,
    SwitchesStudy,
)
from gpuexplorer.core.units import count, quantity, ratio
from gpuexplorer.gui.model.lab_words import (
    effect_words,
    error_words,
    figures_words,
    interval_words,
)

SIDES = ("first", "second", "second_with")
UNKNOWN = "no figure"


@dataclass(frozen=True)
class Place:
    """One configuration that was measured."""

    config: RunConfig | None
    words: str
    """What is known of it, a line each."""


@dataclass(frozen=True)
class Row:
    """One row of the table; ``note`` stands in the place of figures where there are none."""

    cells: tuple[str, ...]
    tip: str
    place: int | None = None
    note: str = ""
    strong: bool = False
    """Whether it stands out: the Pareto front, a switch that is kept."""


@dataclass(frozen=True)
class Table:
    """A study as a table, with the places that its rows and the chart's marks lead to."""

    columns: tuple[tuple[str, str], ...] = ()
    """Titles and what they mean; the first is words, all others are figures."""
    rows: tuple[Row, ...] = ()
    places: tuple[Place, ...] = ()
    by_run: dict[str, int] = field(default_factory=dict)
    """The place of each run by its id."""


def table_of(study: Study | None) -> Table:
    """Return a study as a table."""
    if isinstance(study, PrecisionStudy):
        return _precision_table(study)
    if isinstance(study, SwitchesStudy):
        return _switches_table(study)
    if isinstance(study, SpeedupStudy):
        return _speedup_table(study)
    return Table()


class _Places:
    """Gathers places while rows are made."""

    def __init__(self, study: Study) -> None:
        self._configs = {run.id: run.config for run in study.runs}
        self.places: list[Place] = []
        self.by_run: dict[str, int] = {}

    def add(self, measured: Measured | None, title: str, *lines: str) -> int | None:
        """Return the number of the place of a run; None where there is no run."""
        if measured is None:
            return None
        if measured.run not in self.by_run:
            words = "\n".join([title, *figures_words(measured), *(line for line in lines if line)])
            self.by_run[measured.run] = len(self.places)
            self.places.append(Place(self._configs.get(measured.run), words))
        return self.by_run[measured.run]

    def table(self, columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> Table:
        """Return the table with the places gathered."""
        return Table(tuple(columns), tuple(rows), tuple(self.places), self.by_run)


PRECISION_COLUMNS = (
    ("precision", "What was asked for"),
    ("time", "Median time of one launch, in seconds"),
    ("speed", "How many times as fast as the reference, from the same turns"),
    ("error", "Relative error against float64, of the result as a whole"),
    ("ran", "The arithmetic that really ran, where that can be told"),
    ("sums in", "The type that products are added in"),
)


def _precision_table(study: PrecisionStudy) -> Table:
    places = _Places(study)
    rows = [_precision_row(study, point, places) for point in study.points]
    return places.table(PRECISION_COLUMNS, rows)


def _precision_row(study: PrecisionStudy, point: PrecisionPoint, places: _Places) -> Row:
    measured = point.measured
    if measured is None:
        note = point.skipped or UNKNOWN
        return Row((point.precision,), f"{point.title}: {note}", note=note)
    about = [
        point.fallback or "",
        f"Ran in {point.ran}; {point.how}" if point.ran and point.how else point.how or "",
        "On the Pareto front: nothing is both faster and nearer to float64." if point.front else "",
    ]
    place = places.add(measured, point.title, *about)
    speed = "1" if point.precision == study.reference else "–"
    if point.against is not None:
        speed = f"{ratio(1 / point.against.ratio, '', 3).strip()}×"
    ran = (point.ran or "–") + (" ⚠" if point.fallback else "")
    error = error_words(study.error(point)) + (" ✗" if measured.wrong else "")
    cells = (
        point.precision, quantity(measured.time_s, "s"), speed, error, ran,
        point.accumulates_in or "–",
    )  # fmt: skip
    tip = places.places[place].words if place is not None else point.title
    return Row(cells, tip, place, strong=point.front)


SWITCHES_COLUMNS = (
    ("switch", "The switch, with its value"),
    ("time", "Median time of one launch with this switch alone, in seconds"),
    ("alone", "What it does to the baseline's time by itself"),
    ("on top", "What it does on top of those that were kept before it"),
    ("memory", "Peak of the device's memory, where it was counted"),
)


def _switches_table(study: SwitchesStudy) -> Table:
    places = _Places(study)
    rows = []
    if study.baseline is not None:
        place = places.add(study.baseline, "Baseline")
        rows.append(
            _figures_row("baseline", study.baseline, "", "", "The knobs as they stand.", place)
        )
    added = {(one.switch, one.value): one for one in study.added}
    for one in study.alone:
        rows.append(_alone_row(one, added.get((one.switch, one.value)), places))
    for share in study.shares:
        places.add(
            share.measured, share.title, f"Beside the combination: {interval_words(share.effect)}"
        )
    if study.together is not None and len(study.combination) > 1:
        tip = f"All that were kept: {interval_words(study.total)}"
        if study.combining is not None:
            tip += f"\nBeside what they would come to by themselves: {study.combining.ratio:.3g}"
        place = places.add(study.together, "The combination", tip)
        rows.append(
            _figures_row(
                "together", study.together, effect_words(study.total), "", tip, place, strong=True
            )
        )
    rows += [Row((title,), f"{title}: {why}", note=why) for title, why in study.not_offered.items()]
    return places.table(SWITCHES_COLUMNS, rows)


def _alone_row(one: Switched, added: Added | None, places: _Places) -> Row:
    if one.measured is None:
        note = one.skipped or UNKNOWN
        return Row((one.title,), f"{one.title}: {note}", note=note)
    on_top, kept, about = "", False, [f"By itself: {interval_words(one.effect)}"]
    if added is not None:
        kept = added.kept
        on_top = effect_words(added.effect) if added.effect is not None else "–"
        on_top += " ✓" if kept else ""
        about.append("Kept in the combination." if kept else f"Not kept: {added.reason}.")
    place = places.add(one.measured, one.title, *about)
    tip = places.places[place].words if place is not None else one.title
    return _figures_row(
        one.title, one.measured, effect_words(one.effect), on_top, tip, place, strong=kept
    )


def _figures_row(
    title: str,
    measured: Measured,
    alone: str,
    on_top: str,
    tip: str,
    place: int | None,
    *,
    strong: bool = False,
) -> Row:
    memory = quantity(measured.memory_B, "B") if measured.memory_B is not None else "–"
    cells = (title, quantity(measured.time_s, "s"), alone, on_top, memory)
    return Row(cells, tip, place, strong=strong)


def _speedup_table(study: SpeedupStudy) -> Table:
    places = _Places(study)
    rows = [_size_row(study, point, places) for point in study.points]
    columns = (
        (study.symbol, f"{study.symbol_title}: the size that varies"),
        (study.first.device, f"Median time on {study.first.name}, in seconds"),
        (study.second.device, f"Median time on {study.second.name}, the data there already"),
        ("+ transfers", "The same with allocating, copying there and back, and freeing"),
        ("speed-up", "First over second, without transfers"),
        ("+ transfers", "First over second, with transfers"),
    )
    return places.table(columns, rows)


def _size_row(study: SpeedupStudy, point: SizePoint, places: _Places) -> Row:
    found = {side: getattr(point, side) for side in SIDES}
    at = f"{study.symbol} = {count(point.value)}"
    names = {
        "first": study.first.label,
        "second": study.second.label,
        "second_with": f"{study.second.label} with transfers",
    }
    numbers = {side: places.add(found[side], f"{at}, {names[side]}") for side in SIDES}
    if all(measured is None for measured in found.values()):
        note = next(iter(point.skipped.values()), UNKNOWN)
        return Row((count(point.value),), f"{at}: {note}", note=note)
    cells = (
        count(point.value),
        *(quantity(found[side].time_s, "s") if found[side] else "–" for side in SIDES),
        *(_speedup(one) for one in (point.speedup, point.speedup_with)),
    )
    tips = [at]
    tips += [f"{names[s]}: {why}" for s, why in point.skipped.items()]
    for one, how in ((point.speedup, "without"), (point.speedup_with, "with")):
        if one is not None and one.ci95_low is not None and one.ci95_high is not None:
            low, high = (ratio(v, "", 3).strip() for v in (one.ci95_low, one.ci95_high))
            tips.append(f"Speed-up {how} transfers: 95 % interval {low} to {high}")
    place = numbers["second"] if numbers["second"] is not None else numbers["first"]
    return Row(cells, "\n".join(tips), place)


def _speedup(found: Speedup | None) -> str:
    return f"{ratio(found.factor, '', 3).strip()}×" if found is not None else "–"
