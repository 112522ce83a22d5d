"""Racing: which configuration to measure next, with how many samples, and when one is out.

Every configuration gets a first look. Those that may still be the best are looked at again in
rounds, in an order that chance decides anew each time, and after each round the limit that they
must hold is tighter. The few that are left then take turns, and only these turns decide who is
named and who cannot be told from the best: an autotuner that names the smallest of many noisy
figures names the luckiest.

A busy machine only ever makes a launch slower, so a look counts with its fastest launch until the
turns. Nobody is dropped for another's luck: the fastest launch that a configuration ever had is
held against what the leaders typically take. A disturbance that lasts longer than a look is found
because the best so far is measured again and again in between: when it, too, has become slower,
what was seen since the last time is not believed.

Nothing here measures, knows what a configuration is, or looks at a clock of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

import numpy as np
import numpy.typing as npt

from gpuexplorer.core.comparison import Comparison, ratio_interval

Phase = Literal["survey", "check", "race", "turns"]
Floats = npt.NDArray[np.float64]

FIRST_SAMPLES = 3
LOOK_S = 0.01
"""A look at a short kernel lasts about so long, with more samples than the fewest."""
MOST_SAMPLES = 100
SHORTEST_S = 1e-9
"""A launch below the clock's resolution takes so long as far as this is concerned."""
PATIENCE = 6.0
"""A look ends after so many times what the best takes: a clear loser gets one launch."""
LIMITS = (2.0, 1.3, 1.15, 1.08)
"""How many times the bar a configuration may take after its first look, its second, ..."""
BAR = 3
"""The bar is what the so-manieth of the leaders typically takes: one may have had luck."""
RACE_SAMPLES = 5
CHECK_EVERY = 8
"""The best is measured again after so many looks."""
STEADY = 1.12
"""The machine is steady while the best takes at most this many times what it took."""
MOST_DOUBTS = 2
"""So often a configuration is looked at again because its time is doubted."""
SURPRISE = 1.25
"""A time is doubted that is so many times what the neighbours near the bar let expect."""
FINALISTS = 16
CROWD = 1.05
"""Those beyond are not called slower as long as they typically take so many times the best's."""
ROUNDS = 12
"""Rounds of the turns; up to twice as many while it is not known who leads."""
SURE = 0.02
"""It is known when half of every 95 % interval of a ratio to the best is at most so wide."""
FEWEST_ROUNDS = 6
"""From then on a finalist that is clearly slower takes no more turns."""
CLEARLY = 1.02
TURN_SAMPLES = 5


@dataclass(frozen=True)
class Look:
    """What to measure next: ends after ``samples`` or ``seconds``, whichever comes first."""

    number: int
    """The configuration, as the race counts them."""
    phase: Phase
    samples: int
    seconds: float
    round: int = 0


@dataclass
class Runner:
    """What the race knows of one configuration."""

    fastest_s: list[float] = field(default_factory=list)
    """The fastest launch of each look."""
    turns_s: dict[int, float] = field(default_factory=dict)
    """The median of each turn, by its round."""
    samples: int = 0
    out: bool = False
    """Whether it is slower than the best for certain."""
    withdrawn: bool = False
    """Whether it cannot be measured."""
    doubts: int = 0

    @property
    def typical_s(self) -> float:
        """The median of the looks' fastest launches; infinite before the first look."""
        return median(self.fastest_s) if self.fastest_s else float("inf")

    @property
    def luckiest_s(self) -> float:
        """The fastest launch of all; infinite before the first look."""
        return min(self.fastest_s, default=float("inf"))


