"""What came of a tuning: every configuration that was tried, the finalists, and the one named.

``gpuexplorer tune --json`` writes exactly this (SI units; a value not measured is null).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec

from gpuexplorer.core.chunked import compact
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.fields import Count, Positive, Ratio, Seconds, Symbol, Time, Tunable
from gpuexplorer.core.result import DeviceSummary
from gpuexplorer.core.verdict import Verdict

TUNING_SCHEMA = "gpuexplorer/tuning/1"

Outcome = Literal["measured", "pruned", "failed"]
StoppedBy = Literal["time", "evaluations", "space", "user", "error"]


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """One look of the search at a configuration. ``time_s`` counts from the start to its end."""

    number: Count
    config: RunConfig
    outcome: Outcome
    """``pruned``: given up after a few samples as a clear loser."""
    median_s: Time | None = None
    min_s: Time | None = None
    samples: Count = 0
    reason: str | None = None
    """Why it failed or was given up."""
    time_s: Seconds
    again: bool = False
    """Whether the configuration was looked at before: the race goes on, or that look is doubted."""


class Finalist(msgspec.Struct, frozen=True, kw_only=True):
    """A leader, measured again in turns with the others."""

    config: RunConfig
    median_s: Time
    """Over all samples of its turns."""
    samples: Count
    ratio: Ratio | None
    """Its time over that of the best, from turns that stood side by side; 1 for the best."""
    ci95_low: Ratio | None
    ci95_high: Ratio | None
    pairs: Count
    verdict: Verdict | None
    """What it is beside the best; None for the best itself, and where turns were too few."""
    tied: bool
    """Whether it cannot be told from the best, or is the best."""
    run: str | None = None
    """The id of its run."""


class SpaceSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What there was to choose among."""

    axes: dict[str, tuple[Tunable, ...]]
    configurations: Count
    refused: Count
    """Combinations that cannot be launched; they were never proposed."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """How long or how many; None sets no limit."""

    seconds: Seconds | None = None
    evaluations: Count | None = None


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """One finished tuning. ``best`` and ``chosen`` are None when it ended before the final."""

    schema: str = TUNING_SCHEMA
    id: str
    time_utc: str
    workload: str
    variant: str
    size: dict[Symbol, Positive]
    precision: str
    source_sha256: str
    device: DeviceSummary | None
    """Of a cluster the kind of hardware, which each of its ``cards`` is."""
    cards: tuple[str, ...] = ()
    """The hardware that took part, where several devices were searched on at a time."""
    threads: int | None
    sampler: str
    racing: bool
    seed: int
    samples: int
    """Samples of a contender."""
    budget: Budget
    space: SpaceSummary
    evaluations: tuple[Evaluation, ...]
    finalists: tuple[Finalist, ...] = ()
    """The fastest first."""
    untested: Count = 0
    """How many more were as near to the best in the search and not measured again."""
    best: RunConfig | None = None
    chosen: RunConfig | None = None
    """The simplest of those that cannot be told from the best."""
    why: str | None = None
    start: RunConfig
    """What one gets without tuning."""
    start_refused: Annotated[str, msgspec.Meta(max_length=1_000)] | None = None
    """Why ``start`` cannot be launched on this device; None where it can, and in older documents.
    """
    start_ratio: Ratio | None = None
    """The time of ``start`` over that of ``chosen``, with its 95 % interval."""
    start_ci95_low: Ratio | None = None
    start_ci95_high: Ratio | None = None
    not_verified: Annotated[str, msgspec.Meta(max_length=1_000)] | None = None
    """What nobody knows to be right of the finalists' results, in a sentence; None where all were
    verified, and in older documents."""
    stopped_by: StoppedBy
    search_s: Seconds
    final_s: Seconds
    best_again: Count = 0
    """How often the best so far was measured again during the search."""
    disturbed: Count = 0
    """How often it was then slower, so that others were judged again."""

    @property
    def tied(self) -> tuple[Finalist, ...]:
        """The best and all that cannot be told from it."""
        return tuple(f for f in self.finalists if f.tied)

    @property
    def tried(self) -> int:
        """How many configurations were looked at."""
        return len({e.config.key for e in self.evaluations})

    def count(self, outcome: Outcome) -> int:
        """Return how many configurations ended so; one judged again counts with its best word."""
        found: dict[str, Outcome] = {}
        for evaluation in self.evaluations:
            key = evaluation.config.key
            if evaluation.outcome == "failed" or found.get(key) != "measured":
                found[key] = evaluation.outcome
        return sum(1 for word in found.values() if word == outcome)


def leading(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """Return the latest look at each configuration that may be the best, the fastest first.

    One that was given up or could not be measured since is none of them.
    """
    latest = {e.config.key: e for e in evaluations}
    measured = (e for e in latest.values() if e.outcome == "measured")
    return sorted(measured, key=lambda e: e.median_s or 0.0)


def tuning_json(tuning: Tuning) -> bytes:
    """Return the document: a line for each key, and one for each configuration that was tried."""
    fields = msgspec.to_builtins(tuning)
    lines = []
    for key, value in fields.items():
        if isinstance(value, list) and value and key in ("evaluations", "finalists"):
            entries = ",\n".join(f"    {compact(entry)}" for entry in value)
            lines.append(f"  {compact(key)}: [\n{entries}\n  ]")
        else:
            lines.append(f"  {compact(key)}: {compact(value)}")
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()
