"""Tuning: search the blocks and tunables for the fastest, then let the leaders decide in turns.

A sampler proposes, a race gives up clear losers after a few samples, and what was dropped while
the machine was disturbed is judged again. The leaders are then measured in turns before one is
named, with all that cannot be told from it.
"""

from __future__ import annotations

import math
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import Any, Literal

import numpy as np

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.core.result import DeviceSummary, RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.tuning import (
    Budget,
    Evaluation,
    Outcome,
    SpaceSummary,
    StoppedBy,
    Tuning,
)
from gpuexplorer.core.units import ratio as ratio_words
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.search.outcome import passes
from gpuexplorer.search.tune_final import run_final
from gpuexplorer.search.tune_naming import bar_s, finalists_of, named_of
from gpuexplorer.search.tune_race import (
    FIRST_SAMPLES,
    Watch,
    clear_loser,
    doubtful,
    first_look_s,
)
from gpuexplorer.search.tune_sampler import make_sampler
from gpuexplorer.search.tune_space import Place, TuningSpace
from gpuexplorer.workloads.workload import Workload

SAMPLES = 7
MOST_LOOK_S = 2.0
"""One configuration is sampled for no longer, however few samples that makes."""
WARM_UP_S = 0.25
"""Launches before the very first sample: a device that rested runs slower at first."""
FINAL_SHARE = 0.25
"""Share of a budget in seconds that is kept for the final."""
MOST_FINAL_S = 15.0
RECALLED = (1.6, 1.4, 1.3)
"""Who typically took at most so many times the bar is judged once more, and once more, ..."""
MOST_RECALLED = 48
HOPELESS = 20
"""So many failures, and nothing measured yet: the next one would fail as well."""


@dataclass(frozen=True)
class Options:
    """How to tune; a budget without limits tries everything."""

    sampler: str = "tpe"
    budget: Budget = field(default_factory=Budget)
    samples: int = SAMPLES
    racing: bool = True
    final: bool = True
    seed: int = 1
    allow_long: bool = False


