"""What did each switch buy? A waterfall from baseline to combination, and each by itself."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from gpuexplorer.charts.comparison import Line, ratio_range, ratio_series
from gpuexplorer.charts.spec import Annotation, Axis, ChartSpec, Panel, Series, series
from gpuexplorer.charts.studies_words import effect_words
from gpuexplorer.core.studies import Measured, Switched, SwitchesStudy
from gpuexplorer.core.units import quantity

LOG_ABOVE = 6.0
"""Times this many times apart go on a logarithmic axis."""
TOTAL, GAIN, LOSS = 0, 2, 1
"""Slots in the palette."""
ROOM_FOR_WORDS = 0.40
SAME_MEMORY = 0.01
"""Peaks that differ by less are no matter of a switch."""


class Bar(msgspec.Struct, frozen=True):
    """One bar of the waterfall, from one time to another."""

    label: str
    start_s: float
    end_s: float
    words: str
    total: bool = False
    key: str = ""
    """The run that it stands for; empty for what combining does."""

    @property
    def colour(self) -> int:
        """The palette's slot: a total, a gain, or a loss."""
        if self.total:
            return TOTAL
        return GAIN if self.end_s <= self.start_s else LOSS


def bars_of(study: SwitchesStudy) -> list[Bar]:
    """Return the waterfall's bars from the top down; empty before the baseline was measured.

    The baseline, what each switch of the combination takes off by itself, each from where the one
    before it ended, what combining added or lost, and the combination. A switch's bar is its own
    ratio, so the bars multiply.
    """
    if study.baseline is None:
        return []
    base_s = (study.beside or study.baseline).time_s
    effects = [(share, share.effect) for share in study.shares if share.effect is not None]
    bars = [Bar("baseline", 0.0, base_s, quantity(base_s, "s"), total=True, key=study.baseline.run)]
    at_s = base_s
    for share, effect in effects:
        key = share.measured.run if share.measured is not None else ""
        bars.append(Bar(share.title, at_s, at_s * effect.ratio, effect.words, key=key))
        at_s *= effect.ratio
    if study.together is None:
        return bars
    end_s = base_s * study.total.ratio if study.total is not None else study.together.time_s
    if study.combining is not None:
        bars.append(Bar("combining them", at_s, end_s, combining_words(study)))
    bars.append(
        Bar(
            "combination", 0.0, end_s, _total_words(study, end_s), total=True,
            key=study.together.run,
        )
    )  # fmt: skip
    return bars


def combining_words(study: SwitchesStudy) -> str:
    """Return what putting the switches together added or lost."""
    found = study.combining
    if found is None:
        return ""
    if found.verdict == "same":
        return f"nothing ({found.interval}): each does on top of the others what it does alone"
    if found.verdict == "can't tell":
        return f"adds or loses: can't tell ({found.interval})"
    return f"adds: {found.words}" if found.ratio < 1 else f"loses: {found.words}"


def _total_words(study: SwitchesStudy, end_s: float) -> str:
    time = quantity(end_s, "s")
    return f"{time} · {study.total.words}" if study.total is not None else time


def waterfall_chart(study: SwitchesStudy) -> ChartSpec:
    """Return the chart: the waterfall, every switch by itself, and memory where it was counted."""
    rows: list[tuple[Panel, ...]] = []
    bars = bars_of(study)
    if len(bars) > 1:
        rows.append((_waterfall(bars),))
    alone = [one for one in study.alone if one.measured is not None]
    if alone:
        rows.append((_alone(alone, study.baseline),))
    memory = _memory(study)
    if memory is not None:
        rows.append((memory,))
    if not rows:
        rows.append((_waterfall(bars),))
    return ChartSpec(
        title=study.title,
        subtitle=study.device,
        rows=tuple(rows),
        notes=tuple(_notes(study, bool(memory))),
    )


