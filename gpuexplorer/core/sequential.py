"""The sign test, looked at after every pair: how many may disagree for a look to exclude "equal".

Looking again after each pair and stopping at the first good one would call two equal things
different far too often. Here the risk of doing so is given out in small parts (alpha spending, Lan
& DeMets 1983): after ``n`` pairs at most ``ERROR * n / (n + HALF_SPENT)`` of it may be used up. It
never exceeds ``ERROR`` however long one goes on, so that nobody needs to know beforehand when to
stop, and more pairs may be asked for after the end.

What a look may use follows exactly from the random walk of signs: of two equal things each is the
slower one of a pair with a chance of one half, whatever the noise, as long as a coin decides which
of them is measured first.
"""

from __future__ import annotations

from functools import cache

import numpy as np

ERROR = 0.04
"""Below the 5 % that a 95 % interval may be wrong, so that a count of cases stays below it, too."""
HALF_SPENT = 24
"""After so many pairs half of the risk may have been used up."""
FEWEST_LOOKED_AT = 8
"""Below so many pairs no look excludes anything, even if they all agree."""
_STEP = 256


def disagreeing(pairs: int) -> int | None:
    """Return how many of ``pairs`` may be on the other side for "equal" to be excluded.

    So many or fewer, and equal is excluded at this look; over all looks together that happens to
    equal things with a chance of ``ERROR`` at most. None when no look at so few pairs excludes it.
    """
    if pairs < 1:
        return None
    most = _walk(-(-pairs // _STEP) * _STEP)[pairs - 1]
    return most if most >= 0 else None


@cache
def _walk(pairs: int) -> tuple[int, ...]:
    """Return, for 1 to ``pairs`` pairs, how many may disagree; -1: no look excludes equal."""
    alive = np.array([1.0])  # by how many pairs were on one side: the chance to be not yet excluded
    spent = 0.0
    allowed = []
    for n in range(1, pairs + 1):
        alive = np.convolve(alive, (0.5, 0.5))
        least = 2 * np.cumsum(alive[: (n + 1) // 2])  # both ends of the walk
        affordable = least <= ERROR * n / (n + HALF_SPENT) - spent
        count = int(np.argmin(affordable)) if not affordable.all() else len(affordable)
        allowed.append(count - 1)
        spent += float(least[count - 1]) if count else 0.0
        alive[:count] = 0.0
        alive[len(alive) - count :] = 0.0
    return tuple(allowed)
