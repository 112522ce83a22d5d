"""What is named after the final of a tuning.

Of those that cannot be told from the best the simplest is preferred, where that costs next to
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from gpuexplorer.charts.words import unverified_words
from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.knobs import block_words
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.tuning import Finalist
from gpuexplorer.core.units import listed, percent

SIMPLER_AT_MOST = 1.01
"""A simpler configuration is preferred when it is surely not slower than the best by more.

From one session to the next the ratio of two moves by half a percent, and more at times.
"""


class Finished(msgspec.Struct, frozen=True):
    """One that took its turns to the end, or until it was clearly slower."""

    number: int
    """As the race counts it."""
    result: RunResult
    """The document of all its turns."""


Compare = Callable[[int, int], Comparison | None]
"""Compares two by their numbers: the second's time over that of the first."""


def named_of(runs: Sequence[Finished], compare: Compare, start: RunConfig) -> dict[str, Any]:
    """Return what a tuning's document says of its final, by field.

    ``runs`` are those that were measured, the fastest first.
    """
    best = runs[0]
    compared = {run.number: compare(best.number, run.number) for run in runs[1:]}
    finalists = tuple(_finalist(run.result, compared.get(run.number), run is best) for run in runs)
    tied = [
        (finalist.config, compared.get(run.number))
        for run, finalist in zip(runs, finalists, strict=True)
        if finalist.tied
    ]
    chosen, why = prefer(tied, start)
    over = _over_start(runs, compare, start, chosen)
    return {
        "finalists": finalists,
        "best": best.result.config,
        "chosen": chosen,
        "why": why,
        "not_verified": unverified_words([run.result for run in runs]),
        "start_ratio": over.ratio if over else 1.0 if chosen.key == start.key else None,
        "start_ci95_low": over.ci95_low if over else None,
        "start_ci95_high": over.ci95_high if over else None,
    }


def _over_start(
    runs: Sequence[Finished], compare: Compare, start: RunConfig, chosen: RunConfig
) -> Comparison | None:
    """Return the time without tuning over that of ``chosen``; None where both did not run."""
    by_key = {run.result.config.key: run.number for run in runs}
    own, used = by_key.get(start.key), by_key[chosen.key]
    return compare(used, own) if own is not None and own != used else None


def _finalist(result: RunResult, found: Comparison | None, is_best: bool) -> Finalist:
    return Finalist(
        config=result.config,
        median_s=result.timing.median_s,
        samples=result.timing.samples,
        ratio=1.0 if is_best else found.ratio if found else None,
        ci95_low=found.ci95_low if found else None,
        ci95_high=found.ci95_high if found else None,
        pairs=found.pairs if found else 0,
        verdict=found.verdict if found else None,
        tied=is_best or (found is not None and found.verdict != "slower"),
        run=result.id,
    )


def prefer(
    tied: Sequence[tuple[RunConfig, Comparison | None]], start: RunConfig
) -> tuple[RunConfig, str]:
    """Return the one to use of those that cannot be told from the best, and why.

    ``tied`` begins with the best. Simpler is what changes fewer knobs of ``start``, the
    configuration one gets without tuning; it is preferred when its interval says that it is not
    slower than the best by more than ``SIMPLER_AT_MOST``.
    """
    best = tied[0][0]

    def changes(config: RunConfig) -> int:
        return len(changed(config, start))

    simpler = [(c, found) for c, found in tied if found is not None and changes(c) < changes(best)]
    close = [(c, found) for c, found in simpler if found.ci95_high <= SIMPLER_AT_MOST]
    if not close:
        slower = percent(SIMPLER_AT_MOST - 1)
        if simpler:
            return best, f"it is the fastest, and a simpler one may be over {slower} slower"
        if len(tied) > 1:
            return best, "it is the fastest, and none of its equals is simpler"
        return best, "it is the fastest"
    config, found = min(close, key=lambda entry: (changes(entry[0]), entry[1].ratio))
    kept = kept_words(config, best, start)
    most = math.ceil(max(0.0, found.ci95_high - 1) * 1000) / 10
    return config, (
        f"it is at most {most:g} % slower than the fastest, if at all, and simpler: {kept}"
    )


def changed(config: RunConfig, start: RunConfig) -> list[str]:
    """Return the knobs that differ from ``start``: ``block``, and tunables by name."""
    names = ["block"] if config.block != start.block else []
    tunables = config.tunables
    return names + [n for n in tunables if tunables[n] != start.tunables.get(n)]


def kept_words(config: RunConfig, best: RunConfig, start: RunConfig) -> str:
    """Return what ``config`` leaves as it was and ``best`` changes."""
    if not changed(config, start):
        return "it is what one gets without tuning"
    kept = [name for name in changed(best, start) if name not in changed(config, start)]
    words = [
        f"block {block_words(start.block or (1, 1, 1))}"
        if name == "block"
        else f"{name} = {start.tunables[name]}"
        for name in kept
    ]
    return f"it keeps {listed(words)}"
