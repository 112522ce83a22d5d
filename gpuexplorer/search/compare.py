"""Two or more configurations held against one of them, measured in turns until it is clear."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec
import numpy as np
from msgspec.structs import replace

from gpuexplorer.core.compared import ComparisonEnd, ComparisonResult, Contestant
from gpuexplorer.core.comparison import (
    FEWEST_LOOKED_AT,
    FEWEST_PAIRS,
    Comparison,
    Floats,
    interval_so_far,
    ratio_interval,
)
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.units import listed
from gpuexplorer.core.verdict import TOLERANCE
from gpuexplorer.engine.interleave import TURN_S, Interleaving, Measures, TurnContestant
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.fingerprint import differences
from gpuexplorer.search.outcome import Failures
from gpuexplorer.workloads.workload import Workload

AT_MOST_S = 20.0
"""How long a comparison may take by default."""
MOST_SAMPLES = 2000
"""In a turn: enough for its median, and of the shortest kernels the document stays small."""
WARM_UP_S = 0.02
"""Launches before each turn's first sample, so that none of it pays for the one before."""


class ContestantConfig(msgspec.Struct, frozen=True):
    """One that takes part: what is measured, its name, and the stored run it repeats."""

    label: str
    config: RunConfig
    workload: Workload | None
    """None: it is not here, so that only a stored run can be held against others."""
    stored: RunResult | None = None
    engine: str | None = None
    """The word for the engine that measures it; None: the built-in one."""


def _workload(contestant: ContestantConfig) -> Workload:
    if contestant.workload is None:
        raise ValueError(f"{contestant.label} has no workload to measure")
    return contestant.workload


class Standing(msgspec.Struct, frozen=True):
    """How a contestant stands beside the reference; no comparison for the reference itself."""

    label: str
    median_s: float
    comparison: Comparison | None
    too_slow: bool | None
    turns: int = 0
    """How many it took."""


