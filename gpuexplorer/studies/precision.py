"""Speed against accuracy: every precision a workload can run in, its time beside its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, Role, Series, series
from gpuexplorer.charts.studies_words import CANNOT_BE_TRUE, effect_words, error_words
from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sheet import Cell, Column, Medium, Row, Sheet
from gpuexplorer.core.studies import Measured, Study
from gpuexplorer.core.units import factor, listed, plural
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.results.study import (
    FIGURES,
    RATIO,
    TIME_TIP,
    UNKNOWN,
    figures_tip,
    file_only,
    time_cell,
)
from gpuexplorer.studies.kind import Choice, StudyKind
from gpuexplorer.studies.running import How, Running, turns_words
from gpuexplorer.studies.turns import Entry, InTurns, measured_of, with_dropped
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.workload import Workload

REFERENCE = "fp32"
HALVES = ("fp16", "bf16")
WRONG = (
    "Points that are further from float64 than the workload allows are measured all the same: "
    "here the error is a result."
)
MORE_TURNS = "More turns tell more: their number stands under Choices."
LITTLE = 1.1
"""What is not faster by more is not worth another precision, wherever in its interval it lies."""
EXACT_BELOW = 10.0
"""A result without any error stands so many times below the least error, for a logarithm has no
zero."""
LEAST_ERROR = 1e-17
ERRORS = {
    "rms_rel_error": "relative error, ‖result − float64‖ / ‖float64‖",
    "max_rel_error": "largest relative error of an element, against float64",
}


class PrecisionPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One precision: measured, or the reason why it was not."""

    precision: str
    title: str
    skipped: str | None = None
    measured: Measured | None = None
    ran: str | None = None
    """The arithmetic that really ran; None where that cannot be told."""
    accumulates_in: str | None = None
    how: str | None = None
    """How it is known which arithmetic ran."""
    fallback: str | None = None
    """A sentence, where another precision ran than was asked for."""
    against: Comparison | None = None
    """Its time over the reference's; None for the reference itself, and for too few rounds."""
    front: bool = False
    """Whether no other precision is both faster and nearer to float64."""


class PrecisionStudy(Study, frozen=True, kw_only=True, tag="precision"):
    """Speed against accuracy, over all precisions that a workload, variant and device have."""

    config: RunConfig
    """What all have in common; its precision is the reference's."""
    reference: str | None = None
    """The precision whose time the others are held against; None when nothing was measured."""
    points: list[PrecisionPoint] = msgspec.field(default_factory=list)

    @property
    def error_field(self) -> str:
        """The error that all measured points have, the root mean square where they do."""
        found = [p.measured for p in self.points if p.measured is not None]
        known = found and all(m.rms_rel_error is not None for m in found)
        return "rms_rel_error" if known else "max_rel_error"

    def error(self, point: PrecisionPoint) -> float | None:
        """Return a point's error as ``error_field`` says."""
        found: float | None = getattr(point.measured, self.error_field, None)
        return found


