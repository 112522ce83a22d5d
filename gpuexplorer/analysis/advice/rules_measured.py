"""What other configurations measured in this session: the best evidence there is."""

from __future__ import annotations

from gpuexplorer.analysis.advice.advice import LEAST_SAVING, Advice
from gpuexplorer.analysis.advice.situation import Measured, Situation
from gpuexplorer.core.change import Change
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.units import quantity, speed

CLEARLY = 0.1
"""Runs some time apart differ by this much on a busy machine, whatever their intervals say."""
YARDSTICK = 0.5
"""A library is a yardstick more than a change of this kernel: it counts half."""


def faster_before(situation: Situation) -> Advice | None:
    """Say that another block or variant was faster in this session."""
    best: tuple[float, Measured, Change] | None = None
    for other in situation.others:
        if other.median_s <= 0 or not _same_question(situation.config, other.config):
            continue
        change = _difference(situation, other)
        saves = 1 - other.median_s / situation.median_s if situation.median_s > 0 else 0.0
        noise = (situation.relative_error or 0.0) + (other.relative_error or 0.0)
        if change is None or saves < max(CLEARLY, 2 * noise):
            continue
        saves *= YARDSTICK if other.library else 1.0
        if best is not None and saves <= best[0]:
            continue
        if situation.look(change) is not None:
            best = saves, other, change
    if best is None:
        return None
    saves, other, change = best
    words = speed(other.median_s / situation.median_s)
    return Advice(
        rule="faster-before",
        kind="speed",
        title=f"With {change.words} it was {words}",
        evidence=f"measured in this session: {quantity(other.median_s, 's')} against "
        f"{quantity(situation.median_s, 's')}",
        saves=saves,
        section="Faster a moment ago",
        change=change,
    )


def _same_question(one: RunConfig, other: RunConfig) -> bool:
    """Whether two runs compute the same from the same, under the same conditions."""
    return (
        one.workload == other.workload
        and one.size == other.size
        and one.precision == other.precision
        and one.fill == other.fill
        and one.cache == other.cache
        and one.threads == other.threads
        and one.switches == other.switches
    )


def _difference(situation: Situation, other: Measured) -> Change | None:
    """Return the change that leads to another run; None when there is none by knobs."""
    mine, theirs = situation.config, other.config
    variant = theirs.variant if theirs.variant != mine.variant else None
    if variant is not None and all(s.name != variant for s in situation.siblings):
        return None  # it computes something else
    block = theirs.block if theirs.block != mine.block else None
    own = {n: v for n, v in theirs.tunables.items() if mine.tunables.get(n) != v}
    if variant is None:
        own = {name: value for name, value in own.items() if name in situation.tunables}
    if variant is None and block is None and not own:
        return None
    return Change(variant=variant, block=block, tunables=own)


def was_slower(situation: Situation, change: Change) -> bool:
    """Whether a change was tried in this session, and did not help."""
    for other in situation.others:
        if not _same_question(situation.config, other.config):
            continue
        tried = _difference(situation, other)
        if tried is None or other.median_s < situation.median_s * (1 - LEAST_SAVING):
            continue
        if (tried.variant, tried.block) != (change.variant, change.block):
            continue
        if tried.variant is not None or tried.tunables == change.tunables:
            return True
    return False
