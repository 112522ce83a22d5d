"""Several configurations measured in turns in one session: the fair way to compare them."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.workloads.workload import Workload

ROUNDS = 12
TURN_S = 0.05
"""Seconds of samples in a turn: short beside what disturbs a machine, so that it hits both."""
TURN = RunOptions(seconds=TURN_S)
STOPPED_BY = "turns"


class Measures(Protocol):
    """Something with an engine: a ``EngineSession``, or a job in the window that has its engine."""

    def measure(self, config: RunConfig, workload: Workload, options: RunOptions) -> RunRecord:
        """Measure one configuration as ``EngineSession.measure`` does."""


class TurnContestant(msgspec.Struct, frozen=True):
    """One of the configurations that are compared."""

    config: RunConfig
    workload: Workload


class Turns(msgspec.Struct, frozen=True):
    """What one contestant did: all its samples, and the median of each of its turns in order."""

    record: RunRecord
    medians_s: npt.NDArray[np.float64]

    def result(self, *, listed: bool = True) -> RunResult:
        """Return the document of all its samples: a list, or as an array."""
        return self.record.result(listed=listed)


class Interleaving:
    """Contestants in turns, as many rounds as are asked for.

    Chance decides the order of every round. A fixed one would be unfair: with A first each
    time, B always runs on a machine that is warmer by one turn; forwards and backwards
    by turns (A B, B A), a disturbance of two turns always hits the same one twice.
    """

    def __init__(
        self,
        contestants: Sequence[TurnContestant],
        options: RunOptions = TURN,
        *,
        seed: int | None = None,
        on_turn: Callable[[int], None] | None = None,
    ) -> None:
        """``options`` are those of each turn; ``seed`` makes the order repeatable.

        ``on_turn`` is called with the place of the contestant that is measured next.
        """
        self.contestants = tuple(contestants)
        self.current = 0
        """The place of the contestant measured last; after an error, the one that failed."""
        self.options, self._on_turn = options, on_turn
        self._chance = np.random.default_rng(seed)
        self._records: list[RunRecord | None] = [None] * len(self.contestants)
        self._medians_s: list[list[float]] = [[] for _ in self.contestants]
        self.rounds = 0

    def round(self, session: Measures | Sequence[Measures], resting: Collection[int] = ()) -> None:
        """Measure each contestant once, except those at the places ``resting``.

        One session measures them all, or each has its own. What a session raises leaves the rounds
        before as they are.
        """
        many = len(self.contestants)
        sessions = list(session) if isinstance(session, Sequence) else [session] * many
        taken: dict[int, RunRecord] = {}
        for index in self._chance.permutation(many).tolist():
            if index in resting:
                continue
            self.current, one = index, self.contestants[index]
            if self._on_turn is not None:
                self._on_turn(index)
            taken[index] = sessions[index].measure(one.config, one.workload, self.options)
        with interrupts_held():  # all have as many turns
            for index, medians_s in enumerate(self._medians_s):
                record = taken.get(index)
                if record is None:
                    medians_s.append(math.nan)
                    continue
                medians_s.append(record.median_s())
                before = self._records[index]
                if before is None:
                    self._records[index] = record
                else:
                    before.extend(record)
                (before or record).end(STOPPED_BY)
            self.rounds += 1

    def rename(self) -> None:
        """Give the records ids of their own from here on: a document that was made is not these."""
        for record in self._records:
            if record is not None:
                record.id = uuid.uuid4().hex

    def medians_s(self, index: int) -> npt.NDArray[np.float64]:
        """Return the median of each turn of one contestant, NaN for a round it rested."""
        return np.array(self._medians_s[index])

    def resolution_s(self, index: int) -> float:
        """Return that of the clock of one contestant's turns; 0 before the first."""
        record = self._records[index]
        return 0.0 if record is None else record.prepared.resolution_s

    def turns(self) -> list[Turns]:
        """Return what each did, in the order given; nothing before the first round."""
        return [
            Turns(record, self.medians_s(index))
            for index, record in enumerate(self._records)
            if record is not None
        ]
