"""How long the turns of a final take: who has time for them, and with how many launches each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuexplorer.core.comparison import FEWEST_LOOKED_AT
from gpuexplorer.search.runner import launches_in

TURN_SAMPLES = 3
TURN_S = 0.02
"""A turn of a short kernel lasts about so long, with more samples than the fewest."""
FEWEST_FINALISTS = 2
FINAL_SHARE, MOST_FINAL_S = 0.25, 15.0
"""Share of a budget in seconds that is kept for the final, and the most of it."""
LEAST_FINAL_SHARE = 0.5
"""Share that the smallest final may take, which may be more than that."""


def turn_samples(fewest: int, launch_s: float | None) -> int:
    """Return how many launches make a turn."""
    return launches_in(TURN_S, fewest, launch_s)


def final_s(budget_s: float, launch_s: float | None, beside_s: float) -> float:
    """Return how much of a budget is kept for the final, the best of which takes ``launch_s``.

    That is as much as the smallest final takes at the least, as far as half of the budget lasts for
    it: two finalists, and one launch in each of eight turns, with ``beside_s`` beside it.
    """
    turn_s = beside_s + turn_samples(1, launch_s) * (launch_s or 0.0)
    least_s = FEWEST_FINALISTS * FEWEST_LOOKED_AT * turn_s
    usual_s = min(FINAL_SHARE * budget_s, MOST_FINAL_S)
    return max(usual_s, min(least_s, LEAST_FINAL_SHARE * budget_s))


def fitting(
    ranked: Sequence[int],
    favourites: Sequence[int],
    typical_s: Mapping[int, float],
    beside_s: float,
    within_s: float,
) -> tuple[list[int], int]:
    """Return those whose turns fit into a time, and the fewest launches of each of their turns.

    These are less than ``TURN_SAMPLES`` only where not even the first ``FEWEST_FINALISTS`` fit,
    who take part in any case. ``typical_s`` is what a launch of each takes.
    """
    best_s = typical_s[ranked[0]] if ranked else None
    sure = list(ranked[:FEWEST_FINALISTS])
    for fewest in range(TURN_SAMPLES, 0, -1):
        samples = turn_samples(fewest, best_s)
        takes_s = {
            number: FEWEST_LOOKED_AT * (beside_s + samples * typical_s[number])
            for number in [*ranked, *favourites]
        }
        left_s = within_s - sum(takes_s[number] for number in sure)
        if left_s >= 0 or fewest == 1:
            break
    members = set(sure)
    for number in [*favourites, *ranked]:
        if number not in members and takes_s[number] <= left_s:
            members.add(number)
            left_s -= takes_s[number]
    return [number for number in takes_s if number in members], fewest
