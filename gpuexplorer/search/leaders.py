"""The leaders of a race take turns: only these say who is best and who cannot be told from it.

What is compared are ratios of turns that stood side by side, so that a machine that is slow for
longer than a turn is slow for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median

import numpy as np

from gpuexplorer.core.comparison import (
    FEWEST_LOOKED_AT,
    FEWEST_PAIRS,
    Comparison,
    interval_so_far,
    ratio_interval,
)
from gpuexplorer.search.runner import SHORTEST_S, Runner

ROUNDS = 12
"""Rounds of the turns; up to twice as many while it is not known who leads."""
SURE = 0.01
"""It is known when half of every 95 % interval of a ratio to the best is at most so wide."""
CLEARLY = 1.02
"""Who is slower than the best by more than this for certain takes no more turns."""


class Leaders:
    """Decides who takes turns in the next round, and compares those who took them.

    There are ``rounds`` rounds, up to twice as many while intervals are wide, and fewer once
    ``time_is_up``, but enough for the intervals of looks after every round.
    """

    def __init__(
        self,
        runners: Mapping[int, Runner],
        chance: np.random.Generator,
        rounds: int = ROUNDS,
        time_is_up: Callable[[], bool] = lambda: False,
    ) -> None:
        self._runners = runners
        self.members: list[int] = []
        """Who takes turns, by number; the fastest of the looks first."""
        self._chance, self._rounds, self._time_is_up = chance, rounds, time_is_up
        self.round = 0
        """The round that is taken at present, from 1."""
        self.rounds_taken = 0
        """How many rounds are over."""
        self.most_rounds = 2 * rounds

    @property
    def present(self) -> list[int]:
        """Those that still take turns."""
        return [n for n in self.members if self._runners[n].present]

    @property
    def best(self) -> int | None:
        """Who takes least beside the others; None before the first turn.

        Where another was faster in most of the turns that both took, it is that one: the pace of a
        round says little where few are left.
        """
        able = [n for n in self._by_pace() if not self._runners[n].withdrawn]
        best = able[0] if able else None
        for number in able[1:]:
            if best is not None and self._runners[number].present and self._faster(number, best):
                best = number
        return best

    def ranked(self) -> list[int]:
        """Return those who took turns, the fastest first and those who left last."""
        best = self.best
        return sorted(self._by_pace(), key=lambda number: number != best)

    def _by_pace(self) -> list[int]:
        """Return them by their time over the pace of the rounds that they took part in."""
        turned = [n for n in self.members if self._runners[n].turns_s]
        pace_s: dict[int, float] = {}
        for turn in range(1, self.round + 1):
            taken = [t[turn] for n in turned if turn in (t := self._runners[n].turns_s)]
            if taken:
                pace_s[turn] = max(median(taken), SHORTEST_S)

        def standing(number: int) -> tuple[bool, float]:
            runner = self._runners[number]
            return not runner.present, median(s / pace_s[t] for t, s in runner.turns_s.items())

        return sorted(turned, key=standing)

    def against_best(self) -> dict[int, Comparison]:
        """Return each one's time over the best's, as far as they took turns together."""
        best = self.best
        found: dict[int, Comparison] = {}
        for number in self.members:
            if best is not None and number != best:
                compared = self.compared(best, number)
                if compared is not None:
                    found[number] = compared
        return found

    def compared(self, number: int, other: int) -> Comparison | None:
        """Return the time of ``other`` over that of ``number``; None with too few common turns.

        All were looked at after every round, and the best is the luckiest of several: beside it an
        interval of one pair whose turns stood fixed beforehand calls a tenth of its equals slower.
        Only turns that ended before any look could tell have that of all their ratios.
        """
        found = self._compare(number, other, interval_so_far)
        return found or self._compare(number, other, ratio_interval)

    def next_round(self) -> list[int]:
        """Return those that take the next round's turns, in order; none when it is decided."""
        if self.round:
            self._drop_slower()
        present = self.present
        if not present or self._is_enough(present):
            self.rounds_taken = self.round
            return []
        self.rounds_taken = self.round
        self.round += 1
        order: list[int] = self._chance.permutation(np.array(present, dtype=int)).tolist()
        return order

    def turns_left(self) -> int:
        """Return about how many turns are to come after this round."""
        rounds = self._rounds if self.round <= self._rounds else self.most_rounds
        return len(self.present) * (rounds - self.round)

    def _is_enough(self, present: list[int]) -> bool:
        fewest = FEWEST_PAIRS if len(present) == 1 else FEWEST_LOOKED_AT
        if self.round < min(fewest, self._rounds):
            return False
        if len(present) == 1 or self._time_is_up() or self.round >= self.most_rounds:
            return True
        if self.round < self._rounds:
            return False
        compared = self.against_best()
        widths = [
            (compared[n].ci95_high - compared[n].ci95_low) / 2 for n in present if n in compared
        ]
        return max(widths, default=0.0) <= SURE

    def _drop_slower(self) -> None:
        best = self.best
        for number in self.present:
            if best is not None and number != best:
                found = self._compare(best, number, interval_so_far)
                self._runners[number].out = found is not None and found.ci95_low > CLEARLY

    def _faster(self, number: int, other: int) -> bool:
        """Return whether the median ratio of the turns that both took is below 1."""
        first, second = self._runners[number].turns_s, self._runners[other].turns_s
        ratios = [s / max(second[t], SHORTEST_S) for t, s in first.items() if t in second]
        return len(ratios) >= FEWEST_PAIRS and median(ratios) < 1

    def _compare(
        self, number: int, other: int, compare: Callable[..., Comparison | None]
    ) -> Comparison | None:
        runners = self._runners[number], self._runners[other]
        first, second = (runner.turns_s for runner in runners)
        common = sorted(first.keys() & second.keys())
        if min((min(first[t], second[t]) for t in common), default=0.0) <= 0:
            return None
        return compare(
            np.array([first[t] for t in common]),
            np.array([second[t] for t in common]),
            clocks_s=tuple(runner.clock_s for runner in runners),
        )
