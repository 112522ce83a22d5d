"""The precision lab's chart: speed against error, both logarithmic, with the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence

from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, Role, Series, series
from gpuexplorer.charts.studies_words import subject, times
from gpuexplorer.core.studies import Measured, PrecisionPoint, PrecisionStudy

HEIGHT = 1.35
EXACT_BELOW = 10.0
"""A result without any error stands so many times below the least error, for a logarithm has no
zero."""
LEAST_ERROR = 1e-17
ERRORS = {
    "rms_rel_error": "relative error, ‖result − float64‖ / ‖float64‖",
    "max_rel_error": "largest relative error of an element, against float64",
}


def precision_chart(study: PrecisionStudy) -> ChartSpec:
    """Return the chart: fast is up, near to float64 is left."""
    points = [p for p in study.points if p.measured is not None and study.error(p) is not None]
    by_flops = bool(points) and all(p.measured is not None and p.measured.flop_per_s
                                    for p in points)  # fmt: skip
    places = {
        p.precision: (error, speed_of(p.measured, by_flops))
        for p, error in zip(points, shown_errors(study, points), strict=True)
        if p.measured is not None and p.measured.time_s > 0
    }
    points = [p for p in points if p.precision in places]
    drawn = [*_front(points, places)]
    names: set[str] = set()
    for point in sorted(points, key=lambda p: p.fallback is None):  # what it fell back to on top
        drawn.append(_point(point, places[point.precision], by_flops, names))
    panel = Panel(
        x=_axis(ERRORS[study.error_field], "", [x for x, _ in places.values()], 0.16),
        y=_axis(
            "useful operations a second" if by_flops else "launches a second",
            "FLOP/s" if by_flops else "/s",
            [end for p in points for end in _ends(p.measured, by_flops)],
            0.12,
        ),
        series=tuple(drawn),
        height=HEIGHT,
    )
    return ChartSpec(
        title=study.title,
        subtitle=f"{subject(study.config, without=('precision',))}\n{study.device}",
        rows=((panel,),),
        notes=tuple(_notes(study)),
    )


def speed_of(measured: Measured, by_flops: bool) -> float:
    """Return useful operations a second, or launches a second."""
    work = measured.flop_per_s if by_flops else None
    return work if work else 1 / measured.time_s


def shown_errors(study: PrecisionStudy, points: Sequence[PrecisionPoint]) -> list[float]:
    """Return where points stand along the error's axis; an error of zero has a place of its own."""
    errors = [study.error(p) or 0.0 for p in points]
    least = min((e for e in errors if e > 0), default=LEAST_ERROR)
    return [e if e > 0 else least / EXACT_BELOW for e in errors]


def _ends(measured: Measured | None, by_flops: bool) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a speed; the speed itself twice without one."""
    if measured is None:
        return 1.0, 1.0
    speed, low, high = speed_of(measured, by_flops), measured.ci95_low_s, measured.ci95_high_s
    if low is None or high is None or low <= 0:
        return speed, speed
    return speed * measured.time_s / high, speed * measured.time_s / low


def _axis(label: str, unit: str, values: Sequence[float], margin: float) -> Axis:
    """Return a logarithmic axis around some values, with room at both ends."""
    low, high = min(values, default=0.1), max(values, default=10.0)
    span = max(high / low, 4.0) ** margin
    middle = (low * high) ** 0.5
    reach = max(high / low, 4.0) ** 0.5
    return Axis(
        label=label, unit=unit, scale="log", low=middle / reach / span, high=middle * reach * span
    )


def _front(
    points: Sequence[PrecisionPoint], places: dict[str, tuple[float, float]]
) -> list[Series]:
    front = sorted(places[p.precision] for p in points if p.front)
    if not front:
        return []
    return [
        series(
            "Pareto front: nothing is both faster and nearer", "line", "ceiling",
            x=[x for x, _ in front], y=[y for _, y in front],
        )
    ]  # fmt: skip


def _point(
    point: PrecisionPoint, place: tuple[float, float], by_flops: bool, names: set[str]
) -> Series:
    """Return a point with its interval; a name stands in the legend once."""
    measured = point.measured
    assert measured is not None  # only measured ones are drawn
    role: Role = "measured"
    name, colour = "within the workload's tolerance", 0
    if point.fallback is not None:
        role, name, colour = "requested", "another precision ran", 3
    elif measured.wrong:
        role, name, colour = "transfer", "further from float64 than the workload allows", 1
    if measured.suspect is not None:
        role, name, colour = "hardware", "cannot be true", 4
    x, y = place
    low, high = _ends(measured, by_flops)
    label = "" if name in names else name
    names.add(name)
    return series(
        label, "points", role, x=[x], y=[y], low=[low], high=[high], colour=colour,
        labels=(words(point),), keys=(measured.run,),
    )  # fmt: skip


def words(point: PrecisionPoint) -> str:
    """Return what stands beside a point: the precision, and how fast it is beside the reference."""
    text = point.precision
    if point.against is not None:
        text += f"  {times(1 / point.against.ratio)}"
    if point.fallback is not None and point.ran is not None and point.ran != point.precision:
        text += f" (ran as {point.ran})"
    if point.measured is not None and point.measured.max_rel_error == 0:
        text += " (exact)"
    return text


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
    if skipped:
        notes.append(f"Not measured: {', '.join(skipped)}.")
    return notes