class Comparing:
    """A comparison under way; ``measure`` goes on with it, as often as one likes.

    A look is taken after every round; the intervals of all looks together hold the true ratios with
    95 % each (``core.comparison``), so stopping at a clear one calls no more equal things different
    than that. A contestant whose verdict is clear rests, so that the time is for those that need
    it: after one round where the two are ten times apart. Where they are less far apart, but far
    enough for fewer rounds than usual, it rests as soon as the time left is too short for those,
    which would make its interval narrower. With ``rounds`` there is one look at the end of so many,
    which knows a little more. Of a time that cannot be true no verdict is clear.
    """

    def __init__(
        self,
        contestants: Sequence[ContestantConfig],
        *,
        reference: int = 0,
        tolerance: float = TOLERANCE,
        fail_if_slower: float | None = None,
        rounds: int | None = None,
        turn_s: float = TURN_S,
        allow_long: bool = False,
        seed: int | None = None,
    ) -> None:
        """``fail_if_slower`` is the share above which a slower one is too slow, such as 0.05."""
        if len(contestants) < 2:
            raise ValueError("a comparison takes two")
        self.contestants = tuple(contestants)
        self.reference = reference
        self.tolerance = tolerance
        self.fail_if_slower = fail_if_slower
        self.fixed_rounds = rounds
        self.id = uuid.uuid4().hex
        self.time_utc = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.stopped_by: ComparisonEnd = "user"
        self.failed: int | None = None
        """Whose turn could not be measured."""
        self._hurried = False
        self._suspects: tuple[int, list[bool]] = (0, [])
        """Whose time cannot be true, after so many rounds."""
        self._turn_s = turn_s
        self._turns = Interleaving(
            [TurnContestant(e.config, _workload(e)) for e in contestants],
            RunOptions(
                samples=MOST_SAMPLES,
                seconds=turn_s,
                warm_up_s=min(WARM_UP_S, turn_s),
                allow_long=allow_long,
                keep_arrays=True,
            ),
            seed=seed,
        )

    @property
    def rounds(self) -> int:
        """Rounds done."""
        return self._turns.rounds

    def measure(
        self,
        session: Measures | Sequence[Measures],
        *,
        seconds: float = AT_MOST_S,
        most_rounds: int | None = None,
        on_round: Callable[[Sequence[Standing]], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Go on until it is clear, for ``seconds`` and up to ``most_rounds`` in all at the most.

        One session measures all of them, or each contestant has its own, in their order. What the
        first round takes beyond its turns, to compile and to verify, does not count. A fixed number
        of rounds is done whatever the time and the verdict. At least one round is done; one that
        fails for a reason that passes, such as a killed engine, is made once more. A second call
        goes on from there, whether it was clear or not, and its document and runs have ids of their
        own. Raises what the session raises, with the contestant's name; the rounds
        before are kept.
        """
        began = clock()
        until = began + seconds
        self.stopped_by = "user"
        self._turns.rename()
        self.id = uuid.uuid4().hex
        again = self.clear  # more rounds are asked for
        failures = Failures()
        while True:
            resting = [] if again else self._resting()
            try:
                self._turns.round(session, resting)
            except ExplorerError as error:  # the round is lost
                place = self._turns.current
                if failures.once_more(place, error):
                    began = clock()
                    continue
                self.failed = place
                error.what = f"{self.contestants[place].label}: {error.what}"
                raise
            failures.clear()
            now = clock()
            if self.rounds == 1:
                until += max(0.0, now - began - sum(self._least_s()))
            self._hurried = until - now < self._needed_s(now - began, resting)
            began = now
            if on_round is not None:
                on_round(self.standings())
            if self.fixed_rounds is not None:
                if self.rounds >= self.fixed_rounds:
                    self.stopped_by = "rounds"
                    return
            elif self.clear:
                self.stopped_by = "verdict"
                return
            elif self.rounds == most_rounds:
                self.stopped_by = "rounds"
                return
            elif now >= until:
                self.stopped_by = "time"
                return

    @property
    def clear(self) -> bool:
        """Whether every verdict is clear, and whether each is too slow, where that was asked."""
        return len(self._clear()) == len(self.contestants) - 1

    def _clear(self) -> list[int]:
        """Return the places of those whose verdict is clear."""
        return [
            place
            for place, standing in enumerate(self.standings())
            if standing.comparison is not None
            and standing.comparison.verdict != "can't tell"
            and self._is_enough(standing.comparison)
            and (self.fail_if_slower is None or standing.too_slow is not None)
        ]

    def _is_enough(self, found: Comparison) -> bool:
        """Return whether so many pairs are enough, or there is no time for as many as usual."""
        return found.pairs == 1 or found.pairs >= FEWEST_LOOKED_AT or self._hurried

    def _needed_s(self, round_s: float, resting: Sequence[int]) -> float:
        """Return about how long the usual number of turns takes of all that have fewer.

        By what the last round took, in which some rested.
        """
        standings, least_s = self.standings(), self._least_s()
        pace = round_s / sum(s for place, s in enumerate(least_s) if place not in resting)
        missing = [
            0 if one.comparison is not None and one.comparison.pairs == 1
            else max(0, FEWEST_LOOKED_AT - one.turns)
            for one in standings
        ]  # fmt: skip
        missing[self.reference] = max(n for p, n in enumerate(missing) if p != self.reference)
        return pace * sum(n * s for n, s in zip(missing, least_s, strict=True))

    def _least_s(self) -> list[float]:
        """Return what a turn of each takes at least."""
        return [max(self._turn_s, one.median_s) for one in self.standings()]

    def _resting(self) -> list[int]:
        """Return the places of those who need no further turn."""
        return self._clear() if self.fixed_rounds is None else []

    def standings(self) -> list[Standing]:
        """Return each contestant's standing, in the order given; nothing before the first round."""
        if not self.rounds:
            return []
        return [self._standing(index) for index in range(len(self.contestants))]

    def _standing(self, index: int) -> Standing:
        ours = self._turns.medians_s(index)
        found, limit = None, self.fail_if_slower
        if index != self.reference:
            theirs = self._turns.medians_s(self.reference)
            fixed = self.fixed_rounds is not None
            clocks_s = self._turns.resolution_s(self.reference), self._turns.resolution_s(index)
            found = _in_turns(theirs, ours, self.tolerance, clocks_s, fixed=fixed)
            if self._suspect(index) or self._suspect(self.reference):
                found, limit = _open(found), None
        return Standing(
            label=self.contestants[index].label,
            median_s=float(np.nanmedian(ours)),
            comparison=found,
            too_slow=too_slow(found, limit),
            turns=int(np.isfinite(ours).sum()),
        )

    def _suspect(self, index: int) -> bool:
        """Return whether the time of one cannot be true, as its document will say."""
        if self._suspects[0] != self.rounds:
            records = [turn.record for turn in self._turns.turns()]
            self._suspects = (self.rounds, [_cannot_be_true(record) for record in records])
        return self._suspects[1][index]

    def result(self, *, listed: bool = True) -> ComparisonResult:
        """Return the document of all rounds done; ValueError before the first.

        Unless they shall be ``listed``, the samples of its runs are arrays.
        """
        turns = self._turns.turns()
        if not turns:
            raise ValueError("no round was done")
        runs = [turn.result(listed=listed) for turn in turns]
        return ComparisonResult(
            id=self.id,
            time_utc=self.time_utc,
            reference=self.reference,
            interleaved=True,
            rounds=self.rounds,
            fixed_rounds=self.fixed_rounds is not None,
            stopped_by=self.stopped_by,
            tolerance=self.tolerance,
            fail_if_slower=self.fail_if_slower,
            contestants=[
                contestant_of(
                    contestant, run, runs[self.reference], standing.comparison, self.fail_if_slower,
                    [None if math.isnan(v) else v for v in turn.medians_s.tolist()],
                )
                for contestant, run, standing, turn in zip(
                    self.contestants, runs, self.standings(), turns, strict=True
                )
            ],
        )  # fmt: skip


def held_against(
    result: ComparisonResult, reference: int, contestants: Sequence[ContestantConfig]
) -> ComparisonResult:
    """Return a comparison that was measured in turns with another of its runs as the reference."""
    turns = [np.array(one.turns_s, dtype=np.float64) for one in result.contestants]
    base = result.contestants[reference].run
    made = []
    for index, (contestant, one) in enumerate(zip(contestants, result.contestants, strict=True)):
        found = None
        if index != reference:
            clocks_s = base.timing.resolution_s or 0.0, one.run.timing.resolution_s or 0.0
            found = _in_turns(
                turns[reference], turns[index], result.tolerance, clocks_s,
                fixed=result.fixed_rounds,
            )  # fmt: skip
        made.append(
            contestant_of(contestant, one.run, base, found, result.fail_if_slower, one.turns_s)
        )
    return msgspec.structs.replace(result, reference=reference, contestants=made)


def _in_turns(
    theirs_s: Floats, ours_s: Floats, tolerance: float, clocks_s: tuple[float, float],
    *, fixed: bool,
) -> Comparison | None:  # fmt: skip
    """Compare two that took turns: at the end of a fixed number, or at this look of many.

    ``clocks_s`` are the resolutions of the clocks that timed them.

    Only rounds count in which neither rested. Whether one rests follows from the rounds before, so
    that a coin still decides the next, and no more can be wrong than without.
    """
    both = ~(np.isnan(theirs_s) | np.isnan(ours_s))
    theirs_s, ours_s = theirs_s[both], ours_s[both]
    if not len(ours_s) or min(ours_s.min(), theirs_s.min()) <= 0:  # below the clock's resolution
        return None
    interval = ratio_interval if fixed and len(ours_s) >= FEWEST_PAIRS else interval_so_far
    return interval(theirs_s, ours_s, tolerance=tolerance, clocks_s=clocks_s)


def _cannot_be_true(record: RunRecord) -> bool:
    if record.suspect_at(float(record.samples_s().min())) is None:
        return False  # a longer time is not more suspect
    return record.suspect(record.summary()) is not None


def _open(found: Comparison | None) -> Comparison | None:
    """Return what is left of a comparison of two times, one of which cannot be true."""
    return None if found is None else replace(found, verdict="can't tell")


def too_slow(found: Comparison | None, limit: float | None) -> bool | None:
    """Return whether something is slower by more than ``limit``, None when that is not known.

    It is known when the whole interval of the ratio lies on one side of 1 + ``limit``.
    """
    if found is None or limit is None:
        return None
    if found.ci95_low > 1 + limit:
        return True
    return False if found.ci95_high <= 1 + limit else None


def contestant_of(
    contestant: ContestantConfig,
    run: RunResult,
    reference: RunResult,
    found: Comparison | None,
    limit: float | None,
    turns_s: list[float | None],
) -> Contestant:
    warnings = warnings_of(contestant, run, reference)
    if run.timing.suspect or reference.timing.suspect:
        found, limit = _open(found), None
    is_reference = run is reference
    return Contestant(
        label=contestant.label,
        run=run,
        turns_s=turns_s,
        ratio=found.ratio if found else None,
        ci95_low=found.ci95_low if found else None,
        ci95_high=found.ci95_high if found else None,
        verdict=None if is_reference else found.verdict if found else "can't tell",
        too_slow=too_slow(found, limit),
        stored_id=contestant.stored.id if contestant.stored else None,
        stored_median_s=contestant.stored.timing.median_s if contestant.stored else None,
        warnings=tuple(warnings),
    )


WORK = {"workload": "workload", "size": "size", "fill": "inputs", "cache": "state of the caches"}
"""Parts of a configuration in which two that do the same work agree."""
OTHER_PROCESS = (
    "It was measured in another engine, a process of its own: where memory happens to lie can make "
    "a few per cent between two of them, so compare again before you believe so little."
)
"""Said of a run in another engine than the reference's."""
OTHER_DEVICE = (
    "It was measured on another device than the reference: the two took turns, but not on one "
    "device, so what slows one of them for a while tells nothing of the other."
)
"""Said of a run whose engine has other hardware than the reference's, as on another machine."""


def warnings_of(contestant: ContestantConfig, run: RunResult, reference: RunResult) -> list[str]:
    """Return what a reader should know of a run beside the reference, a sentence each."""
    made = []
    if run.timing.suspect:
        made.append(f"Its figure is suspect: {run.timing.suspect}.")
    stored = contestant.stored
    if stored is not None and stored.id != run.id:
        made += [_said("Since it was stored", words) for words in differences(stored, run)]
    if run is reference:
        return made
    other = [
        words
        for field, words in WORK.items()
        if getattr(run.config, field) != getattr(reference.config, field)
    ]
    if run.config.include_transfers != reference.config.include_transfers:
        other.append("part of the program is timed")
    if other:
        others = listed(f"another {one}" for one in other)
        made.append(f"It does not do the same work: {others}.")
    elif (
        run.timing.method != reference.timing.method
        and run.device.id == reference.device.id
        and run.config.cache == reference.config.cache
    ):
        made.append(f"It is timed in another way than the reference: {run.timing.method}.")
    if run.environment.engine != reference.environment.engine:
        same = run.device.hardware_id == reference.device.hardware_id
        made.append(OTHER_PROCESS if same else OTHER_DEVICE)
    made += [_said("Beside the reference", words) for words in differences(reference, run)]
    return made


def _said(where: str, sentence: str) -> str:
    return f"{where}: {sentence.replace('The ', 'the ', 1)}"