class PrecisionLab(Running[PrecisionStudy]):
    """Every precision of one workload, variant and device, measured in turns.

    Raises InputError or CannotRunHere when no precision can be run.
    """

    def __init__(
        self, request: RunRequest, workload: Workload, devices: DeviceList, how: How | None = None,
        *, precisions: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """``precisions`` are those to look at; None: all."""
        super().__init__(how)
        self.workload = workload
        self._offers = offers(request, workload, devices, precisions)
        self._configs = [one for one in self._offers.values() if isinstance(one, RunConfig)]
        self._device = find_device(devices, self._configs[0].device)
        entries = [Entry(config.precision, config) for config in self._configs]
        self._turns = InTurns(
            entries, workload, self.how, self._step, self._expect, even_if_wrong=True
        )
        self._places = {entry.label: place for place, entry in enumerate(entries)}

    @property
    def configurations(self) -> int:
        """How many precisions can be run."""
        return len(self._places)

    @property
    def total(self) -> str:
        """What will be measured, in a sentence."""
        return plural(
            self.configurations,
            "{number} precision, measured in turns.",
            "{number} precisions, measured in turns.",
        )

    def _measure(self, session: Measures) -> None:
        self._turns.measure(session)
        if not self._turns.running:
            raise next(iter(self._turns.failed.values()), WorkFailed("nothing was measured"))

    def document(self) -> PrecisionStudy:
        """Return the document of what is measured so far."""
        results = self._turns.results()
        runs = {self._turns.entries[place].label: run for place, run in results.items()}
        reference = REFERENCE if REFERENCE in runs else next(iter(runs), None)
        points = [self._point(name, runs, reference) for name in self._offers]
        found = [point.measured for point in points if point.measured is not None]
        notes = [
            "Errors are ‖result − reference‖ over ‖reference‖ against float64."
            if all(measured.rms_rel_error is not None for measured in found)
            else "Errors are the largest of an element against float64."
        ]
        if any(measured.wrong for measured in found):
            notes.append(WRONG)
        rounds = self._turns.rounds_done
        study = PrecisionStudy(
            **self._head(f"{self.workload.manifest.title}: speed against accuracy", rounds),
            device=f"{self._device.name} · {self._device.driver}",
            notes=(*notes, *self._turns.suspects(), turns_words(rounds, fewer=self._turns.fewer)),
            config=next((c for c in self._configs if c.precision == reference), self._configs[0]),
            reference=reference, points=points, runs=list(results.values()),
        )  # fmt: skip
        study = msgspec.structs.replace(study, points=on_front(study))
        return with_dropped(study, [self._turns])

    def _point(
        self, name: str, runs: Mapping[str, RunResult], reference: str | None
    ) -> PrecisionPoint:
        offer, run, title = self._offers[name], runs.get(name), PRECISIONS[name].title
        if isinstance(offer, str):
            return PrecisionPoint(precision=name, title=title, skipped=offer)
        place = self._places[name]
        if run is None:
            error = self._turns.failed.get(place)
            reason = error.what if error is not None else self._missing
            return PrecisionPoint(precision=name, title=title, skipped=reason)
        against = None
        if reference is not None and name != reference:
            against = self._turns.comparison(place, self._places[reference])
        known = run.arithmetic
        return PrecisionPoint(
            precision=name, title=title, measured=measured_of(run), against=against,
            ran=known.ran if known is not None else None,
            accumulates_in=known.accumulates_in if known is not None else accumulates_in(run),
            how=known.how if known is not None else None,
            fallback=(known.fallback if known is not None else None) or same_result(name, runs),
        )  # fmt: skip


def offers(
    request: RunRequest, workload: Workload, devices: DeviceList,
    precisions: Sequence[str] | None = None,
) -> dict[str, RunConfig | str]:  # fmt: skip
    """Return every precision (or those named), with what would be run or the reason it cannot be.

    Raises InputError for an unknown name, and what ``complete`` raises when no precision can be
    run: then something else of the request is wrong.
    """
    names = list(PRECISIONS if precisions is None else dict.fromkeys(precisions))
    for name in names:
        if name not in PRECISIONS:
            raise InputError(f"no precision '{name}'", remedy=suggestion(name, PRECISIONS))
    found: dict[str, RunConfig | str] = {}
    first_error: ExplorerError | None = None
    for name in names:
        try:
            config = complete(msgspec.structs.replace(request, precision=name), workload, devices)
            found[name] = make_plan(workload, config, find_device(devices, config.device)).config
        except ExplorerError as error:
            if first_error is None and name in workload.manifest.precisions:
                first_error = error
            found[name] = error.what
    if all(isinstance(one, str) for one in found.values()):
        raise first_error or InputError(
            f"workload '{workload.name}' has none of {', '.join(names)}",
            remedy=suggestion(names[0], workload.manifest.precisions),
        )
    return found


def accumulates_in(run: RunResult) -> str | None:
    """Return what a kernel of ours adds up in: its ``accum`` type; None for a library call."""
    chosen = PRECISIONS.get(run.config.precision)
    if run.config.block is None or chosen is None:
        return None
    return chosen.adds_in if chosen.kernels else None


def same_result(precision: str, runs: Mapping[str, RunResult]) -> str | None:
    """Return a sentence when a precision's errors are those of fp32 to the last digit.

    Another rounding of every number cannot give that, so fp32 ran. None otherwise, and where the
    results are exact.
    """
    ours, fp32 = runs.get(precision), runs.get(REFERENCE)
    if ours is None or fp32 is None or precision in (REFERENCE, "fp64"):
        return None
    mine, theirs = ours.verification, fp32.verification
    if mine is None or theirs is None or not mine.max_rel_error:
        return None
    if (mine.max_rel_error, mine.rms_rel_error) != (theirs.max_rel_error, theirs.rms_rel_error):
        return None
    return (
        f"{precision} was asked for, and its error is that of fp32 to the last digit: fp32 "
        "arithmetic ran."
    )


def on_front(study: PrecisionStudy) -> list[PrecisionPoint]:
    """Return the points with the Pareto front marked: no other is both faster and nearer.

    What fell back to another precision and what cannot be true is on no front.
    """
    places = {
        p.precision: (p.measured.time_s, error)
        for p in study.points
        if p.measured is not None and p.fallback is None and not p.measured.suspect
        and (error := study.error(p)) is not None
    }  # fmt: skip

    def beaten(time_s: float, error: float) -> bool:
        return any(
            t <= time_s and e <= error and (t, e) != (time_s, error) for t, e in places.values()
        )

    return [
        msgspec.structs.replace(p, front=p.precision in places and not beaten(*places[p.precision]))
        for p in study.points
    ]


# ---- the table


def sheet(study: PrecisionStudy) -> Sheet:
    """Return every precision with its time, speed and error."""
    columns = (
        Column("precision", "precision", "What was wanted", words=True,
               fields={"precision": ""}, media=Medium.WINDOW | Medium.TERMINAL),
        Column("title", "precision", words=True, media=Medium.PAGE),
        Column("time", "time", TIME_TIP, "s", fields=FIGURES),
        Column("speed", "speed", "How many times faster or slower than the reference in the same "
               "turns, with the 95 % interval", fields=RATIO),
        Column("error", "error", "Relative error against float64, of the result as a whole"),
        Column("largest", "largest", "The largest relative error of an element",
               media=Medium.TERMINAL | Medium.PAGE),
        Column("tolerance", "allowed", "The error that the workload allows", media=Medium.PAGE),
        Column("ran", "ran as", "The arithmetic that really ran, where that can be told",
               words=True, fields={"ran": ""}, media=Medium.WINDOW | Medium.PAGE, gives_way=2),
        Column("sums", "added up in", "The type that products are added in", words=True,
               fields={"accumulates_in": ""}, gives_way=1),
        file_only("fallback"),
        Column("front", "on the front", "Whether nothing is both faster and nearer to float64",
               words=True, fields={"front": ""}, media=Medium.PAGE),
        file_only("skipped"),
        Column("remarks", "remarks", "What a reader should know of it", words=True, gives_way=3),
    )  # fmt: skip
    return Sheet("Precisions", columns, tuple(_row(study, point) for point in study.points))


def _row(study: PrecisionStudy, point: PrecisionPoint) -> Row:
    measured, against, error = point.measured, point.against, study.error(point)
    faster = 1 / against.ratio if against is not None else None
    reference = next((p.measured for p in study.points if p.precision == study.reference), None)
    words = against.words if against is not None else effect_words(None, measured, reference)
    if point.precision == study.reference:
        words = "reference"
    wrong = measured is not None and measured.wrong
    cells = {
        "precision": Cell(point.precision, point.precision),
        "title": Cell(point.title, point.title),
        "time": time_cell(measured),
        "speed": Cell(words if measured is not None else "–", faster, against),
        "ran": Cell((point.ran or "–") + (" ⚠" if point.fallback else ""), point.ran),
        "sums": Cell(point.accumulates_in or "–", point.accumulates_in),
        "fallback": Cell(value=point.fallback),
        "front": Cell("yes" if point.front else "no", point.front),
        "skipped": Cell(value=point.skipped),
        "error": Cell(error_words(error) + (" ✗" if wrong else ""), error,
                      role="wrong" if wrong else ""),
    }  # fmt: skip
    if measured is None:
        note = point.skipped or UNKNOWN
        return Row(point.title, cells, f"{point.title}: {note}", note=note, role="skipped")
    for name, value in (("largest", measured.max_rel_error), ("tolerance", measured.tolerance)):
        cells[name] = Cell(error_words(value), value)
    remarks = {
        "reference": point.precision == study.reference,
        "on the Pareto front": point.front,
        f"above the workload's tolerance of {error_words(measured.tolerance)}": measured.wrong,
        f"cannot be true: {measured.suspect}": measured.suspect is not None,
        point.fallback: point.fallback is not None,
    }
    cells["remarks"] = Cell("; ".join(str(words) for words, holds in remarks.items() if holds))
    how = f"Ran in {point.ran}; {point.how}" if point.ran and point.how else point.how or ""
    front = "On the Pareto front: nothing is both faster and nearer to float64."
    tip = figures_tip(point.title, measured, [point.fallback or "", how, front * point.front])
    return Row(point.title, cells, tip, {measured.run: tip}, role="best" if point.front else "")


# ---- the chart


def chart(study: PrecisionStudy) -> ChartSpec:
    """Return the chart: fast is up, near to float64 is left."""
    drawn = {
        point.precision: (point, point.measured, error)
        for point in study.points
        if point.measured is not None and point.measured.time_s > 0
        and (error := study.error(point)) is not None
    }  # fmt: skip
    least = min((e for *_, e in drawn.values() if e > 0), default=LEAST_ERROR)
    by_flops = bool(drawn) and all(measured.flop_per_s for _, measured, _ in drawn.values())
    speeds = {name: _speed(measured, by_flops) for name, (_, measured, _) in drawn.items()}
    errors = {name: error or least / EXACT_BELOW for name, (*_, error) in drawn.items()}
    front = sorted((errors[n], speeds[n][0]) for n, (point, *_) in drawn.items() if point.front)
    lines: list[Series] = []
    if front:
        lines.append(
            series("Pareto front: none is faster and nearer", "line", "ceiling",
                   x=[x for x, _ in front], y=[y for _, y in front])
        )  # fmt: skip
    names: set[str] = set()
    for point, measured, _ in sorted(drawn.values(), key=lambda one: one[0].fallback is None):
        name, role, colour = _looks(point, measured)
        speed, low, high = speeds[point.precision]
        lines.append(
            series("" if name in names else name, "points", role, x=[errors[point.precision]],
                   y=[speed], low=[low], high=[high], colour=colour, labels=(_label(point),),
                   keys=(measured.run,))
        )  # fmt: skip
        names.add(name)  # which stands in the legend once
    y = "useful operations a second" if by_flops else "launches a second"
    panel = Panel(
        x=_axis(ERRORS[study.error_field], "", list(errors.values()), 0.16),
        y=_axis(y, "FLOP/s" if by_flops else "/s",
                [end for _, *ends in speeds.values() for end in ends], 0.12),
        series=tuple(lines), height=1.35,
    )  # fmt: skip
    return ChartSpec(
        title=study.title, subtitle=study.device, rows=((panel,),),
        notes=tuple(_notes(study)),
    )  # fmt: skip


def _speed(measured: Measured, by_flops: bool) -> tuple[float, float, float]:
    """Return useful operations or launches a second, and the ends of the 95 % interval."""
    work = measured.flop_per_s if by_flops else None
    speed, low, high = work or 1 / measured.time_s, measured.ci95_low_s, measured.ci95_high_s
    if low is None or high is None or low <= 0:
        return speed, speed, speed
    return speed, speed * measured.time_s / high, speed * measured.time_s / low


def _axis(label: str, unit: str, values: Sequence[float], margin: float) -> Axis:
    """Return a logarithmic axis around some values, with room at both ends."""
    low, high = min(values, default=0.1), max(values, default=10.0)
    middle, ratio = (low * high) ** 0.5, max(high / low, 4.0)
    reach = ratio ** (0.5 + margin)
    return Axis(label=label, unit=unit, scale="log", low=middle / reach, high=middle * reach)


def _looks(point: PrecisionPoint, measured: Measured) -> tuple[str, Role, int]:
    """Return a point's words in the legend, its role and its colour."""
    if measured.suspect is not None:
        return CANNOT_BE_TRUE, "hardware", 4
    if point.fallback is not None:
        return "another precision ran", "requested", 3
    if measured.wrong:
        return "beyond the tolerance", "transfer", 1
    return "within the tolerance", "measured", 0


def _label(point: PrecisionPoint) -> str:
    """Return what stands beside a point: the precision, and how fast it is beside the reference."""
    facts = [point.precision]
    if point.against is not None:
        facts.append(point.against.words)
    if point.fallback is not None and point.ran not in (None, point.precision):
        facts.append(f"ran as {point.ran}")
    if point.measured is not None and point.measured.max_rel_error == 0:
        facts.append("exact")
    return "  ".join(facts)


def _notes(study: PrecisionStudy) -> list[str]:
    notes = list(study.notes)
    if study.reference is not None:
        notes[-1:] = [f"{notes[-1]} Factors are speeds over that of {study.reference}."]
    sums: dict[str, list[str]] = {}
    for point in study.points:
        if point.measured is not None and point.accumulates_in not in (None, point.precision):
            sums.setdefault(point.accumulates_in or "", []).append(point.precision)
    notes += [f"Added up in {kind}: {', '.join(names)}." for kind, names in sums.items()]
    notes += [p.fallback for p in study.points if p.fallback is not None]
    skipped = [p.precision for p in study.points if p.skipped is not None]
    return notes + ([f"Not measured: {', '.join(skipped)}."] if skipped else [])


def finding(study: PrecisionStudy) -> str:
    """Return the fastest precision within the tolerance, in a sentence; empty for no run."""
    able = [p for p in study.points if p.measured is not None and p.front and not p.measured.wrong]
    if not able:
        measured = sum(point.measured is not None for point in study.points)
        if not measured:
            return ""
        return plural(measured, "{number} precision measured.", "{number} precisions measured.")
    best = min(able, key=lambda p: p.measured.time_s if p.measured else 0.0)
    fastest, error = best.precision, study.error(best)
    beside = ""
    if best.against is not None and study.reference is not None:
        beside = best.against.than(study.reference)
    if error is None:
        if not beside:
            return f"Fastest within the tolerance: {fastest}."
        return f"Fastest within the tolerance: {fastest}, {beside}."
    wrong = error_words(error)
    if not beside:
        return f"Fastest within the tolerance: {fastest}, error {wrong}."
    return f"Fastest within the tolerance: {fastest}, {beside}, error {wrong}."


def half_answer(study: PrecisionStudy) -> str:
    """Return whether half precision is worth it, in a sentence; empty where none was measured."""
    halves = [p for p in study.points if p.precision in HALVES and p.measured]
    ran = [p for p in halves if p.fallback is None]
    if halves and not ran:
        return "No half precision ran here: another ran in its place."
    reference = next((p for p in study.points if p.precision == study.reference), None)
    both = [*ran, reference] if ran and reference is not None else []
    suspects = [p.precision for p in both if p.measured is not None and p.measured.suspect]
    real = [p for p in ran if p.against is not None and p.precision not in suspects]
    allowed = [p for p in real if p.measured and not p.measured.wrong]
    best = min(allowed or real, key=lambda p: p.against.ratio if p.against else 1.0, default=None)
    if best is None or best.against is None or reference is None:
        if not suspects:
            return ""
        return f"That cannot be told: the time of {listed(suspects)} cannot be true."
    against = best.against
    speed = against.than(reference.precision)
    error, before = error_words(study.error(best)), error_words(study.error(reference))
    if not allowed and against.verdict == "can't tell":
        return f"Not worth it: {best.precision}: {speed}, and its error of {error} is too large."
    if not allowed:
        return f"Not worth it: {best.precision} is {speed}, but its error of {error} is too large."
    if against.verdict == "can't tell":
        beside = [(p, p.against) for p in allowed if p.against is not None]
        hopeful, its = min(beside, key=lambda pair: pair[1].ci95_low)
        most = max(1.0, 1 / its.ci95_low)
        if most <= LITTLE:
            by, wrong = factor(most), error_words(study.error(hopeful))
            return (
                f"Not worth it here: {hopeful.precision} is {by} faster at most than "
                f"{reference.precision}, its error {wrong} instead of {before}."
            )
        known = [
            f"{p.precision} is {found.than(reference.precision)}" for p, found in beside
            if found.verdict != "can't tell"
        ]  # fmt: skip
        untold = f"That cannot be told yet: {best.precision}: {speed}."
        return " ".join((untold, *(f"{one}." for one in known), MORE_TURNS))
    if against.verdict == "faster":
        return f"Worth it: {best.precision} is {speed}, its error {error} instead of {before}."
    return f"Not worth it here: {best.precision} is {speed}, its error {error} instead of {before}."


KIND = StudyKind(
    title="Precision", heading="Precision lab", doing="measuring precisions",
    tip="Speed against accuracy, over every precision that the workload has here",
    question="How much accuracy does each precision cost, and what does it buy?",
    about="The workload runs in every precision it has here, in turns. Each point's error is "
    "against float64; the line joins those that nothing beats in both.",
    command="every precision: its speed beside its error against float64",
    document=PrecisionStudy, lab=PrecisionLab, sheet=sheet, chart=chart, finding=finding,
    choices=(Choice("precisions", "--precision", "P,..",
                    "which precisions (default: all that the workload and device have)",
                    also=("--precisions",), title="Precisions", too_few="no precision is ticked",
                    offers=lambda scene: scene.precision_offers()),),
    varies=("precision",),
)  # fmt: skip
