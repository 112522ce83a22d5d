"""The columns of the history table: what each says of a run, and what it sorts by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from gpuexplorer.core.comparison import Comparison, apart
from gpuexplorer.core.units import (
    count,
    percent,
    plural,
    quantity,
    samples_words,
    speed,
    speed_than,
)
from gpuexplorer.history.model import INTERRUPTED, Row
from gpuexplorer.history.searching import IN_MONTHS

Baselines = Mapping[tuple[str, str, str], Row]
"""The latest starred run of each workload, size and precision."""

STAR, NO_STAR = "★", "☆"
UNREADABLE = "✗ unreadable"


def baseline_key(row: Row) -> tuple[str, str, str]:
    """Return what two runs have in common when one can be the other's baseline."""
    return row.workload, row.size_words, row.precision


class AgainstBaseline(msgspec.Struct, frozen=True):
    """A run's median over its baseline's."""

    baseline: Row
    ratio: float
    found: Comparison | None
    """With its interval, by those of both medians; None where one has none."""
    differs: bool
    """Whether the two ran under other circumstances: sources, compiler, driver, libraries."""

    @property
    def words(self) -> str:
        """The ratio as the table shows it, with a mark where the circumstances differ."""
        words = self.found.words if self.found is not None else speed(self.ratio)
        return f"{words} ⚠" if self.differs else words

    @property
    def sentence(self) -> str:
        """The ratio in a sentence."""
        when, median = local_time(self.baseline), quantity(self.baseline.median_s, "s")
        if self.found is None:
            words = speed_than(self.ratio, "its baseline")
        elif self.found.verdict == "can't tell":
            return (
                f"This run cannot be told from its baseline ({self.found.interval}), the starred "
                f"run of {when} with {median}."
            )
        else:
            words = self.found.than("its baseline")
        return f"This run is {words}, the starred run of {when} with {median}."


def against_baseline(row: Row, baselines: Baselines) -> AgainstBaseline | None:
    """Return how a run compares with its baseline; None without one, or where it is its own."""
    baseline = baselines.get(baseline_key(row))
    if baseline is None or baseline.id == row.id or row.suspect is not None or row.folded:
        return None
    if not row.median_s or not baseline.median_s:
        return None
    ours, theirs = _interval(row, row.median_s), _interval(baseline, baseline.median_s)
    return AgainstBaseline(
        baseline,
        row.median_s / baseline.median_s,
        apart(theirs, ours) if ours is not None and theirs is not None else None,
        row.fingerprint != baseline.fingerprint,
    )


def _interval(row: Row, median_s: float) -> tuple[float, float, float] | None:
    """Return a run's median with its 95 % interval, as far as a list holds it: half its width."""
    error = row.relative_error
    if error is None or not 0 <= error < 1:
        return None
    return median_s, median_s * (1 - error), median_s * (1 + error)


def local_time(row: Row, *, short: bool = False) -> str:
    """Return when a run began, local time; ``short``: without what is of now."""
    try:
        began, now = datetime.fromisoformat(row.time_utc).astimezone(), datetime.now()
    except (ValueError, OverflowError, OSError):  # whatever the store holds is shown
        return row.time_utc
    text = began.isoformat()
    day, clock = text[:10], text[11:19]
    if short and began.date() == now.date():
        return clock
    if short and began.year == now.year:
        return IN_MONTHS[began.month - 1](began.day, clock[:5])
    return day if short else f"{day} {clock[:5]}"


def outcome(row: Row) -> str:
    """Return what became of a run."""
    if row.damaged is not None:
        return UNREADABLE
    if row.verified is False:
        return "✗ wrong"
    if row.suspect is not None:
        return "⚠ suspect"
    if row.running:
        return "● running"
    if row.stopped_by == INTERRUPTED:
        return "ended by a crash"
    return "✓ verified" if row.verified else "not verified"


def kind_words(row: Row) -> str:
    """Return what a group is, and how many runs it has; empty for a run."""
    if row.folded is None:
        return ""
    one, several = "{kind}, {number} run", "{kind}, {number} runs"
    return plural(row.folded.runs, one, several, kind=row.folded.kind)


def _baseline_words(row: Row, baselines: Baselines) -> str:
    found = against_baseline(row, baselines)
    if found is not None:
        return found.words
    baseline = baselines.get(baseline_key(row))
    return "baseline" if baseline is not None and baseline.id == row.id else ""


class Column(msgspec.Struct, frozen=True):
    """One column; ``sort`` is the store's name for its order, None where it has none."""

    key: str
    title: str
    explanation: str
    words: Callable[[Row, Baselines], str]
    width: int
    sort: str | None = None
    number: bool = False
    shown: bool = True
    """Whether it is shown by default."""
    descending: bool = False
    """Whether a first click on its title brings the greatest up."""
    at: int | None = None
    """Where it stands at first; None: in the order of ``COLUMNS``, whose places layouts know."""


def _plain(field: str) -> Callable[[Row, Any], str]:
    return lambda row, _: str(getattr(row, field))


