"""A comparison as a document: the runs that were measured in turns, each against one of them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from gpuexplorer.core.chunked import compact
from gpuexplorer.core.comparison import Comparison, apart
from gpuexplorer.core.fields import Count, Ratio, Seconds, Tolerance
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sharing import shared
from gpuexplorer.core.units import speed_than
from gpuexplorer.core.verdict import TOLERANCE, Verdict

COMPARISON_SCHEMA = "gpuexplorer/comparison/1"

ComparisonEnd = Literal["verdict", "rounds", "time", "user", "stored"]
"""Clear for all; as many rounds, or as long, as asked for; stopped; nothing taken in turns."""


def runs_apart(
    reference: RunResult, run: RunResult, *, tolerance: float = TOLERANCE
) -> Comparison | None:
    """Compare the medians of two runs that took no turns; None where one has no interval."""
    theirs, ours = _median(reference), _median(run)
    return None if theirs is None or ours is None else apart(theirs, ours, tolerance=tolerance)


def _median(run: RunResult) -> tuple[float, float, float] | None:
    timing = run.timing
    if timing.ci95_low_s is None or timing.ci95_high_s is None or timing.ci95_low_s <= 0:
        return None
    return timing.median_s, timing.ci95_low_s, timing.ci95_high_s


class Contestant(msgspec.Struct, frozen=True, kw_only=True):
    """One of the runs, and how it stands beside the reference."""

    label: str
    """What tells it from the others, in a few words."""
    run: RunResult
    """All its samples; ``stopped_by`` is ``turns`` when they were taken in turns."""
    turns_s: list[Seconds | None] = []
    """The median of each of its turns, in order; None for a round it rested because its verdict was
    clear. Empty when none were taken."""
    ratio: Ratio | None = None
    """Its time over the reference's; below 1 it is faster. None for the reference itself, and while
    there are too few rounds."""
    ci95_low: Ratio | None = None
    ci95_high: Ratio | None = None
    verdict: Verdict | None = None
    """None for the reference."""
    too_slow: bool | None = None
    """Whether it is slower by more than ``fail_if_slower``, with confidence; None when that cannot
    be told, or was not asked."""
    stored_id: str | None = None
    """The stored run that it repeats, or is."""
    stored_median_s: Seconds | None = None
    """That run's median when it was stored."""
    warnings: tuple[str, ...] = ()
    """What a reader should know of it beside the reference, a sentence each."""

    def than(self, other: str) -> str:
        """Return how fast it is beside the reference, which ``other`` names, with the interval."""
        return speed_than(self.ratio, other, self.ci95_low, self.ci95_high, self.verdict)


class ComparisonResult(msgspec.Struct, frozen=True, kw_only=True):
    """One finished comparison; ``compare --json`` writes exactly this."""

    schema: str = COMPARISON_SCHEMA
    id: str
    time_utc: str
    reference: Count
    """Position of the run that the others are held against."""
    interleaved: bool
    """Whether they took turns in one session; otherwise nothing tells the machine's state on one
    occasion from that on the other."""
    rounds: Count
    fixed_rounds: bool = False
    """Whether the number of rounds was fixed beforehand. Otherwise a look was taken after every
    round, and the intervals of all looks together hold the true ratio with 95 %."""
    stopped_by: ComparisonEnd
    tolerance: Tolerance
    """Ratios within this of 1 count as the same."""
    fail_if_slower: float | None = None
    contestants: list[Contestant]

    @property
    def rested(self) -> bool:
        """Whether any took fewer turns than another, because its verdict was clear."""
        return any(None in one.turns_s for one in self.contestants)

    @property
    def others(self) -> list[Contestant]:
        """All contestants but the reference, in order."""
        return [c for i, c in enumerate(self.contestants) if i != self.reference]


def without_runs(result: ComparisonResult) -> dict[str, Any]:
    """Return the document in plain values with its runs' ids in their places.

    A group of the history keeps it so, beside the runs themselves.
    """
    plain: dict[str, Any] = {
        name: msgspec.to_builtins(getattr(result, name))
        for name in result.__struct_fields__
        if name != "contestants"
    }
    plain["contestants"] = [
        {
            name: one.run.id if name == "run" else msgspec.to_builtins(getattr(one, name))
            for name in one.__struct_fields__
        }
        for one in result.contestants
    ]
    return plain


def document_and_runs(result: ComparisonResult) -> tuple[dict[str, Any], list[RunResult]]:
    """Return the document without its runs, and these: how a group of the history keeps both."""
    return without_runs(result), [one.run for one in result.contestants]


def comparison_json(result: ComparisonResult) -> bytes:
    """Return the document: a line for each key, and one for each of the runs."""
    fields = {name: getattr(result, name) for name in result.__struct_fields__}
    contestants = fields.pop("contestants")
    lines = [f"  {compact(name)}: {compact(value)}" for name, value in fields.items()]
    runs = ",\n".join(f"    {compact(one)}" for one in contestants)
    whole = ",\n".join([*lines, f'  "contestants": [\n{runs}\n  ]'])
    data = f"{{\n{whole}\n}}\n"
    return shared(data.encode(), [one.run.environment for one in contestants])
