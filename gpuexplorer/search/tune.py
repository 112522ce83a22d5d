"""Tuning: search the blocks and tunables for the fastest, then let the leaders decide in turns.

A sampler proposes, and a race (``search.racing``) gives up clear losers after a launch or a few,
judges again what was dropped while the machine was disturbed, and has the leaders measured in turns
before one is named, with all that cannot be told from it.
"""

from __future__ import annotations

import math
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.result import DeviceSummary, RunResult
from gpuexplorer.core.statistics import middle
from gpuexplorer.core.tuning import (
    Budget,
    Evaluation,
    Outcome,
    SpaceSummary,
    StoppedBy,
    Tuning,
    leading,
)
from gpuexplorer.core.units import speed_than
from gpuexplorer.engine.interleave import STOPPED_BY, Measures
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.search.finalists import MOST_FINAL_S, final_s
from gpuexplorer.search.handover import Handover
from gpuexplorer.search.looking import LookTimes, Neighbourhood, Taken, judged, options_of
from gpuexplorer.search.racing import Race
from gpuexplorer.search.runner import Look
from gpuexplorer.search.several import Brought, LookTask, Races
from gpuexplorer.search.tune_naming import Finished, named_of
from gpuexplorer.search.tune_sampler import make_sampler
from gpuexplorer.search.tune_space import Place, TuningSpace
from gpuexplorer.workloads.choose import find_device
from gpuexplorer.workloads.workload import Workload

SAMPLES = 7
HOPELESS = 20
"""So many failures, and nothing measured yet: the next one would fail as well."""


class TuningOptions(msgspec.Struct, frozen=True):
    """How to tune; a budget without limits tries everything."""

    sampler: str = "tpe"
    budget: Budget = msgspec.field(default_factory=Budget)
    samples: int = SAMPLES
    racing: bool = True
    final: bool = True
    seed: int = 1
    allow_long: bool = False


class TuningProgress(msgspec.Struct, frozen=True):
    """Where a tuning is: ``done`` of ``total`` configurations (None: as time allows) or rounds."""

    phase: Literal["search", "final"]
    done: int
    total: int | None
    elapsed_s: float
    best: Evaluation | None
    latest: Evaluation | None