def _waterfall(bars: Sequence[Bar]) -> Panel:
    ends = [end for bar in bars for end in (bar.start_s, bar.end_s) if end > 0]
    least, most = min(ends, default=1.0), max(ends, default=1.0)
    log = most / least > LOG_ABOVE
    low = least / 2 if log else 0.0
    high = most * (most / low) ** ROOM_FOR_WORDS if log else most * (1 + ROOM_FOR_WORDS)
    drawn: list[Series] = []
    names = {TOTAL: "measured", GAIN: "saved", LOSS: "lost"}
    for row, bar in enumerate(bars):
        left, right = sorted((max(bar.start_s, low), max(bar.end_s, low)))
        drawn.append(
            series(
                names.pop(bar.colour, ""), "spans", "measured", colour=bar.colour,
                x=[left], y=[row], z=[right - left], labels=("",), keys=(bar.key,),
            )
        )  # fmt: skip
        if row + 1 < len(bars):  # down to where the next begins
            drawn.append(series("", "line", "pinned", x=[bar.end_s] * 2, y=[row, row + 1]))
    room = (high / low) ** 0.008 if log else 0.0
    notes = tuple(
        Annotation(
            text=bar.words,
            x=max(bar.start_s, bar.end_s) * room if log else
            max(bar.start_s, bar.end_s) + 0.008 * high,
            y=row,
        )
        for row, bar in enumerate(bars)
    )  # fmt: skip
    return Panel(
        title="From the baseline to the combination",
        x=Axis(
            label="time per launch", unit="s", scale="log" if log else "linear", low=low, high=high
        ),
        y=Axis(label="", categories=tuple(bar.label for bar in bars), low=-0.6,
               high=len(bars) - 0.4),
        series=tuple(drawn),
        annotations=notes,
        height=0.4 + 0.13 * len(bars),
    )  # fmt: skip


def _alone(alone: Sequence[Switched], baseline: Measured | None) -> Panel:
    lines = []
    for one in alone:
        effect = one.effect
        words = effect_words(effect, baseline, one.measured)
        line = Line(one.title, None, None, None, None, beside=words)
        if effect is not None:
            line = replace(
                line, ratio=effect.ratio, low=effect.ci95_low, high=effect.ci95_high,
                verdict=effect.verdict,
            )  # fmt: skip
        lines.append(replace(line, key=one.measured.run if one.measured is not None else ""))
    low, high = ratio_range(lines)
    drawn, notes = ratio_series(lines, low, high)
    return Panel(
        title="Each by itself",
        x=Axis(
            label="time over the baseline's, with its 95 % interval", scale="log", low=low,
            high=high,
        ),
        y=Axis(label="", categories=tuple(line.label for line in lines), low=-0.5,
               high=len(lines) - 0.5),
        series=(series("", "vline", "pinned", x=[1.0]), *drawn),
        annotations=notes,
        height=0.4 + 0.12 * len(lines),
    )  # fmt: skip


def _memory(study: SwitchesStudy) -> Panel | None:
    """Return memory against time, where it was counted and a switch changes it."""
    found: list[tuple[str, Measured]] = []
    if study.baseline is not None:
        found.append(("baseline", study.baseline))
    found += [(one.title, one.measured) for one in study.alone if one.measured is not None]
    if study.together is not None and len(study.combination) > 1:
        found.append(("combination", study.together))
    known = [(name, m) for name, m in found if m.memory_B]
    if not known or known[0][0] != "baseline":
        return None
    points = [(m.time_s, float(m.memory_B or 0)) for _, m in known]
    if all(abs(memory_B / points[0][1] - 1) < SAME_MEMORY for _, memory_B in points):
        return None
    most_s, most_B = max(x for x, _ in points), max(y for _, y in points)
    least_s = min(x for x, _ in points)
    log = most_s / least_s > LOG_ABOVE
    drawn = [
        series(
            "", "points", "measured", x=[x], y=[y], colour=TOTAL if name == "baseline" else 3,
            labels=(name,),
            keys=(measured.run,),
        )
        for (name, measured), (x, y) in zip(known, points, strict=True)
    ]  # fmt: skip
    return Panel(
        title="Memory against time",
        x=Axis(
            label="time per launch",
            unit="s",
            scale="log" if log else "linear",
            low=least_s / 1.3 if log else 0.0,
            high=1.3 * most_s,
        ),
        y=Axis(label="peak memory", unit="B", low=0.0, high=1.25 * most_B),
        series=tuple(drawn),
    )


def _notes(study: SwitchesStudy, memory: bool) -> list[str]:
    notes = list(study.notes)
    if len(study.shares) > 1:
        notes.append(
            "A bar is what the switch does by itself, as a ratio, from where the one above ended; "
            "the rest up to the measured combination is what combining adds or loses."
        )
    notes += [f"{one.title} was left out: {one.reason}." for one in study.added if one.reason]
    notes += [f"{one.title} was not measured: {one.skipped}." for one in study.alone if one.skipped]
    if study.not_offered:
        notes.append(f"Not offered here: {', '.join(study.not_offered)}.")
    if memory and study.baseline is not None and study.baseline.memory_counter:
        notes.append(f"Memory as counted by {study.baseline.memory_counter}.")
    return notes
