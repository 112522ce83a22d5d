"""Studies as tables: what all share, and those of switches.

Times are in seconds, a file's ``ratio`` is the time over the reference's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuexplorer.charts.studies_switches import combining_words
from gpuexplorer.charts.studies_words import (
    CANNOT_BE_TRUE,
    effect_words,
    error_words,
    time_words,
)
from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.sheet import Cell, Column, Medium, Role, Row, Sheet
from gpuexplorer.core.studies import (
    AtSize,
    Measured,
    Speedup,
    Switched,
    SwitchesStudy,
    SwitchValue,
)
from gpuexplorer.core.units import count, quantity

UNKNOWN = "no figure"
FIGURES = {
    name: name
    for name in (
        "run", "time_s", "ci95_low_s", "ci95_high_s", "flop_per_s", "rms_rel_error",
        "max_rel_error", "tolerance", "wrong", "memory_B", "suspect",
    )
}  # fmt: skip
RATIO = {
    "ratio": "ratio", "ratio_ci95_low": "ci95_low", "ratio_ci95_high": "ci95_high",
    "verdict": "verdict",
}  # fmt: skip
SPEEDUP = {"speedup": "factor", "speedup_ci95_low": "ci95_low", "speedup_ci95_high": "ci95_high"}
REMARKS = Column(
    "remarks", "not measured", "Why a figure is missing", words=True,
    media=Medium.WINDOW | Medium.PAGE, gives_way=1,
)  # fmt: skip
TIME_TIP = "Median time of one launch, with half its 95 % interval"


def file_only(name: str) -> Column:
    """Return a column that a file alone has."""
    return Column(name, fields={name: ""}, media=Medium(0))


def time_cell(measured: Measured | None) -> Cell:
    value = measured.time_s if measured is not None else None
    return Cell(time_words(measured), value, measured)


def speedup_cell(found: Speedup | None) -> Cell:
    return Cell(found.words, found.factor, found) if found is not None else Cell("–")


def figures_tip(title: str, measured: Measured, lines: Sequence[str]) -> str:
    return "\n".join((title, *_figures_words(measured), *(line for line in lines if line)))


def size_rows(
    symbol: str,
    point: AtSize,
    titles: Mapping[str, str],
    figures: Mapping[str, Measured | None],
    cells: Mapping[str, Cell],
    own: Mapping[str, Mapping[str, Cell]],
) -> list[Row]:
    """Return a size as a row for readers, and as a row for each part in a file.

    ``titles`` has what each part is called, ``cells`` what readers see of the size beside times,
    and ``own`` what a file has of each part.
    """
    title, size = f"{symbol} = {count(point.value)}", Cell(count(point.value), point.value)
    marks = {
        found.run: figures_tip(f"{title}, {titles[part]}", found, ())
        for part in titles
        if (found := figures[part]) is not None
    }
    reasons = "; ".join(dict.fromkeys(point.skipped.values()))
    note = reasons or ("" if marks else UNKNOWN)
    lacks = [f"{titles.get(part, part)}: {why}" for part, why in point.skipped.items()]
    tip = "\n".join([title, *lacks]) if marks else f"{title}: {note}"
    times = {part: time_cell(figures[part]) for part in titles}
    shown = {symbol: size, **cells, **times}
    role: Role = "" if marks else "skipped"
    rows = [Row(title, shown, tip, marks, note, role, media=Medium.SHOWN)]
    for part, more in own.items():
        skipped = Cell(value=point.skipped.get(part))
        one = {"size": size, "figures": times[part], "skipped": skipped, **more}
        rows.append(Row(f"{title}, {titles[part]}", one, media=Medium.FILE))
    return rows


def _figures_words(measured: Measured) -> list[str]:
    """Return what one run came to, a line each."""
    lines = [f"{time_words(measured)} a launch"]
    if measured.flop_per_s:
        lines = [f"{lines[0]}, {quantity(measured.flop_per_s, 'FLOP/s')}"]
    errors = []
    if measured.rms_rel_error is not None:
        errors.append(f"{error_words(measured.rms_rel_error)} as a whole")
    if measured.max_rel_error is not None:
        errors.append(f"{error_words(measured.max_rel_error)} at the most")
    if errors:
        lines.append(f"Error against float64: {', '.join(errors)}")
    if measured.wrong:
        lines.append(f"Further from float64 than the tolerance of {measured.tolerance:.0e}.")
    if measured.memory_B is not None:
        lines.append(f"Memory at its peak: {quantity(measured.memory_B, 'B')}")
    if measured.suspect:
        lines.append(f"SUSPECT: {measured.suspect}.")
    return lines


def _ratio_words(effect: Comparison | None, words: str) -> str:
    """Return a ratio of times with its interval, in a line; ``words`` are those of its cell."""
    if effect is not None:
        return f"{effect.words}, with the 95 % interval"
    if words == CANNOT_BE_TRUE:
        return "No ratio, for one of the two times cannot be true."
    return "Too few rounds for an interval."


# ---- switches

PARTS = {
    "baseline": ("Each by itself", "by itself"),
    "alone": ("Each by itself", "by itself"),
    "added": ("On top of those before it", "on top"),
    "share": ("In turns with the combination", "in turns"),
    "combination": ("In turns with the combination", "in turns"),
    "combining": ("In turns with the combination", "in turns"),
    "not offered": ("Not offered here", "not offered"),
}
"""What a file calls each part of the table, with the part's title and its words in a cell."""


