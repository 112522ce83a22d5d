"""A comparison as a forest plot: a ratio with its interval a line, beside the band of the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from gpuexplorer.charts.build import timing_row
from gpuexplorer.charts.caption import Caption
from gpuexplorer.charts.spec import Annotation, Axis, ChartSpec, Panel, Series, series
from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.core.units import percent, plural, quantity, speed, speed_interval
from gpuexplorer.core.verdict import Verdict

VERDICT_COLOURS: dict[Verdict, int] = {"faster": 2, "slower": 1, "same": 0, "can't tell": 3}
"""Slots in the palette of a chart's marks; words have colours of their own."""
EMPTY = (0.8, 1.25)
LEAST_SPAN = 0.04
"""Of the axis, as a natural logarithm: four percent."""
ROOM_FOR_WORDS = 0.35
"""At the right of the longest interval, as a share of the span."""
APART = (
    "Not measured in turns, which is weaker evidence: what the machine did on one occasion and not "
    "on the other counts as a difference, and no interval holds that."
)
ON_SEVERAL = (
    "Measured in turns on different devices, not interleaved on one: what disturbs one device for "
    "longer than a turn does not disturb the others."
)
BESIDE_TRACES = 0.85
"""Height of the ratios, where launches stand below them."""
MOST_TRACES = 6
"""Stored runs whose launches are drawn over each other."""


class Line(msgspec.Struct, frozen=True):
    """One line of the plot: how long it takes over the reference, None while that is not known."""

    label: str
    ratio: float | None
    low: float | None
    high: float | None
    verdict: Verdict | None
    """None for the reference."""
    beside: str = ""
    """What stands beside it; empty for its verdict, or that there is none yet."""
    key: str = ""
    """What it stands for (see ``charts.spec.Series.keys``)."""
    apart: bool = False
    """Whether the two are stored runs, which took no turns."""

    @property
    def words(self) -> str:
        """How fast it is, such as ``1.05× slower (1.03–1.07)``, or that this cannot be told."""
        if self.beside:
            return self.beside
        if self.verdict is None:
            return "reference"
        if not self.ratio:
            return "too few samples" if self.apart else "too few rounds"
        if not (self.low and self.high):
            return self.verdict
        if self.verdict == "same":
            return f"same ({speed_interval(self.ratio, self.low, self.high)})"
        return speed(self.ratio, self.low, self.high, self.verdict)


def lines_of(result: ComparisonResult) -> list[Line]:
    """Return the lines of a finished comparison, in its order."""
    return [
        Line(
            one.label,
            one.ratio,
            one.ci95_low,
            one.ci95_high,
            one.verdict,
            key=str(place),
            apart=not result.interleaved,
        )
        for place, one in enumerate(result.contestants)
    ]


def ratio_range(lines: Sequence[Line]) -> tuple[float, float]:
    """Return the range of the axis: all intervals and 1, with room for words at the right."""
    known = [v for line in lines for v in (line.ratio, line.low, line.high) if v]
    if not known:
        return EMPTY
    low, high = math.log(min(1.0, *known)), math.log(max(1.0, *known))
    missing = max(0.0, LEAST_SPAN - (high - low)) / 2
    low, high = low - missing, high + missing
    span = high - low
    return math.exp(low - 0.08 * span), math.exp(high + ROOM_FOR_WORDS * span)


def shared_words(result: ComparisonResult) -> str:
    """Return what all contestants have in common, in words; empty when nothing is."""
    return Caption(one.run.config for one in result.contestants).words


def ratio_series(
    lines: Sequence[Line], low: float, high: float
) -> tuple[list[Series], tuple[Annotation, ...]]:
    """Return the marks of lines, a row each, and words where there is no mark.

    Intervals end where the axis does, at ``low`` and ``high``.
    """
    drawn: list[Series] = []
    notes: list[Annotation] = []
    for place, line in enumerate(lines):
        mark: dict[str, Any] = {
            "y": [place], "sideways": True, "labels": (line.words,), "keys": (line.key,),
        }  # fmt: skip
        if line.verdict and line.ratio and line.low and line.high:
            ends: dict[str, Any] = {"low": [max(line.low, low)], "high": [min(line.high, high)]}
            drawn.append(
                series(
                    "", "points", "model", x=[line.ratio], colour=VERDICT_COLOURS[line.verdict],
                    **ends, **mark,
                )
            )  # fmt: skip
        elif line.verdict is None and not line.beside:
            drawn.append(series("", "points", "pinned", x=[1.0], low=[1.0], high=[1.0], **mark))
        else:
            right = math.exp(0.02 * math.log(high / low))
            notes.append(Annotation(text=line.words, x=right, y=place))
    return drawn, tuple(notes)


