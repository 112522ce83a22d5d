"""Who goes to the final of a tuning, and what is named after it.

Of those that cannot be told from the best the simplest is preferred, where that costs next to
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.knobs import block_words
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.tuning import Evaluation, Finalist
from gpuexplorer.search.tune_final import FinalRun

LEADERS = 16
LEAST_LEADERS = 6
WITHIN = 1.15
"""Who took at most this many times the bar in the search goes to the final, and some more."""
BAR = 3
"""The bar is what the so-manieth fastest typically takes: one or two may have had luck."""
START_WITHIN = 10.0
"""The configuration one gets without tuning goes there too, unless it is this much slower."""
SIMPLER_AT_MOST = 1.02
"""A simpler configuration is preferred when it is surely not slower than the best by more."""


def finalists_of(
    evaluations: Sequence[Evaluation], start: RunConfig
) -> tuple[list[RunConfig], int]:
    """Return who goes to the final, the fastest first, and how many as near do not.

    A configuration counts with what it typically took. At least one must have been measured.
    """
    looks = looks_of(evaluations)
    typical_s = {key: median(found) for key, found in looks.items()}
    measured = {e.config.key: e.config for e in evaluations if e.outcome == "measured"}
    ranked = sorted(measured, key=typical_s.__getitem__)
    limit_s = WITHIN * bar_s(looks)
    near = sum(typical_s[key] <= limit_s for key in ranked)
    configs = [measured[key] for key in ranked[: min(max(near, LEAST_LEADERS), LEADERS)]]
    own = looks.get(start.key)
    if own is not None and start.key not in {c.key for c in configs}:
        if min(own) <= START_WITHIN * typical_s[ranked[0]]:
            configs.append(start)
    return configs, max(0, near - LEADERS)


def looks_of(evaluations: Sequence[Evaluation]) -> dict[str, list[float]]:
    """Return the medians in seconds of all looks at each configuration, by its key."""
    looks: dict[str, list[float]] = {}
    for evaluation in evaluations:
        if evaluation.outcome != "failed" and evaluation.median_s is not None:
            looks.setdefault(evaluation.config.key, []).append(evaluation.median_s)
    return looks


def bar_s(looks: Mapping[str, Sequence[float]]) -> float:
    """Return the time against which others are held: a typical one of a leader, in seconds.

    Infinite while nothing was looked at; with fewer than ``BAR`` the slowest of them.
    """
    typical_s = sorted(median(found) for found in looks.values())
    return typical_s[min(BAR, len(typical_s)) - 1] if typical_s else math.inf


def named_of(runs: Sequence[tuple[FinalRun, RunResult]], start: RunConfig) -> dict[str, Any]:
    """Return what a tuning's document says of its final, by field.

    ``runs`` are those that were measured, the fastest first, with the document of each.
    """
    best = runs[0][0]
    compared = {r.config.key: r.against(best) for r, _ in runs if r is not best}
    finalists = tuple(
        _finalist(result, compared.get(r.config.key), r is best) for r, result in runs
    )
    tied = [(f.config, compared.get(f.config.key)) for f in finalists if f.tied]
    chosen, why = prefer(tied, start)
    over = _over_start([r for r, _ in runs], start, chosen)
    return {
        "finalists": finalists,
        "best": best.config,
        "chosen": chosen,
        "why": why,
        "start_ratio": over.ratio if over else 1.0 if chosen.key == start.key else None,
        "start_ci95_low": over.ci95_low if over else None,
        "start_ci95_high": over.ci95_high if over else None,
    }


def _over_start(runs: Sequence[FinalRun], start: RunConfig, chosen: RunConfig) -> Comparison | None:
    """Return the time without tuning over that of ``chosen``; None where both did not run."""
    by_key = {r.config.key: r for r in runs}
    own, used = by_key.get(start.key), by_key[chosen.key]
    return own.against(used) if own is not None and own is not used else None


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
        words = "it is the fastest"
        if simpler:
            words += f", and a simpler one may be over {SIMPLER_AT_MOST - 1:.0%} slower"
        elif len(tied) > 1:
            words += ", and none of its equals is simpler"
        return best, words.replace("%", " %")
    config, found = min(close, key=lambda entry: (changes(entry[0]), entry[1].ratio))
    kept = kept_words(config, best, start)
    slower = math.ceil(max(0.0, found.ci95_high - 1) * 1000) / 10
    return config, (
        f"it is at most {slower:g} % slower than the fastest, if at all, and simpler: {kept}"
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
    return f"it keeps {' and '.join(words)}"