class Race:
    """Decides one look after another.

    ``heats`` are the configurations by number, in the groups in which they get their first look:
    the coarse ones first. ``expect`` guesses what one takes from others that were looked at:
    promising ones of a group come first, and who is slow among fast neighbours is looked at again.
    ``known`` are runners of an earlier race over the same configurations; they need no first look.
    """

    def __init__(
        self,
        heats: Iterable[Sequence[int]],
        *,
        expect: Callable[[int], float | None] = lambda number: None,
        known: dict[int, Runner] | None = None,
        seed: int | None = None,
        rounds: int = ROUNDS,
    ) -> None:
        self._chance = np.random.default_rng(seed)
        self._heats = [list(heat) for heat in heats]
        self.runners: dict[int, Runner] = {n: Runner() for heat in self._heats for n in heat}
        for number, runner in (known or {}).items():
            if number in self.runners and (runner.fastest_s or runner.withdrawn):
                self.runners[number] = runner
        self._expect = expect
        self._rounds = rounds
        self._queue: list[int] = []
        self._limit = 0
        self._since_check: list[int] = []
        self._slow_checks = 0
        self._looks = 0
        self._best: int | None = None
        self._best_known = False
        self.finalists: list[int] = []
        self.crowd: frozenset[int] = frozenset()
        """Those near the best for which there was no place among the finalists."""
        self._turn = 0
        self.phase: Phase = "survey"
        self.done = not self.runners

    # ---- what is known

    @property
    def best(self) -> int | None:
        """The best so far; None before the first look."""
        if not self._best_known:
            self._best, self._best_known = self._find_best(), True
        return self._best

    def _find_best(self) -> int | None:
        turned = [n for n in self.finalists if self.runners[n].turns_s]
        if turned:
            pace_s = {
                turn: median([r.turns_s[turn] for r in self._final_runners() if turn in r.turns_s])
                for turn in range(1, self._turn + 1)
                if any(turn in r.turns_s for r in self._final_runners())
            }
            return min(turned, key=lambda n: self._standing(n, pace_s))
        seen = [n for n, r in self.runners.items() if r.fastest_s and not r.withdrawn]
        return min(seen, key=lambda n: self.runners[n].typical_s, default=None)

    @property
    def best_s(self) -> float | None:
        """What the best typically takes."""
        best = self.best
        return self.runners[best].typical_s if best is not None else None

    def against_best(self) -> dict[int, Comparison]:
        """Return each finalist's time over the best's, as far as they took turns together."""
        best = self.best
        if best is None or not self.runners[best].turns_s:
            return {}
        found = {}
        for number in self.finalists:
            compared = self._compare(best, number) if number != best else None
            if compared is not None:
                found[number] = compared
        return found

    @property
    def ties(self) -> frozenset[int]:
        """Those that cannot be told from the best, which is one of them, once all took turns."""
        best = self.best
        if not self.done or best is None:
            return frozenset()
        compared = self.against_best()
        near = {n for n, c in compared.items() if c.verdict != "slower"}
        return frozenset({best, *near, *self.crowd})

    @property
    def contenders(self) -> list[int]:
        """Those that were looked at and may still be the best."""
        return self._active() if self.phase == "turns" else self._racing()

    @property
    def looks(self) -> int:
        """How many looks were taken."""
        return self._looks

    def looks_left(self) -> float:
        """Return about how many looks are still to come."""
        if self.done:
            return 0
        live = [n for n, r in self.runners.items() if not r.out and not r.withdrawn]
        turns = min(len(live), FINALISTS) * 0.7 * self._rounds
        if self.phase == "turns":
            rounds = self._rounds if self._turn <= self._rounds else 2 * self._rounds
            return len(self._queue) + len(self._active()) * (rounds - self._turn)
        first = sum(not self.runners[n].fastest_s for n in live)
        rounds = len(LIMITS) - max(1, self._limit)
        share = 0.3 if self.phase == "survey" else 0.7
        racing = max(1.0, share * len(live)) * rounds
        return first * (1 + 1 / CHECK_EVERY) + racing + max(turns * share, self._rounds)

    # ---- what comes next

    def next(self) -> Look | None:
        """Return what to measure next; None once the race is over."""
        if self.done:
            return None
        if self.phase != "turns" and len(self._since_check) >= CHECK_EVERY:
            best = self.best
            if best is not None:
                return self._look(best, "check")
        while self._queue or self._fill():
            number = self._queue[0]
            runner = self.runners[number]
            if not runner.withdrawn and not runner.out:
                return self._look(number, self.phase)
            self._queue.pop(0)
        return None

    def took(self, look: Look, samples_s: Floats) -> None:
        """Take in what a look measured, at least one launch in seconds."""
        self._looks += 1
        self._best_known = False
        runner = self.runners[look.number]
        runner.samples += len(samples_s)
        if look.phase == "check":
            self._checked(look.number, float(samples_s.min()))
            return
        self._leave_queue(look.number)
        if look.phase == "turns":
            runner.turns_s[look.round] = float(np.median(samples_s))
            return
        runner.fastest_s.append(float(samples_s.min()))
        self._best_known = False
        self._since_check.append(look.number)
        best_s = self.best_s
        if look.phase == "survey" and best_s is not None and runner.luckiest_s > LIMITS[0] * best_s:
            runner.out = True

    def withdraw(self, number: int) -> None:
        """Note that a configuration cannot be measured."""
        self.runners[number].withdrawn = True
        self._best_known = False
        self._leave_queue(number)

    # ---- inside

    def _leave_queue(self, number: int) -> None:
        if self._queue and self._queue[0] == number:
            self._queue.pop(0)

    def _look(self, number: int, phase: Phase) -> Look:
        best_s = self.best_s
        fewest = FIRST_SAMPLES if phase in ("survey", "check") else RACE_SAMPLES
        if phase == "turns":
            fewest = TURN_SAMPLES
        if best_s is None:
            return Look(number, phase, fewest, LOOK_S * 10)
        samples = int(min(MOST_SAMPLES, max(fewest, LOOK_S / max(best_s, SHORTEST_S))))
        most_s = max(LOOK_S, PATIENCE * best_s)
        if phase in ("check", "turns"):  # the count alone ends it, so that all turns are alike
            most_s = max(1.0, 100 * samples * best_s)
        return Look(number, phase, samples, most_s, self._turn)

    def _fill(self) -> bool:
        """Queue up what the next heat or round consists of, or end the race; whether it goes on."""
        if self.phase == "survey":
            while self._heats:
                heat = [n for n in self._heats.pop(0) if not self.runners[n].fastest_s]
                if heat:
                    self._queue = self._promising_first(heat)
                    return True
            self.phase = "race"
        if self.phase == "race":
            doubted = self._surprising()
            if doubted:
                self._queue = self._shuffled(doubted)
                return True
            self._drop(LIMITS[min(self._limit, len(LIMITS) - 1)])
            self._limit += 1
            racing = self._racing()
            if self._limit < len(LIMITS) and len(racing) > 1:
                self._queue = self._shuffled(racing)
                return True
            self._begin_turns(racing)
        elif self._turn > 0:
            self._drop_finalists()
        active = self._active()
        if not active or self._turn >= self._enough_rounds(active):
            self.done = True
            return False
        self._turn += 1
        self._queue = self._shuffled(active)
        return True

    def _promising_first(self, heat: list[int]) -> list[int]:
        """Return a heat shuffled, those that seem to come near the best before the others."""
        shuffled = self._shuffled(heat)
        best_s = self.best_s
        if best_s is None:
            return shuffled
        limit_s = LIMITS[1] * best_s

        def hopeless(number: int) -> bool:
            expected_s = self._expect(number)
            return expected_s is not None and expected_s > limit_s

        return sorted(shuffled, key=hopeless)

    def _shuffled(self, numbers: Sequence[int]) -> list[int]:
        order: list[int] = self._chance.permutation(np.array(numbers, dtype=int)).tolist()
        return order

    def _racing(self) -> list[int]:
        return [n for n, r in self.runners.items() if r.fastest_s and not r.out and not r.withdrawn]

    def _drop(self, limit: float) -> None:
        racing = self._racing()
        leaders_s = sorted(self.runners[n].typical_s for n in racing)[:BAR]
        for number in racing:
            if self.runners[number].luckiest_s > limit * leaders_s[-1]:
                self.runners[number].out = True

    def _surprising(self) -> list[int]:
        """Return those that seem slow among fast neighbours, to be looked at again.

        Load may have met such a one alone; where it is as slow as it seems, that costs little.
        """
        leaders_s = sorted(self.runners[n].typical_s for n in self._racing())[:BAR]
        if not leaders_s:
            return []
        near_s, doubted = LIMITS[1] * leaders_s[-1], []
        for number, runner in self.runners.items():
            if runner.withdrawn or not runner.fastest_s or runner.doubts >= MOST_DOUBTS:
                continue
            expected_s = self._expect(number)
            if expected_s is None or expected_s > near_s:
                continue
            if runner.luckiest_s > SURPRISE * expected_s:
                runner.doubts += 1
                runner.out = False
                doubted.append(number)
        return doubted

    def _checked(self, number: int, fastest_s: float) -> None:
        """Judge the machine by the best, which was measured again."""
        self._best_known = False
        seen, self._since_check = self._since_check, []
        runner = self.runners[number]
        if fastest_s <= STEADY * runner.typical_s:
            runner.fastest_s.append(fastest_s)
            self._slow_checks = 0
            return
        self._slow_checks += 1
        if self._slow_checks > MOST_DOUBTS:  # this is how fast the machine is now
            runner.fastest_s += [fastest_s, fastest_s]
            self._slow_checks = 0
        again = []
        for doubted in dict.fromkeys(seen):
            other = self.runners[doubted]
            if doubted != number and other.doubts < MOST_DOUBTS and other.fastest_s:
                other.doubts += 1
                other.fastest_s.pop()
                other.out = False
                again.append(doubted)
        self._queue += [n for n in self._shuffled(again) if n not in self._queue]

    # ---- turns

    def _begin_turns(self, racing: list[int]) -> None:
        self.phase = "turns"
        ranked = sorted(racing, key=lambda n: self.runners[n].typical_s)
        self.finalists = ranked[:FINALISTS]
        best_s = self.runners[ranked[0]].typical_s if ranked else 0.0
        self.crowd = frozenset(
            n for n in ranked[FINALISTS:] if self.runners[n].typical_s <= CROWD * best_s
        )

    def _active(self) -> list[int]:
        return [
            n for n in self.finalists if not self.runners[n].out and not self.runners[n].withdrawn
        ]

    def _enough_rounds(self, active: list[int]) -> int:
        if len(active) == 1:
            return min(FEWEST_ROUNDS, self._rounds)
        if self._turn < self._rounds:
            return self._rounds
        compared = self.against_best()
        widths = [
            (compared[n].ci95_high - compared[n].ci95_low) / 2 for n in active if n in compared
        ]
        return self._rounds if max(widths, default=0.0) <= SURE else 2 * self._rounds

    def _standing(self, number: int, pace_s: dict[int, float]) -> tuple[bool, float]:
        """Return how a finalist ranks: its time over the pace of the rounds it took part in."""
        runner = self.runners[number]
        relative = [
            seconds / max(pace_s[turn], SHORTEST_S) for turn, seconds in runner.turns_s.items()
        ]
        return runner.out or runner.withdrawn, median(relative)

    def _final_runners(self) -> list[Runner]:
        return [self.runners[n] for n in self.finalists]

    def _compare(self, best: int, number: int) -> Comparison | None:
        a, b = self.runners[best].turns_s, self.runners[number].turns_s
        common = sorted(a.keys() & b.keys())
        if min((a[t] for t in common), default=0) <= 0 or min(b[t] for t in common) <= 0:
            return None
        return ratio_interval(np.array([a[t] for t in common]), np.array([b[t] for t in common]))

    def _drop_finalists(self) -> None:
        """Let those that are clearly slower take no more turns."""
        if self._turn < FEWEST_ROUNDS:
            return
        for number, compared in self.against_best().items():
            if compared.verdict == "slower" and compared.ratio > CLEARLY:
                self.runners[number].out = True
        self._best_known = False
