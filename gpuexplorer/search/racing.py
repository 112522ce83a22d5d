"""Racing: which configuration to measure next, with how many samples, and when one is out.

Every configuration gets a first look, and a clear loser no more than the launch that verifies it.
Those that may still be the best are looked at again in rounds, in an order that chance decides anew
each time, and after each round the limit that they must hold is tighter. The few that are left then
take turns (``search.leaders``), and only these turns decide who is named and who cannot be told
from the best: an autotuner that names the smallest of many noisy figures names the luckiest.

A busy machine only ever makes a launch slower, so a look counts with its fastest launch until the
turns. None is dropped for another's luck: the fastest launch that a configuration ever had is
held against what the leaders typically take. A disturbance that lasts longer than a look is found
because the best so far is measured again and again in between: when it, too, has become slower,
what was seen since the last time is not believed.

Several machines may take looks at a time, as long as all are of the same hardware: a heat, a round
or what is proposed goes to all of them, nothing is dropped before every look has ended, and all
turns of a round are taken by one machine, since only what stood side by side is compared.

Nothing here measures, knows what a configuration is, or looks at a clock of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from gpuexplorer.core.statistics import middle
from gpuexplorer.search.finalists import TURN_SAMPLES, fitting, turn_samples
from gpuexplorer.search.leaders import ROUNDS, Leaders
from gpuexplorer.search.outcome import MOST_FAILURES
from gpuexplorer.search.runner import SHORTEST_S, Floats, Look, Phase, Runner, launches_in

FIRST_SAMPLES = 3
RACE_SAMPLES = 5
LOOK_S = 0.002
"""A look at a short kernel lasts about so long, with more samples than the fewest."""
MOST_LOOK_S = 2.0
"""A look ends after so long, however few samples that makes."""
PATIENCE = 1.5
"""A look ends after so many times what as many launches take that are just not clearly slower."""
SLOWER = 1.3
"""Sampling ends as soon as it is known that a launch takes so many times what a leader takes."""
LIMITS = (2.0, 1.4, 1.2, 1.15)
"""How many times the bar a configuration may take after its first look, its second, ..."""
BAR = 3
"""The bar is what the so-manieth of the leaders typically takes: one may have had luck."""
MOST_RACING = 32
"""The fastest so many of those that are left are looked at in a round."""
CHECK_EVERY = 12
"""The best is measured again after so many looks."""
STEADY = 1.12
"""The machine is steady while the best takes at most this many times what it took."""
MOST_DOUBTS = 2
"""So often a configuration is looked at again because its time is doubted."""
DOUBTFUL = 4.0
"""A time of this many times what the best takes now is no matter of load, and is not doubted."""
SURPRISE = 1.25
"""A time is doubted that is so many times what the neighbours near the bar let expect."""
FINALISTS = 16
CROWD = 1.05
"""Those beyond are not called slower as long as they typically take so many times the best's."""
FAVOURITE_WITHIN = 10.0
"""The favourite takes turns, too, unless it is this much slower than the best."""