@dataclass(frozen=True)
class Progress:
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
        session: Measures,
        workload: Workload,
        space: TuningSpace,
        options: Options,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raise what ``make_sampler`` raises."""
        self.id = uuid.uuid4().hex
        self._session, self._workload, self.space = session, workload, space
        self._options = options
        self._sampler = make_sampler(options.sampler, space, options.seed)
        self._clock = clock
        self.on_progress: Callable[[Progress], None] = lambda progress: None
        """Follows every configuration and every round of the final."""
        self.on_result: Callable[[RunResult], None] = lambda result: None
        """Is given the document of each contender and finalist."""
        self._watch = Watch(clock)
        self._taken: set[Place] = set()
        self._again: deque[Place] = deque()
        self._evaluations: list[Evaluation] = []
        self._looks_at: dict[str, list[float]] = {}
        """The medians of every look at each configuration, by its key."""
        self._best: Evaluation | None = None
        self._device: DeviceSummary | None = None
        self._enough = False
        self._time_utc = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._began = self._search_ended = clock()
        self._looks = self._disturbed = 0

    # ---- asked from outside, in any thread

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

        Raises WorkFailed when nothing can be measured, EngineGone when no engine is left. What
        else the session raises (an interruption) is let through; ``so_far`` is then what is known.
        """
        self._began = self._clock()
        stopped_by = self._search()
        if self._options.racing and self._options.final and self._best is not None:
            self._recall()
        self._search_ended = self._clock()
        if self._best is None:
            raise WorkFailed(f"none of the configurations could be measured: {self._reasons()}")
        if not self._options.final:
            return self._document(stopped_by)
        return self._final(stopped_by)

    def so_far(self) -> Tuning:
        """Return what is known of a tuning that was interrupted: no final, nothing named."""
        self._search_ended = self._clock()
        return self._document("user")

    # ---- the search

    def _search(self) -> StoppedBy:
        while True:
            ended = self._over()
            if ended is not None:
                return ended
            if self._options.racing and self._watch.due:
                self._look_at_best()
            if self._again and self._watch.steady:
                self._judge(self._again.popleft(), again=True)
                continue
            place = None if self._enough_tried else self._next()
            if place is not None:
                self._taken.add(place)
                self._judge(place)
            elif self._again:
                self._judge(self._again.popleft(), again=True)
            else:
                return "evaluations" if self._enough_tried else "space"

    def _recall(self) -> None:
        """Judge those near the bar anew in rounds, each in another order, before the final.

        A machine is not equally fast at all times, and a few launches in a row meet only one of
        its moods: good luck leads to the final, bad luck keeps from it. Rounds even that out.
        """
        order = np.random.default_rng(self._options.seed)
        for limit in RECALLED:
            limit_s = limit * bar_s(self._looks_at)
            typical_s = {key: median(found) for key, found in self._looks_at.items()}
            near = [
                place
                for place, config in self.space.legal.items()
                if typical_s.get(config.key, math.inf) <= limit_s
            ]
            near = sorted(near, key=lambda p: typical_s[self.space.legal[p].key])[:MOST_RECALLED]
            for number in order.permutation(len(near)).tolist():
                if self._over() is not None:
                    return
                self._judge(near[number], again=True)

    def _next(self) -> Place | None:
        """Return the next place; the first is what one gets without tuning."""
        if not self._taken and (start := self.space.start_place) is not None:
            return start
        return self._sampler.ask(self._taken)

    def _over(self) -> StoppedBy | None:
        if self._enough:
            return "user"
        return "time" if self._time_is_up() else None

    @property
    def _enough_tried(self) -> bool:
        most = self._options.budget.evaluations
        return most is not None and len(self._taken) >= most

    def _time_is_up(self) -> bool:
        seconds = self._options.budget.seconds
        if seconds is None or not self._evaluations:
            return False
        kept = min(FINAL_SHARE * seconds, MOST_FINAL_S) if self._options.final else 0.0
        return self._clock() - self._began >= seconds - kept

    def _judge(self, place: Place, *, again: bool = False) -> None:
        """Measure one configuration, or give it up early, and tell everybody."""
        config = self.space.legal[place]
        try:
            record, lost = self._race(config)
            median_s, reason = self._figures(record, lost=lost)
        except EngineGone:
            raise
        except ExplorerError as error:
            if passes(error) and not again:
                self._again.append(place)
                return
            self._note(config, "failed", reason=str(error), again=again)
            self._sampler.failed(place)
            self._give_up_if_hopeless()
            return
        samples_s = record.samples_s()
        outcome: Outcome = "pruned" if lost else "failed" if reason else "measured"
        self._watch.judged(place)
        if outcome == "failed":
            self._sampler.failed(place)
        else:
            self._sampler.measured(place, median_s, pruned=lost)
        if lost:
            times = ratio_words(median_s / (self._watch.best_s or median_s), "", 3)
            reason = f"given up: it took {times.strip()} times as long as the best"
        self._note(
            config,
            outcome,
            median_s=median_s,
            min_s=float(samples_s.min()),
            samples=len(samples_s),
            reason=reason,
            again=again,
        )
        if lost and doubtful(samples_s, self._watch.best_s):
            self._look_at_best()

    def _race(self, config: RunConfig) -> tuple[RunRecord, bool]:
        """Return the samples of a configuration, and whether it was given up."""
        options, best_s = self._options, self._watch.best_s
        if not options.racing or best_s is None or options.samples <= FIRST_SAMPLES:
            return self._take(config, options.samples, first=best_s is None), False
        record = self._take(config, FIRST_SAMPLES, first_look_s(best_s, MOST_LOOK_S))
        if clear_loser(record.samples_s(), max(best_s, bar_s(self._looks_at))):
            return record, True
        record.extend(self._take(config, options.samples - record.samples))
        return record, False

    def _take(
        self,
        config: RunConfig,
        samples: int,
        seconds: float = MOST_LOOK_S,
        *,
        first: bool = False,
    ) -> RunRecord:
        options = RunOptions(
            samples=samples,
            seconds=seconds,
            warm_up_s=WARM_UP_S if first else 0.0,
            allow_long=self._options.allow_long,
            keep_arrays=True,
        )
        return self._session.measure(config, self._workload, options)

    def _figures(self, record: RunRecord, *, lost: bool) -> tuple[float, str | None]:
        """Return the median in seconds, and why it cannot be true."""
        if lost:
            return float(np.median(record.samples_s())), None
        result = record.result()
        if self._device is None:
            self._device = result.device
        self.on_result(result)
        suspect = result.timing.suspect
        return result.timing.median_s, f"suspect: {suspect}" if suspect else None

    def _look_at_best(self) -> None:
        """Measure the best again; when the machine is disturbed, others are judged again."""
        best = self._best
        if best is None:
            return
        self._looks += 1
        try:
            record = self._take(best.config, FIRST_SAMPLES)
        except EngineGone:
            raise
        except ExplorerError:  # it ran before: the engine was lost, and is there again
            return
        wronged = self._watch.look(record.samples_s())
        self._disturbed += bool(wronged)
        self._again.extend(p for p in wronged if self.space.legal[p] != best.config)

    def _note(
        self,
        config: RunConfig,
        outcome: Outcome,
        *,
        median_s: float | None = None,
        min_s: float | None = None,
        samples: int = 0,
        reason: str | None = None,
        again: bool = False,
    ) -> None:
        made = Evaluation(
            number=len(self._evaluations) + 1,
            config=config,
            outcome=outcome,
            median_s=median_s,
            min_s=min_s,
            samples=samples,
            reason=reason,
            time_s=self._clock() - self._began,
            again=again,
        )
        self._evaluations.append(made)
        if outcome != "failed" and median_s is not None:
            self._looks_at.setdefault(config.key, []).append(median_s)
        best = self._best
        if outcome == "measured" and (best is None or _median_s(made) < _median_s(best)):
            self._best = made
            self._watch.leads(_median_s(made))
        self.on_progress(
            Progress(
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

    def _give_up_if_hopeless(self) -> None:
        if self._best is None and len(self._evaluations) >= HOPELESS:
            raise WorkFailed(
                f"the first {len(self._evaluations)} configurations all failed: {self._reasons()}",
                remedy="see that the kernel runs as it is, with 'gpuexplorer run'",
            )

    def _reasons(self) -> str:
        counted = Counter(e.reason for e in self._evaluations if e.reason)
        (reason, times), *_ = counted.most_common(1) or [("there are none", 1)]
        return f"{reason}" + (f" ({times} times)" if times > 1 else "")

    # ---- the final

    def _final(self, stopped_by: StoppedBy) -> Tuning:
        """Measure the leaders again in turns, and return the document with what is named."""
        configs, untested = finalists_of(self._evaluations, self.space.start)

        def on_round(done: int, of: int) -> None:
            elapsed_s = self._clock() - self._began
            self.on_progress(Progress("final", done, of, elapsed_s, self._best, None))

        runners = run_final(
            self._session,
            self._workload,
            configs,
            seconds=self._final_s(),
            seed=self._options.seed,
            allow_long=self._options.allow_long,
            on_round=on_round,
            clock=self._clock,
        )
        sound = []
        for runner in runners:
            result = runner.record.result() if runner.record is not None else None
            if runner.failed is not None or result is None:
                self._note(runner.config, "failed", reason=f"in the final: {runner.failed}")
            elif result.timing.suspect is not None:
                self._note(runner.config, "failed", reason=f"suspect: {result.timing.suspect}")
            else:
                sound.append((runner, result))
                self.on_result(result)
        if not sound:
            raise WorkFailed(f"none of the leaders could be measured again: {self._reasons()}")
        named = named_of(sound, self.space.start)
        return self._document(stopped_by, untested=untested, **named)

    def _final_s(self) -> float:
        seconds = self._options.budget.seconds
        if seconds is None:
            return MOST_FINAL_S
        return max(0.0, seconds - (self._clock() - self._began))

    def _document(self, stopped_by: StoppedBy, **named: Any) -> Tuning:
        options, space, start = self._options, self.space, self.space.start
        return Tuning(
            id=self.id,
            time_utc=self._time_utc,
            workload=start.workload,
            variant=start.variant,
            size=start.size,
            precision=start.precision,
            source_sha256=self._workload.sha256,
            device=self._device,
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
            stopped_by=stopped_by,
            search_s=self._search_ended - self._began,
            final_s=self._clock() - self._search_ended,
            best_again=self._looks,
            disturbed=self._disturbed,
            **named,
        )


def _median_s(evaluation: Evaluation) -> float:
    return evaluation.median_s or 0.0