class Tuner:
    """One tuning of one problem on one device.

    ``run`` does it in the calling thread; ``enough``, ``evaluations`` and ``best`` may be used from
    another one meanwhile.
    """

    def __init__(
        self,
        session: Measures | Races,
        workload: Workload,
        space: TuningSpace,
        options: TuningOptions,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raise what ``make_sampler`` raises."""
        self.id = uuid.uuid4().hex
        self._session, self.workload, self.space = session, workload, space
        self._options = options
        several = isinstance(session, Races)
        self._sampler = make_sampler(options.sampler, space, options.seed, several=several)
        self._clock = clock
        self.on_progress: Callable[[TuningProgress], None] = lambda progress: None
        """Follows every configuration and every round of the final."""
        self.on_result: Callable[[RunResult], None] = lambda result: None
        """Is given the document of each contender and finalist; on a GPU in another thread, while
        the next one is measured."""
        self.take: Callable[[LookTask, Callable[[], Brought]], Brought] = lambda _, measure: (
            measure()
        )
        """Takes a look in one engine by measuring it, or from what was kept of it."""
        self._handover = Handover(lambda result: self.on_result(result))
        self._places = tuple(space.legal)
        self._numbers = {place: number for number, place in enumerate(self._places)}
        start = space.start_place
        neighbourhood = Neighbourhood(self._places)
        self._race = Race(
            [] if start is None else [[self._numbers[start]]],  # what one gets without tuning
            propose=self._propose,
            expect=lambda number: neighbourhood.expected_s(number, self._race),
            samples=options.samples,
            favourite=None if start is None else self._numbers[start],
            racing=options.racing,
            turns=options.final,
            checks=not several,
            seed=options.seed,
            time_is_up=self._final_is_over,
            turns_s=self._left_s,
            beside_s=lambda: self._look_times.beside_s,
        )
        self._look_times = LookTimes()
        self._taken: set[Place] = set()
        self._proposed: set[Place] = set() if start is None else {start}
        self._cards: set[str] = set()
        """The hardware that took looks, where several devices do."""
        self._evaluations: list[Evaluation] = []
        self._best: Evaluation | None = None
        self._turns: dict[int, RunRecord] = {}
        """The samples of each finalist's turns, by its number."""
        self._device: DeviceSummary | None = None
        self._enough = False
        self._stopped_by: StoppedBy = "space"
        self._time_utc = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._broken = False
        """Whether an error ended it."""
        self._began = clock()
        self._search_ended: float | None = None
        self._final_s = MOST_FINAL_S

    # ---- used from outside, in any thread

    def enough(self) -> None:
        """End the search after the present configuration, and go on to the final."""
        self._enough = True

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """What was tried so far, in order."""
        return tuple(self._evaluations)

    @property
    def best(self) -> Evaluation | None:
        """The fastest of the search so far."""
        return self._best

    # ---- the whole

    def run(self) -> Tuning:
        """Search, let the leaders decide, and return what came of it.

        Raises WorkFailed when none of the configurations can be measured, CannotRunHere when
        nothing can be measured any more. What else the session raises (an interruption) is let
        through; ``so_far`` is what is known then, and after an error.
        """
        self._began = self._clock()
        try:
            if isinstance(self._session, Races):
                with closing(self._session.race(self)) as going:
                    for _ in going:
                        pass
            else:
                while (task := self.next()) is not None:
                    self.took(task, self._measured(self._session, task))
            if self._all_failed:
                raise WorkFailed(f"none of the configurations could be measured: {self._reasons()}")
            return self._named() if self._options.final else self._document(self._stopped_by)
        except ExplorerError:
            self._broken = True
            raise
        finally:
            self._handover.close()

    def so_far(self) -> Tuning:
        """Return what is known of a tuning that ended before it could name anything."""
        return self._document("error" if self._broken else "user")

    # ---- what is raced; see ``search.several.Course``

    @property
    def references(self) -> Sequence[RunConfig]:
        """What one gets without tuning, and after it the others."""
        start = [] if self.space.start_place is None else [self.space.start]
        return [*start, *self.space.legal.values()]

    @property
    def done(self) -> bool:
        """Whether there will be no more looks."""
        return self._race.done

    def next(
        self, going: Collection[Look] = (), *, settled: bool = True, machine: str = ""
    ) -> LookTask | None:
        """Return what to measure next; the search ends when it is enough or its time is over."""
        race, searching = self._race, self._race.phase != "turns"
        if searching and (self._enough or self._time_is_up()):
            if not settled:
                return None
            if race.phase == "survey":
                self._stopped_by = "user" if self._enough else "time"
            race.end_search()
        rounds = race.leaders.rounds_taken
        look = race.next(going, settled=settled, machine=machine)
        if searching and race.phase == "turns":
            self._search_ended = self._clock()
            if self._options.budget.seconds is not None:
                self._final_s = self._left_s()
        elif race.leaders.rounds_taken > rounds:
            done, most = race.leaders.rounds_taken, race.leaders.most_rounds
            elapsed_s = self._clock() - self._began
            self.on_progress(TuningProgress("final", done, most, elapsed_s, self._best, None))
        if look is None:
            return None
        self._look_times.begin(look, self._clock())
        config = self.space.legal[self._places[look.number]]
        options = options_of(race, look, allow_long=self._options.allow_long)
        return LookTask(look, config, options)

    @interrupts_held()
    def took(self, task: LookTask, outcome: RunRecord | ExplorerError) -> None:
        """Take in what came of a look; raises CannotRunHere when nothing can be measured."""
        self._look_times.end(task.look, outcome, self._clock())
        best_s = self._race.best_s
        taken = judged(self._race, task.look, outcome)
        if isinstance(outcome, RunRecord) and isinstance(self._session, Races):
            self._cards.add(outcome.prepared.device.hardware_id)
        if task.look.phase == "turns":
            self._take_turn(taken)
        elif task.look.phase != "check" or taken.withdrawn:
            self._judge(taken, best_s)

    def take_back(self, look: Look, fastest_s: float) -> None:
        """Believe a look no longer: its machine was slow."""
        self._race.take_back(look, fastest_s)

    def gone(self, machine: str) -> None:
        """Note that a machine takes no more turns."""
        self._race.gone(machine)

    def _measured(self, session: Measures, task: LookTask) -> Brought:
        def measure() -> Brought:
            try:
                return session.measure(task.config, self.workload, task.options)
            except ExplorerError as error:
                return error

        return self.take(task, measure)

    # ---- the search

    def _propose(self) -> int | None:
        """Return what the sampler proposes; None when enough was tried or nothing is left."""
        if self._enough_tried:
            self._stopped_by = "evaluations"
            return None
        place = self._sampler.ask(self._proposed)
        if place is None:
            return None
        self._proposed.add(place)
        return self._numbers[place]

    @property
    def _enough_tried(self) -> bool:
        most = self._options.budget.evaluations
        return most is not None and len(self._proposed) >= most

    def _time_is_up(self) -> bool:
        seconds = self._options.budget.seconds
        if seconds is None or not self._evaluations:
            return False
        kept_s = 0.0
        if self._options.final:
            kept_s = final_s(seconds, self._race.best_s, self._look_times.beside_s)
        return self._clock() - self._began >= seconds - kept_s

    def _final_is_over(self) -> bool:
        """Return whether another round of the final would end after its time."""
        rounds, spent_s = self._race.leaders.round, self._spent_s[1]
        return spent_s + spent_s / max(1, rounds) > self._final_s

    def _left_s(self) -> float:
        """Return what is left of a budget in seconds; infinite without one."""
        seconds = self._options.budget.seconds
        return math.inf if seconds is None else max(0.0, seconds - (self._clock() - self._began))

    def _judge(self, taken: Taken, best_s: float | None) -> None:
        """Note what came of a look of the search, and tell everybody."""
        look = taken.look
        if taken.record is None and not taken.withdrawn:
            return  # it comes once more
        outcome: Outcome = (
            "failed" if taken.withdrawn else "pruned" if taken.gave_up else "measured"
        )
        if taken.record is None:
            self._note(look.number, outcome, reason=str(taken.error))
        else:
            samples_s = taken.record.figures_s()
            median_s, reason = middle(samples_s), None
            if taken.suspect is not None:
                reason = f"suspect: {taken.suspect}"
            elif taken.gave_up:
                beside = speed_than(median_s / (best_s or median_s), "the best")
                reason = f"given up: {beside}"
            self._note(
                look.number,
                outcome,
                median_s=median_s,
                min_s=float(samples_s.min()),
                samples=len(samples_s),
                reason=reason,
            )
            self._device = self._device or DeviceSummary.of(self._device_of(taken.record))
        if look.phase == "survey" or taken.withdrawn:
            self._tell(self._places[look.number], taken)
        self._give_up_if_hopeless()

    def _tell(self, place: Place, taken: Taken) -> None:
        """Tell the sampler of a first look, and hand over the run of a contender."""
        if taken.withdrawn or taken.record is None:
            self._sampler.failed(place)
            return
        median_s = taken.record.median_s()
        self._sampler.measured(place, median_s, pruned=taken.gave_up)
        if not taken.gave_up:
            self._handover.put(taken.record)

    def _note(
        self,
        number: int,
        outcome: Outcome,
        *,
        median_s: float | None = None,
        min_s: float | None = None,
        samples: int = 0,
        reason: str | None = None,
    ) -> None:
        place = self._places[number]
        made = Evaluation(
            number=len(self._evaluations) + 1,
            config=self.space.legal[place],
            outcome=outcome,
            median_s=median_s,
            min_s=min_s,
            samples=samples,
            reason=reason,
            time_s=self._clock() - self._began,
            again=place in self._taken,
        )
        self._taken.add(place)
        self._evaluations.append(made)
        best = self._best
        if best is not None and best.config == made.config:
            self._best = next(iter(leading(self._evaluations)), None)
        elif outcome == "measured" and (best is None or _median_s(made) < _median_s(best)):
            self._best = made
        self.on_progress(
            TuningProgress(
                phase="search",
                done=len(self._taken),
                total=self._total(),
                elapsed_s=made.time_s,
                best=self._best,
                latest=made,
            )
        )

    def _total(self) -> int | None:
        """Return how many configurations there will be; None when the time decides."""
        budget, all_of_them = self._options.budget, len(self.space.legal)
        if budget.evaluations is not None:
            return min(budget.evaluations, all_of_them)
        return all_of_them if budget.seconds is None else None

    @property
    def _all_failed(self) -> bool:
        return all(e.outcome == "failed" for e in self._evaluations)

    def _give_up_if_hopeless(self) -> None:
        if len(self._evaluations) >= HOPELESS and self._all_failed:
            raise WorkFailed(
                f"the first {len(self._evaluations)} configurations all failed: {self._reasons()}",
                remedy="see that the kernel runs as it is, with 'gpuexplorer run'",
            )

    def _reasons(self) -> str:
        failed = (e.reason for e in self._evaluations if e.outcome == "failed")
        counted = Counter(filter(None, failed))
        (reason, times), *_ = counted.most_common(1) or [("there are none", 1)]
        return f"{reason} ({times} times)" if times > 1 else f"{reason}"

    # ---- the final

    def _take_turn(self, taken: Taken) -> None:
        """Take in a finalist's turn."""
        look = taken.look
        if taken.record is not None and taken.suspect is None:
            kept = self._turns.setdefault(look.number, taken.record)
            if kept is not taken.record:
                kept.extend(taken.record)
                kept.prepared = replace(kept.prepared, device=self._device_of(kept))
            kept.end(STOPPED_BY)
        elif taken.withdrawn:
            reason = (
                f"suspect: {taken.suspect}" if taken.suspect else f"in the final: {taken.error}"
            )
            self._note(look.number, "failed", reason=reason)

    @property
    def _spent_s(self) -> tuple[float, float]:
        """How long the search and the final have taken by now."""
        now = self._clock()
        ended = now if self._search_ended is None else self._search_ended
        return ended - self._began, now - ended

    def _device_of(self, record: RunRecord) -> DeviceInfo:
        """Return what a record is said to be of; of a cluster that is the kind of hardware."""
        if isinstance(self._session, Races):
            return find_device(self._session.devices, record.prepared.config.device)
        return record.prepared.device

    def _named(self) -> Tuning:
        """Return the document with what the turns name."""
        finished = []
        for number in self._race.leaders.ranked():
            record = self._turns.get(number)
            if record is None or self._race.runners[number].withdrawn:
                continue
            result = record.result()
            if result.timing.suspect is not None:
                reason = f"suspect: {result.timing.suspect}"
                self._note(number, "failed", reason=reason)
            else:
                finished.append(Finished(number, result))
                self._handover.put(record)
        if not finished:
            raise WorkFailed(f"none of the leaders could be measured again: {self._reasons()}")
        named = named_of(finished, self._race.leaders.compared, self.space.start)
        return self._document(self._stopped_by, untested=len(self._race.crowd), **named)

    def _document(self, stopped_by: StoppedBy, **named: Any) -> Tuning:
        options, space, start = self._options, self.space, self.space.start
        search_s, final_s = self._spent_s
        return Tuning(
            id=self.id,
            time_utc=self._time_utc,
            workload=start.workload,
            variant=start.variant,
            size=start.size,
            precision=start.precision,
            source_sha256=self.workload.sha256,
            device=self._device,
            cards=tuple(sorted(self._cards)),
            threads=start.threads,
            sampler=options.sampler,
            racing=options.racing,
            seed=options.seed,
            samples=options.samples,
            budget=options.budget,
            space=SpaceSummary(
                axes=dict(zip(space.names, space.values, strict=True)),
                configurations=len(space.legal),
                refused=space.refused,
            ),
            evaluations=self.evaluations,
            start=start,
            start_refused=space.start_refused,
            stopped_by=stopped_by,
            search_s=search_s,
            final_s=final_s,
            best_again=self._race.checks,
            disturbed=self._race.disturbances,
            **named,
        )


def _median_s(evaluation: Evaluation) -> float:
    return evaluation.median_s or 0.0
