"""Stored runs held against each other as they are, each measured on an occasion of its own.

That is weaker evidence than a comparison in turns, and everything that shows it says so. It needs
no device, so window, terminal, API and reports have it from here.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from gpuexplorer.charts.words import dated
from gpuexplorer.core.compared import ComparisonResult, runs_apart
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.verdict import TOLERANCE
from gpuexplorer.search.compare import ContestantConfig, contestant_of
from gpuexplorer.search.contestants import labels


def compare_runs(
    runs: Sequence[RunResult],
    *,
    fresh: Collection[str] = (),
    reference: int = 0,
    tolerance: float = TOLERANCE,
    fail_if_slower: float | None = None,
) -> ComparisonResult:
    """Compare stored runs as they are, named by what tells them apart and when they were measured.

    ``fresh`` are the ids of those that were measured just now. InputError for fewer than two.
    """
    if len(runs) < 2:
        raise InputError("a comparison takes two runs", remedy="name another one")
    contestants = [
        ContestantConfig(label, run.config, None, None if run.id in fresh else run)
        for label, run in zip(labels_of_runs(runs), runs, strict=True)
    ]
    return compare_stored(
        contestants, runs, reference=reference, tolerance=tolerance, fail_if_slower=fail_if_slower
    )


def labels_of_runs(runs: Sequence[RunResult]) -> list[str]:
    """Return a few words for each run: what tells its configuration from the others', and when."""
    configs = [run.config for run in runs]
    alike = len({config.key for config in configs}) == 1
    names = [configs[0].variant] * len(runs) if alike else labels(configs)
    return dated(names, runs)


def compare_stored(
    contestants: Sequence[ContestantConfig],
    runs: Sequence[RunResult],
    *,
    reference: int = 0,
    tolerance: float = TOLERANCE,
    fail_if_slower: float | None = None,
) -> ComparisonResult:
    """Compare runs as they are, under the contestants' labels."""
    base = runs[reference]
    made = []
    for index, (contestant, run) in enumerate(zip(contestants, runs, strict=True)):
        found = runs_apart(base, run, tolerance=tolerance) if index != reference else None
        made.append(contestant_of(contestant, run, base, found, fail_if_slower, []))
    return ComparisonResult(
        id=uuid.uuid4().hex,
        time_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
        reference=reference,
        interleaved=False,
        rounds=0,
        stopped_by="stored",
        tolerance=tolerance,
        fail_if_slower=fail_if_slower,
        contestants=made,
    )
