"""Configurations of a study measured in turns; one that fails drops out, and the others go on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import TypeVar

import msgspec
import numpy as np

from gpuexplorer.core.comparison import Comparison, Floats, ratio_interval
from gpuexplorer.core.config import EVEN_IF_WRONG, RunConfig
from gpuexplorer.core.errors import ExplorerError, WrongResult
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.studies import Dropped, Measured, Study
from gpuexplorer.core.units import plural
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.engine.interleave import Interleaving, Measures, TurnContestant
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.search.outcome import Failures, measured_once_more
from gpuexplorer.studies.running import How
from gpuexplorer.workloads.workload import Workload

S = TypeVar("S", bound=Study)
MOST_SAMPLES = 2000
"""In a turn: enough for its median, and the document stays small."""
WARM_UP_S = 0.01
"""Launches before each turn's first sample, so that none of it pays for the one before."""
FEWEST_ROUNDS = 6
"""Fewer tell nothing at 95 %."""
ROUNDS_S = 120.0
"""When rounds take long besides their samples (a model that is compiled anew each time), so many
are made as fit into this, but ``FEWEST_ROUNDS`` at least."""


class Entry(msgspec.Struct, frozen=True):
    """One configuration that takes part."""

    label: str
    config: RunConfig


class InTurns:
    """Some configurations of one workload, measured in turns.

    First each runs once, for what cannot run and what gives a wrong result; those drop out and have
    their error in ``failed``. With ``even_if_wrong`` a wrong result is measured all the same. Then
    come the rounds, in which chance decides the order. A first run or a round that fails for a
    reason that passes, such as a killed engine, is made once more.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        workload: Workload,
        how: How,
        step: Callable[[str], None],
        expect: Callable[[int], None],
        *,
        even_if_wrong: bool = False,
    ) -> None:
        """``step`` is told before every run what comes; ``expect`` how many more runs will."""
        self.entries = list(entries)
        self.failed: dict[int, ExplorerError] = {}
        self.rounds = how.rounds
        self._workload, self._how = workload, how
        self._step, self._expect = step, expect
        self._even_if_wrong = even_if_wrong
        self._turns: Interleaving | None = None
        self._slots: list[int] = []
        """The places of those that take part in the rounds, in the order of ``_turns``."""
        self._taken = 0
        """Turns of the round under way, with the one that is being taken."""
        self._made: tuple[tuple[int, int], dict[int, RunResult], dict[int, RunResult]] | None = None
        """The rounds and failures that documents are of, these, and those of who dropped out."""

    def measure(self, session: Measures) -> None:
        """Run each once, then all rounds; raises EngineGone and what is no ExplorerError."""
        self._expect(len(self.entries) * (1 + self.rounds))
        for index in range(len(self.entries)):
            self._try_once(session, index)
        if not self.running:
            return
        self._slots = self.running
        self._turns = Interleaving(
            [TurnContestant(self.entries[i].config, self._workload) for i in self._slots],
            self._options,
            seed=self._how.seed,
            on_turn=self._turn,
        )
        failures = Failures()
        while self._turns.rounds < self.rounds and self.running:
            self._taken, started = 0, monotonic()
            try:
                self._turns.round(session, self._resting())
            except EngineGone:
                raise
            except ExplorerError as error:  # the round is lost
                self._expect(self._taken)
                place = self._slots[self._turns.current]
                if not failures.once_more(place, error):
                    self._drop(place, error)  # it rests from now on
            else:
                failures.clear()
                if self._turns.rounds == 1:
                    self._fewer_rounds(self._turns, monotonic() - started)

    @property
    def running(self) -> list[int]:
        """The places of those that did not fail."""
        return [i for i in range(len(self.entries)) if i not in self.failed]

    @property
    def fewer(self) -> bool:
        """Whether there are fewer rounds than usual, because each takes long."""
        return self.rounds < self._how.rounds

    @property
    def rounds_done(self) -> int:
        """How many rounds were made."""
        return self._turns.rounds if self._turns is not None else 0

    def medians_s(self, index: int) -> Floats:
        """Return the median of each turn, NaN for a round in which it did not run."""
        if self._turns is None or index not in self._slots:
            return np.empty(0)
        return self._turns.medians_s(self._slots.index(index))

    def comparison(self, index: int, reference: int = 0) -> Comparison | None:
        """Return one's time over the reference's.

        None for too few rounds, and where one failed or cannot be true.
        """
        base, run = self.results().get(reference), self.results().get(index)
        if base is None or run is None or base.timing.suspect or run.timing.suspect:
            return None
        clocks_s = base.timing.resolution_s or 0.0, run.timing.resolution_s or 0.0
        return compared(self.medians_s(reference), self.medians_s(index), clocks_s)

    def suspects(self) -> list[str]:
        """Return whose time cannot be true and why, a sentence each."""
        return [
            f"{self.entries[place].label} cannot be true: {run.timing.suspect}."
            for place, run in self.results().items()
            if run.timing.suspect
        ]

    def results(self) -> dict[int, RunResult]:
        """Return the document of everyone who did not fail and has samples, by place."""
        if self._turns is None:
            return {}
        state = (self._turns.rounds, len(self.failed))
        if self._made is None or self._made[0] != state:
            every = self._sampled(self._turns)
            lost = {place: run for place, run in every.items() if place in self.failed}
            there = {place: run for place, run in every.items() if place not in lost}
            self._made = (state, there, lost)
        return self._made[1]

    def dropped(self) -> dict[int, RunResult]:
        """Return the document of everyone who failed after some rounds, by place."""
        self.results()
        return {} if self._made is None else self._made[2]

    def _sampled(self, turns: Interleaving) -> dict[int, RunResult]:
        sampled = [p for p in self._slots if np.isfinite(self.medians_s(p)).any()]
        found = zip(sampled, turns.turns(), strict=True)
        return {place: one.result() for place, one in found}

    # ---- the first run of each

    def _try_once(self, session: Measures, index: int) -> None:
        entry = self.entries[index]
        self._step(f"{entry.label}: first run")
        try:
            self._run_once(session, entry)
        except EngineGone:
            raise
        except WrongResult as error:
            if not self._even_if_wrong:
                self._drop(index, error)
                return
            self._measure_wrong(session, index)
        except ExplorerError as error:
            self._drop(index, error)

    def _measure_wrong(self, session: Measures, index: int) -> None:
        entry = self.entries[index]
        switches = {**entry.config.switches, EVEN_IF_WRONG: True}
        config = msgspec.structs.replace(entry.config, switches=switches)
        try:
            self._run_once(session, Entry(entry.label, config))
        except EngineGone:
            raise
        except ExplorerError as again:  # such as one that holds no numbers any more
            self._drop(index, again)
        else:
            self.entries[index] = Entry(entry.label, config)

    def _run_once(self, session: Measures, entry: Entry) -> RunRecord:
        options = RunOptions(
            samples=1,
            seconds=self._turn_s,
            warm_up_s=0.0,
            allow_long=self._how.allow_long,
            keep_arrays=True,
        )

        def again() -> None:
            self._expect(1)
            self._step(f"{entry.label}: first run")

        return measured_once_more(
            lambda: session.measure(entry.config, self._workload, options), again
        )

    def _turn(self, slot: int) -> None:
        self._step(self.entries[self._slots[slot]].label)
        self._taken += 1

    def _resting(self) -> list[int]:
        return [slot for slot, place in enumerate(self._slots) if place in self.failed]

    def _drop(self, index: int, error: ExplorerError) -> None:
        self.failed[index] = error
        self._expect(-(self.rounds - self.rounds_done))

    @property
    def _turn_s(self) -> float:
        return self._how.seconds / self.rounds

    @property
    def _turn_samples(self) -> int:
        if self._how.samples is None:
            return MOST_SAMPLES
        return min(MOST_SAMPLES, max(1, math.ceil(self._how.samples / self.rounds)))

    @property
    def _options(self) -> RunOptions:
        return RunOptions(
            samples=self._turn_samples,
            seconds=self._turn_s,
            warm_up_s=min(WARM_UP_S, self._turn_s),
            allow_long=self._how.allow_long,
            keep_arrays=True,
        )

    def _fewer_rounds(self, turns: Interleaving, round_s: float) -> None:
        """Make fewer rounds, of longer turns, where the first showed that each takes long.

        The first runs do not show it: what is built, checked and counted there is not done again.
        """
        if self._how.exact:
            return
        beside_s = round_s - len(self.running) * self._turn_s
        fit = int(ROUNDS_S / max(beside_s, 1e-3))
        rounds = min(self.rounds, max(FEWEST_ROUNDS, fit))
        self._expect(len(self.running) * (rounds - self.rounds))
        self.rounds = rounds
        turns.options = self._options


def compared(
    reference_s: Floats, times_s: Floats, clocks_s: tuple[float, float] = (0.0, 0.0)
) -> Comparison | None:
    """Return the ratio of two series of turns with its interval, over the rounds that both ran.

    ``clocks_s`` are the resolutions of the clocks that timed them.
    """
    if len(reference_s) != len(times_s):
        return None
    both = ~(np.isnan(reference_s) | np.isnan(times_s))
    first, second = reference_s[both], times_s[both]
    if not len(first) or min(first.min(), second.min()) <= 0:  # below the clock's resolution
        return None
    return ratio_interval(first, second, clocks_s=clocks_s)


def with_dropped(study: S, every: Iterable[InTurns]) -> S:
    """Return a study's document with those that failed after some rounds, and their runs."""
    notes: list[str] = []
    dropped: list[Dropped] = []
    runs: list[RunResult] = []
    for turns in every:
        for place, run in turns.dropped().items():
            label, reason = turns.entries[place].label, turns.failed[place].what
            rounds = int(np.isfinite(turns.medians_s(place)).sum())
            notes.append(
                plural(
                    rounds,
                    "{label} dropped out after {number} round, which is kept: {reason}.",
                    "{label} dropped out after {number} rounds, which are kept: {reason}.",
                    label=label,
                    reason=reason,
                )
            )
            measured = measured_of(run)
            dropped.append(Dropped(label=label, reason=reason, rounds=rounds, measured=measured))
            runs.append(run)
    return msgspec.structs.replace(
        study, notes=(*notes, *study.notes), dropped=tuple(dropped), runs=[*study.runs, *runs]
    )


def measured_of(run: RunResult) -> Measured:
    """Return the figures of a run as a study has them."""
    check, memory = run.verification, run.memory
    counted = memory is not None and memory.peak_B is not None
    return Measured(
        run=run.id,
        time_s=run.timing.median_s,
        ci95_low_s=run.timing.ci95_low_s,
        ci95_high_s=run.timing.ci95_high_s,
        flop_per_s=run.throughput.flop_per_s,
        rms_rel_error=check.rms_rel_error if check is not None else None,
        max_rel_error=check.max_rel_error if check is not None else None,
        tolerance=check.tolerance if check is not None else None,
        wrong=check is not None and not check.ok,
        memory_B=memory.peak_B if memory is not None else None,
        memory_counter=(memory.counter if counted else memory.reason) if memory else None,
        suspect=run.timing.suspect,
    )