COLUMNS: tuple[Column, ...] = (
    Column(
        "star",
        STAR,
        "Starred runs; the latest one of a workload, size and precision is their baseline (S)",
        lambda row, _: STAR if row.starred else NO_STAR,
        26,
        "starred",
        descending=True,
    ),
    Column(
        "time",
        "time",
        "When the run began, local time",
        lambda row, _: local_time(row, short=True),
        106,
        "time",
        descending=True,
    ),
    Column("workload", "workload", "Workload", _plain("workload"), 80, "workload"),
    Column("variant", "variant", "Variant", _plain("variant"), 86, "variant"),
    Column("size", "size", "Problem size", _plain("size_words"), 78, "size"),
    Column(
        "block",
        "block",
        "Threads per block, x × y; for what chooses its own, the switches that are not as usual, "
        "or who chose",
        lambda row, _: row.launch_words,
        68,
        "block",
    ),
    Column("precision", "precision", "Number format", _plain("precision"), 74, "precision"),
    Column("device", "device", "Device the run used, by its id", _plain("device"), 68, "device"),
    Column(
        "median",
        "median",
        "Median time of one launch, in seconds",
        lambda row, _: quantity(row.median_s, "s"),
        76,
        "median",
        number=True,
    ),
    Column(
        "error",
        "± 95 %",
        "Half the 95 % confidence interval over the median",
        lambda row, _: percent(row.relative_error),
        62,
        "error",
        number=True,
    ),
    Column(
        "baseline",
        "vs baseline",
        "This run beside its baseline: the latest starred run of the same workload, size "
        "and\nprecision, with the 95 % interval. They took no turns. ⚠: the two differ in "
        "sources, compiler, driver or libraries",
        _baseline_words,
        176,
        number=True,
    ),
    Column(
        "throughput",
        "throughput",
        "Useful operations over the median, FLOP/s",
        lambda row, _: quantity(row.flop_per_s, "FLOP/s"),
        92,
        "flops",
        number=True,
        descending=True,
    ),
    Column(
        "bandwidth",
        "bandwidth",
        "Bytes needed over the median, B/s: each operand once (compulsory)",
        lambda row, _: quantity(row.bandwidth_B_per_s, "B/s"),
        84,
        "bandwidth",
        number=True,
        descending=True,
    ),
    Column(
        "samples",
        "samples",
        "Samples kept of the run",
        lambda row, _: count(row.samples),
        70,
        number=True,
        shown=False,
    ),
    Column(
        "result",
        "result",
        "Whether the result agreed with float64, and whether the figure can be true",
        lambda row, _: outcome(row),
        124,
    ),
    Column("tags", "tags", "Tags (F2 changes them)", lambda row, _: ", ".join(row.tags), 84),
    Column(
        "note",
        "note",
        "Note (F2 changes it)",
        lambda row, _: " ".join(row.note.split()),
        90,
        "note",
    ),
    Column(
        "device_name",
        "device's name",
        "The device's name",
        _plain("device_name"),
        170,
        shown=False,
    ),
    Column(
        "group",
        "group",
        "The sweep, tuning or comparison that the run belongs to",
        lambda row, _: row.group or "",
        90,
        shown=False,
    ),
    Column("id", "id", "The run's id, as the command line takes it", _plain("id"), 90, shown=False),
    Column(
        "switches",
        "switches",
        "What of the structure is switched otherwise than usual, and whether transfers count",
        _plain("switch_words"),
        120,
        shown=False,
    ),
    Column(
        "kind",
        "kind",
        "Of a group its kind and how many runs it has; → or a click on ▸ shows them",
        lambda row, _: kind_words(row),
        128,
        at=2,
    ),
    Column(
        "machine",
        "machine",
        "The machine that measured it; machine:NAME finds its runs",
        _plain("machine"),
        90,
        shown=False,
    ),
    Column(
        "person",
        "person",
        "Who measured it, by the user's name there; person:NAME finds their runs",
        _plain("person"),
        80,
        shown=False,
    ),
)


def place_of(key: str) -> int:
    """Return the place of a column."""
    return next(place for place, column in enumerate(COLUMNS) if column.key == key)


# ---- the tip of a row


def tip(row: Row, column: str, baselines: Baselines, *, stored: bool) -> str:
    """Return what there is to know of a run beside the table's words."""
    if row.folded is not None:
        return _group_tip(row)
    if column == "star":
        return "Starred; S takes the star away" if row.starred else "S, or a click, stars this run"
    lines = [f"{local_time(row)} · {row.device_name} · {samples_words(row.samples)}"]
    if row.damaged is not None:
        lines.append(f"The history is damaged here: {row.damaged}. Del takes the run out of it.")
    if row.suspect is not None:
        lines.append(f"Suspect: {row.suspect}.")
    if row.stopped_by == INTERRUPTED:
        lines.append("Its program ended before the run did; these are the samples it had stored.")
    elif row.running:
        lines.append("Still running.")
    if not stored:
        lines.append("Not in the history yet; it is kept in memory until it can be written.")
    if column == "baseline":
        found = against_baseline(row, baselines)
        if found is not None:
            lines.append(found.sentence)
    if row.switch_words:
        lines.append(f"Switches: {row.switch_words}")
    if row.tags and column != "tags":
        lines.append(f"Tags: {', '.join(row.tags)}")
    if row.note:
        lines.append(f"Note: {row.note}")
    lines.append("Double click sets the knobs to this run.")
    return "\n".join(lines)


def _group_tip(row: Row) -> str:
    """Return what there is to know of a group's row."""
    assert row.folded is not None
    lines = [f"{kind_words(row)} · {row.device_name}"]
    if not row.folded.finished:
        lines.append("It has not come to its end.")
    lines.append("Double click or Enter opens it in its view; → shows its runs, ← hides them.")
    return "\n".join(lines)