def switches_sheet(study: SwitchesStudy) -> Sheet:
    """Return every switch with what it does to the time, alone and on top of others."""
    rows = list(_switch_rows(study))
    memory = any(row.cells["memory"].value is not None for row in rows)
    columns = (
        Column("title", "switch", "The switch, with its value", words=True),
        Column("part", "measured", "By itself beside the baseline; on top of those that were kept "
               "before it; or in turns with the combination", words=True, fields={"part": ""},
               media=Medium.WINDOW, gives_way=3),
        file_only("switch"),
        file_only("value"),
        Column("time", "time", TIME_TIP, "s", fields=FIGURES),
        Column("effect", "effect", "What it does to the time of what it was measured beside, with "
               "the 95 % interval", fields=RATIO),
        *([Column("memory", "peak memory", "Peak of the device's memory, where it was counted",
                  "B", gives_way=1)] if memory else []),
        file_only("kept"),
        file_only("skipped"),
        Column("remarks", "remarks", "Whether it was kept, or why not", words=True,
               gives_way=4),
    )  # fmt: skip
    return Sheet("Switches", columns, tuple(rows), tuple(_switches_notes(study)))


def _switches_notes(study: SwitchesStudy) -> list[str]:
    if not study.combination:
        verdicts = {one.effect.verdict if one.effect is not None else None for one in study.alone}
        known = bool(verdicts) and verdicts <= {"slower", "same"}
        if study.stopped_by != "done" or study.order != "greedy" or not known:
            return []  # that none pays is not known
        return ["No switch pays by itself, so there is nothing to combine."]
    found = []
    if study.total is not None:
        found.append(f"Together {study.total.words}.")
    if study.combining is not None:
        found.append(f"Combining them {combining_words(study)}.")
    return found


def _switch_rows(study: SwitchesStudy) -> list[Row]:
    rows = [_switch_row("baseline", "baseline", "", None, study.baseline, None)]
    rows += [_one_switch("alone", one, study.baseline) for one in study.alone]
    for step in study.added:
        rows.append(
            _switch_row(
                "added", step.title, step.switch, step.value, step.measured, step.effect,
                beside=step.before, kept=step.kept, reason=step.reason or None,
            )
        )  # fmt: skip
    beside = study.beside or study.baseline
    if len(study.shares) > 1:
        rows += [_one_switch("share", one, beside) for one in study.shares]
    if study.together is not None:
        names = " ".join(f"{name}={value}" for name, value in study.combination.items())
        rows.append(
            _switch_row(
                "combination", "combination", names, None, study.together, study.total,
                beside=beside,
            )
        )  # fmt: skip
        rows.append(
            _switch_row(
                "combining", "combining them", names, None, None, study.combining,
                told=combining_words(study),
            )
        )  # fmt: skip
    rows += [
        _switch_row("not offered", title, title, None, None, None, reason=reason)
        for title, reason in study.not_offered.items()
    ]
    return rows


def _one_switch(part: str, one: Switched, beside: Measured | None) -> Row:
    return _switch_row(
        part, one.title, one.switch, one.value, one.measured, one.effect, beside=beside,
        reason=one.skipped,
    )  # fmt: skip


def _switch_row(
    part: str,
    title: str,
    switch: str,
    value: SwitchValue | None,
    measured: Measured | None,
    effect: Comparison | None,
    *,
    beside: Measured | None = None,
    kept: bool | None = None,
    reason: str | None = None,
    told: str = "",
) -> Row:
    words = told
    if part not in ("baseline", "combining", "not offered") and measured is not None:
        words = effect_words(effect, beside, measured)
    suspect = measured.suspect if measured is not None else None
    remarks = {
        "kept ✓": bool(kept),
        reason: bool(reason) and not kept,
        f"cannot be true: {suspect}": suspect is not None,
    }
    memory_B = measured.memory_B if measured is not None else None
    heading, where = PARTS[part]
    cells = {
        "title": Cell(title, title),
        "part": Cell(where, part),
        "switch": Cell(value=switch),
        "value": Cell(value=value),
        "time": time_cell(measured),
        "effect": Cell(words, effect.ratio if effect is not None else None, effect),
        "memory": Cell(quantity(memory_B, "B"), memory_B),
        "kept": Cell(value=kept),
        "skipped": Cell(value=reason),
        "remarks": Cell("; ".join(str(words) for words, holds in remarks.items() if holds)),
    }
    role: Role = "best" if kept or part == "combination" else ""
    media = Medium.ALL if part != "combining" or effect is not None else Medium.FILE
    if measured is None:
        missing = "" if part == "combining" else reason or UNKNOWN
        tip = f"{title}: {missing or told}"
        role = "skipped" if missing else ""
        return Row(title, cells, tip, note=missing, role=role, part=heading, media=media)
    about = "The knobs as they stand." if part == "baseline" else _ratio_words(effect, words)
    lines = [about, f"Not kept: {reason}." if kept is False else "Kept." if kept else ""]
    tip = figures_tip(title, measured, lines)
    return Row(title, cells, tip, {measured.run: tip}, role=role, part=heading, media=media)