def ratio_panel(
    lines: Sequence[Line], reference: str, tolerance: float, fail_if_slower: float | None = None
) -> Panel:
    """Return lines beside the band of the same; who is faster stands left of it."""
    low, high = ratio_range(lines)
    same = (1 / (1 + tolerance), 1 + tolerance)
    drawn: list[Series] = [
        series(
            f"same, within {percent(tolerance)}", "band", "measured", colour=0,
            x=same, y=[-0.5, -0.5, len(lines) - 0.5, len(lines) - 0.5],
        ),
        series("", "vline", "pinned", x=[1.0]),
    ]  # fmt: skip
    if fail_if_slower is not None:
        words = f"{percent(fail_if_slower)} slower"
        drawn.append(series(words, "vline", "ceiling", x=[1 + fail_if_slower]))
    marks, notes = ratio_series(lines, low, high)
    return Panel(
        x=Axis(
            label=f"time over that of {reference}, with its 95 % interval · left is faster"
            if reference else "ratio of times, with its 95 % interval · left is faster",
            scale="log", low=low, high=high,
        ),
        y=Axis(label="", categories=tuple(line.label for line in lines), low=-0.5,
               high=len(lines) - 0.5),
        series=(*drawn, *marks),
        annotations=notes,
        height=0.35 + 0.14 * len(lines),
    )  # fmt: skip


def line_words(line: Line, reference: str) -> str:
    """Return what is known of one line, a sentence each."""
    if line.verdict is None:
        return f"{line.label}\nThe reference: the others' times are divided by its."
    if line.apart and not line.ratio:
        return f"{line.label}\nToo few samples for an interval of the ratio."
    if not (line.ratio and line.low and line.high):
        return (
            f"{line.label}\nToo few rounds for a ratio yet: eight are needed, and fewer where "
            "times lie far apart."
        )
    return f"{line.label}: {line.verdict}\n{line.words} beside {reference}, with the 95 % interval"


def comparison_chart(result: ComparisonResult) -> ChartSpec:
    """Return the chart of a comparison."""
    reference = result.contestants[result.reference]
    panel = ratio_panel(lines_of(result), reference.label, result.tolerance, result.fail_if_slower)
    used = [one.run.device for one in (reference, *result.others)]
    devices = "; ".join(dict.fromkeys(f"{device.name} · {device.driver}" for device in used))
    rows: list[tuple[Panel, ...]] = [(panel,)]
    notes = _notes(result)
    if not result.interleaved and len(result.contestants) <= MOST_TRACES:
        ordered = [reference, *result.others]
        runs, labels = [one.run for one in ordered], [one.label for one in ordered]
        if all(len(run.samples_s) for run in runs):
            traces, more = timing_row(runs[0], runs[1:], labels)
            high = msgspec.structs.replace(panel, height=max(panel.height, BESIDE_TRACES))
            rows = [(high,), traces]
            notes += more
    return ChartSpec(
        title=f"Time beside {reference.label}",
        subtitle="\n".join(p for p in (shared_words(result), devices) if p),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def on_several_devices(result: ComparisonResult) -> bool:
    """Whether turns were taken on more than one device."""
    runs = [one.run for one in result.contestants]
    return result.interleaved and len({run.device.hardware_id for run in runs}) > 1


def _notes(result: ComparisonResult) -> list[str]:
    medians = ", ".join(
        f"{quantity(one.run.timing.median_s, 's')} ({one.label})" for one in result.contestants
    )
    how = plural(
        result.rounds,
        "Measured in {number} turn each, in an order that chance decided.",
        "Measured in {number} turns each, in an order that chance decided.",
    )
    if result.rested:
        how = (
            f"Measured in up to {result.rounds} turns, in an order that chance decided; one "
            "whose verdict was clear took no more."
        )
    if not result.interleaved:
        how = APART
    notes = [how, f"Medians: {medians}."]
    if on_several_devices(result):
        notes.append(ON_SEVERAL)
    return notes + [f"{one.label}: {words}" for one in result.contestants for words in one.warnings]