class Race:
    """Decides one look after another.

    ``heats`` are configurations by number, in the groups in which they get their first look: the
    coarse ones first. After them ``propose`` names one more at a time until it returns None.
    ``expect`` guesses what one takes from others that were looked at: promising ones of a heat come
    first, and who is slow among fast neighbours is looked at again. ``known`` are runners of an
    earlier race over the same configurations; they need no first look. ``samples`` are those of a
    first look (None: a few, more of short launches). The ``favourite`` takes turns with the
    leaders. Without ``checks`` the best is not measured again in between: somebody else looks after
    the machines, and calls ``take_back``. Without ``racing`` all first looks are alike and only the
    turns follow; without ``turns`` only the first looks are taken. ``time_is_up`` may end the turns
    early; no more take part than have enough of them within ``turns_s`` from when they begin, where
    each takes ``beside_s`` beside its launches (``search.finalists``).
    """

    def __init__(
        self,
        heats: Iterable[Sequence[int]],
        *,
        propose: Callable[[], int | None] = lambda: None,
        expect: Callable[[int], float | None] = lambda number: None,
        known: dict[int, Runner] | None = None,
        samples: int | None = None,
        favourite: int | None = None,
        racing: bool = True,
        turns: bool = True,
        checks: bool = True,
        seed: int | None = None,
        rounds: int = ROUNDS,
        time_is_up: Callable[[], bool] = lambda: False,
        turns_s: Callable[[], float] = lambda: math.inf,
        beside_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._chance = np.random.default_rng(seed)
        self._heats = [list(heat) for heat in heats]
        self.runners: dict[int, Runner] = {n: Runner() for heat in self._heats for n in heat}
        for number, runner in (known or {}).items():
            if number in self.runners and (runner.fastest_s or runner.withdrawn):
                self.runners[number] = runner
        self._propose, self._expect = propose, expect
        self._samples, self._favourite = samples, favourite
        self._racing_on, self._turns_on, self._checks_on = racing, turns, checks
        self._rounds, self._turns_s, self._beside_s = rounds, turns_s, beside_s
        self._queue: list[int] = []
        self._turns: dict[str, tuple[int, list[int]]] = {}
        """By machine the round whose turns it takes, and who has not had his."""
        self._doubted: list[int] = []
        """Those to be looked at again once the machine is steady."""
        self._turn_samples = TURN_SAMPLES
        self._limit = 0
        self._since_check: list[int] = []
        self._slow_checks = 0
        self.looks = 0
        """How many looks were taken."""
        self.checks = self.disturbances = 0
        """How often the best was measured again in between, and how often it was then slower."""
        self._best: int | None = None
        self._best_known = False
        self.leaders = Leaders(self.runners, self._chance, rounds, time_is_up)
        """Those that take turns, once the looks are over."""
        self.crowd: frozenset[int] = frozenset()
        """Those near the best for which there was no place among the finalists."""
        self.phase: Phase = "survey"
        self.done = False

    # ---- what is known

    @property
    def best(self) -> int | None:
        """The best so far; None before the first look."""
        if not self._best_known:
            self._best = self.leaders.best
            if self._best is None:
                seen = [n for n, r in self.runners.items() if r.fastest_s and not r.withdrawn]
                self._best = min(seen, key=lambda n: self.runners[n].typical_s, default=None)
            self._best_known = True
        return self._best

    @property
    def best_s(self) -> float | None:
        """What the best typically takes."""
        best = self.best
        return self.runners[best].typical_s if best is not None else None

    @property
    def ties(self) -> frozenset[int]:
        """Those that cannot be told from the best, which is one of them, once all took turns."""
        best = self.best
        if not self.done or best is None:
            return frozenset()
        near = {n for n, c in self.leaders.against_best().items() if c.verdict != "slower"}
        return frozenset({best, *near, *self.crowd})

    @property
    def contenders(self) -> list[int]:
        """Those that were looked at and may still be the best."""
        return self.leaders.present if self.phase == "turns" else self._racing()

    def looks_left(self) -> float:
        """Return about how many looks are still to come, apart from those of proposals."""
        if self.done:
            return 0
        if self.phase == "turns":
            taken = sum(len(order) for _, order in self._turns.values())
            return taken + self.leaders.turns_left()
        live = [r for r in self.runners.values() if r.present]
        first = sum(not runner.fastest_s for runner in live)
        share = 0.3 if self.phase == "survey" else 0.7
        rounds = len(LIMITS) - max(1, self._limit)
        racing = max(1.0, min(share * len(live), MOST_RACING)) * rounds
        turns = min(len(live), FINALISTS) * 0.7 * self._rounds
        return first * (1 + 1 / CHECK_EVERY) + racing + max(turns * share, self._rounds)

    # ---- what comes next

    def next(
        self, going: Collection[Look] = (), *, settled: bool = True, machine: str = ""
    ) -> Look | None:
        """Return what a machine measures next; None once the race is over.

        Where several take looks, ``going`` are those that have not ended, and None may also mean
        that others have to end first: nobody is dropped until everything is ``settled``.
        """
        if self.done:
            return None
        if self.phase != "turns":
            if len(self._since_check) >= CHECK_EVERY:
                best = self.best
                if best is not None:
                    return self._look(best, "check")
            elsewhere = {look.number for look in going}
            while True:
                while self._queue and not self.runners[self._queue[0]].present:
                    self._queue.pop(0)
                for number in self._queue:
                    if number not in elsewhere and self.runners[number].present:
                        return self._look(number, self.phase)
                if not self._fill(settled):
                    break
        return self._next_turn(going, machine) if self.phase == "turns" else None

    def _next_turn(self, going: Collection[Look], machine: str) -> Look | None:
        """Return the next turn of the round that a machine takes, or of one that it begins."""
        self._best_known = False
        here = {look.number for look in going if look.machine == machine}
        while True:
            number, order = self._turns.get(machine, (0, []))
            order[:] = [one for one in order if self.runners[one].present]
            for one in order:
                if one not in here:
                    return self._look(one, "turns", number, machine)
            if order:
                return None
            order = self.leaders.next_round() if self._turns_on else []
            self._turns[machine] = (self.leaders.round, order)
            if not order:
                self.done = not any(order for _, order in self._turns.values())
                return None

    def took(self, look: Look, samples_s: Floats, clock_s: float = 0.0) -> None:
        """Take in what a look measured, at least one launch in seconds; its clock's resolution."""
        self.looks += 1
        best, best_s = (self._best, self.best_s) if self._best_known else (None, None)
        self._best_known = False
        runner = self.runners[look.number]
        runner.samples += len(samples_s)
        if look.phase == "check":
            self._checked(look.number, float(samples_s.min()))
            return
        if look.phase == "turns":
            runner.turns_s[look.round] = middle(samples_s)
            runner.clock_s = max(runner.clock_s, clock_s)
            _, order = self._turns.get(look.machine, (0, []))
            if look.number in order:
                order.remove(look.number)
            return
        self._leave_queue(look.number)
        runner.fastest_s.append(float(samples_s.min()))
        if best is not None and best_s is not None and look.number != best:
            if runner.typical_s != best_s:  # of two alike the first is the best
                self._best_known = True
                self._best = look.number if runner.typical_s < best_s else best
        if not self._racing_on:
            return
        if self._checks_on:
            self._since_check.append(look.number)
        best_s = self.best_s
        if look.phase == "survey" and best_s is not None and runner.luckiest_s > LIMITS[0] * best_s:
            runner.out = True

    def failed(self, look: Look, *, passing: bool) -> bool:
        """Note that a look failed; return whether the configuration is withdrawn for that.

        What was measured before, and what failed for a ``passing`` reason, is tried once more.
        """
        runner = self.runners[look.number]
        runner.failures += 1
        if runner.failures >= MOST_FAILURES or not (passing or runner.fastest_s):
            self.withdraw(look.number)
            return True
        if look.phase == "check":
            self._since_check = []
        elif look.phase != "turns":
            self._leave_queue(look.number)
            self._doubted.append(look.number)
        return False

    def withdraw(self, number: int) -> None:
        """Note that a configuration cannot be measured."""
        self.runners[number].withdrawn = True
        self._best_known = False
        self._leave_queue(number)

    def take_back(self, look: Look, fastest_s: float) -> None:
        """Believe a look no longer, whose fastest launch took so long: its machine was slow.

        The configuration is looked at again. Turns stay: those of a round are all as slow.
        """
        runner = self.runners[look.number]
        believed = look.phase == "turns" or runner.withdrawn or runner.doubts >= MOST_DOUBTS
        if believed or fastest_s not in runner.fastest_s:
            return
        self._best_known = False
        runner.doubts += 1
        runner.fastest_s.remove(fastest_s)
        runner.out = False
        if not runner.fastest_s or look.phase == "race":
            self._doubted.append(look.number)

    def gone(self, machine: str) -> None:
        """Note that a machine takes no more turns; those it has not taken nobody takes."""
        self._turns.pop(machine, None)

    def end_search(self) -> None:
        """Look at no more configurations: let those near the best take turns."""
        if self.phase != "turns":
            self._queue, self._doubted, self._since_check = [], [], []
            self._begin_turns()

    # ---- inside

    def _leave_queue(self, number: int) -> None:
        if number in self._queue:
            self._queue.remove(number)

    def _look(self, number: int, phase: Phase, turn: int = 0, machine: str = "") -> Look:
        best_s = self.best_s
        if phase == "turns":
            samples = turn_samples(self._turn_samples, best_s)
            most_s = max(1.0, 100 * samples * (best_s or 0.0))  # the count alone ends it
            return Look(number, phase, samples, most_s, turn, machine=machine)
        samples = launches_in(LOOK_S, RACE_SAMPLES if phase == "race" else FIRST_SAMPLES, best_s)
        if phase == "survey" and self._samples is not None:
            samples = self._samples
        if phase == "check" or best_s is None or not self._racing_on:
            return Look(number, phase, samples, MOST_LOOK_S)
        slower_s = SLOWER * max(best_s, self._bar_s(), SHORTEST_S)
        most_s = min(MOST_LOOK_S, max(LOOK_S, PATIENCE * samples * slower_s))
        return Look(number, phase, samples, most_s, slower_than_s=slower_s)

    def _fill(self, settled: bool) -> bool:
        """Queue up what the next heat or round consists of; whether there is any."""
        if self.phase == "survey":
            more = self._survey()
            self._queue += more
            if more:
                return True
        if not settled:
            return False
        self.phase = "race"
        if self._racing_on and self._turns_on:
            self._queue = self._next_round()
            if self._queue:
                return True
        self._begin_turns()
        return False

    def _survey(self) -> list[int]:
        """Return who is looked at next for the first time, or anew now that it is steady."""
        if self._doubted and not self._slow_checks:
            return self._take_doubted()
        while self._heats:
            heat = [n for n in self._heats.pop(0) if not self.runners[n].fastest_s]
            if heat:
                return self._promising_first(heat)
        proposed = self._propose()
        if proposed is not None:
            self.runners.setdefault(proposed, Runner())
            return [proposed]
        return self._take_doubted()

    def _take_doubted(self) -> list[int]:
        again, self._doubted = self._shuffled(list(dict.fromkeys(self._doubted))), []
        return again

    def _next_round(self) -> list[int]:
        """Return those looked at in the next round of the race; none when it is over."""
        again = self._take_doubted() or self._shuffled(self._surprising())
        if again:
            return again
        self._drop(LIMITS[min(self._limit, len(LIMITS) - 1)])
        self._limit += 1
        racing = self._racing()
        if self._limit < len(LIMITS) and len(racing) > 1:
            return self._shuffled(racing[:MOST_RACING])
        return []

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
        """Return those that were looked at and may be the best, the fastest first."""
        racing = [n for n, r in self.runners.items() if r.fastest_s and r.present]
        return sorted(racing, key=lambda n: self.runners[n].typical_s)

    def _bar_s(self) -> float:
        """Return what one of the leaders typically takes; 0 before the first look."""
        leaders = self._racing()[:BAR]
        return self.runners[leaders[-1]].typical_s if leaders else 0.0

    def _drop(self, limit: float) -> None:
        limit_s = limit * self._bar_s()
        for number in self._racing():
            if self.runners[number].luckiest_s > limit_s:
                self.runners[number].out = True

    def _surprising(self) -> list[int]:
        """Return those that seem slow among fast neighbours, to be looked at again.

        Load may have met such a one alone; where it is as slow as it seems, that costs little.
        """
        bar_s, doubted = self._bar_s(), []
        near_s, most_s = LIMITS[1] * bar_s, DOUBTFUL * bar_s
        for number, runner in self.runners.items():
            if runner.withdrawn or runner.doubts or not runner.luckiest_s <= most_s:
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
        self.checks += 1
        seen, self._since_check = self._since_check, []
        runner = self.runners[number]
        if fastest_s <= STEADY * runner.typical_s:
            runner.fastest_s.append(fastest_s)
            self._slow_checks = 0
            return
        self.disturbances += 1
        self._slow_checks += 1
        if self._slow_checks > MOST_DOUBTS:  # this is how fast the machine is now
            runner.fastest_s += [fastest_s, fastest_s]
            self._slow_checks = 0
        most_s = DOUBTFUL * max(fastest_s, runner.typical_s)
        for doubted in dict.fromkeys(seen):
            other = self.runners[doubted]
            fresh = doubted != number and other.doubts < MOST_DOUBTS and other.fastest_s
            if fresh and other.luckiest_s <= most_s:
                other.doubts += 1
                other.fastest_s.pop()
                other.out = False
                self._doubted.append(doubted)

    def _begin_turns(self) -> None:
        self.phase = "turns"
        limit_s = LIMITS[-1 if self._racing_on else -2] * self._bar_s()
        ranked = [n for n in self._racing() if self.runners[n].luckiest_s <= limit_s]
        best_s = self.runners[ranked[0]].typical_s if ranked else 0.0
        favourites = []
        if self._favourite is not None:
            favourite = self.runners[self._favourite]
            if not favourite.withdrawn and favourite.luckiest_s <= FAVOURITE_WITHIN * best_s:
                favourites = [self._favourite]
        typical_s = {number: self.runners[number].typical_s for number in [*ranked, *favourites]}
        members, self._turn_samples = fitting(
            ranked[:FINALISTS], favourites, typical_s, self._beside_s(), self._turns_s()
        )
        for number in members:
            self.runners[number].out = False
        self.leaders.members = members
        near = {n for n in ranked if self.runners[n].typical_s <= CROWD * best_s}
        self.crowd = frozenset(near.difference(members))
