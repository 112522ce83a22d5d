"""What each worker of a cluster has done, and what it samples now, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpuexplorer.charts.words import knob_words
from gpuexplorer.cluster.agenda import Lane, Now
from gpuexplorer.core.units import count, plural, quantity, samples_words

SHOWN = 12
"""Workers that are told one by one; of more the first ones, the slow before the others."""
SHOWN_NOW = 3
"""Workers that are told in a line."""


def standing_words(lanes: Sequence[Lane]) -> list[str]:
    """Return what each worker has done, the slow ones first."""
    lines = []
    for worker, lane in _named(lanes):
        if lane.slow:
            lines.append(f"{worker}: slow, measures nothing until it is not")
            continue
        done = f"{worker}: {count(lane.measured)} measured"
        lines.append(done if lane.now is None else f"{done}; now {_now_words(lane.now)}")
    if (more := len(lines) - SHOWN) > 0:
        rest = plural(more, "and {number} more worker", "and {number} more workers")
        lines = [*lines[:SHOWN], rest]
    return lines


def working_words(lanes: Sequence[Lane]) -> str:
    """Return in a line what some workers have done and sample now, the slow ones first."""
    return "; ".join(standing_words(lanes)[:SHOWN_NOW])


def live_words(lanes: Sequence[Lane]) -> str:
    """Return in a line what some workers sample now; empty where none has told."""
    told = [f"{name}: {_now_words(lane.now)}" for name, lane in _named(lanes) if lane.now]
    return "; ".join(told[:SHOWN_NOW])


def _named(lanes: Sequence[Lane]) -> list[tuple[str, Lane]]:
    """Return the workers, the slow ones first, each with a name that tells it from the others."""
    beside = Counter(lane.host for lane in lanes)
    found, numbers = [], Counter[str]()
    for lane in sorted(lanes, key=lambda lane: not lane.slow):
        numbers[lane.host] += 1
        name = f"{lane.host} ({numbers[lane.host]})" if beside[lane.host] > 1 else lane.host
        found.append((name, lane))
    return found


def _now_words(now: Now) -> str:
    samples = samples_words(now.samples)
    return f"{knob_words(now.config)}, {samples}, {quantity(now.latest_s, 's')}"
