"""Several configurations measured in turns in one session: the fair way to compare them."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpuexplorer.core.comparison import Comparison, ratio_interval
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.result import RunResult
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.workloads.workload import Workload

ROUNDS = 12
TURN_S = 0.05
"""Seconds of samples in a turn: short beside what disturbs a machine, so that it hits both."""
STOPPED_BY = "turns"


class Measures(Protocol):
    """Something with an engine: a ``Session``, or a job in the window that has its engine."""

    def measure_record(
        self,
        config: RunConfig,
        workload: Workload,
        *,
        seconds: float | None,
        max_noise: float | None = None,
        samples: int | None = None,
        warm_up_s: float | None = None,
        keep_arrays: bool = False,
        allow_long: bool = False,
    ) -> RunRecord:
        """Measure one configuration as ``Session.measure_record`` does."""


@dataclass(frozen=True)
class Contender:
    """One of the configurations that are compared."""

    config: RunConfig
    workload: Workload


@dataclass(frozen=True)
class Turns:
    """What one contender did: all its samples, and the median of each of its turns in order."""

    record: RunRecord
    medians_s: npt.NDArray[np.float64]

    def result(self) -> RunResult:
        """Return the document of all its samples."""
        return self.record.result()


class Interleaving:
    """Contenders in turns, as many rounds as are asked for.

    Chance decides the order of every round. A fixed one would favour somebody: with A first each
    time, whoever comes later runs on a machine that is warmer by one turn; forwards and backwards
    by turns (A B, B A), a disturbance of two turns always hits the same one twice.
    """

    def __init__(
        self,
        contenders: Sequence[Contender],
        *,
        turn_s: float = TURN_S,
        samples: int | None = None,
        warm_up_s: float | None = None,
        keep_arrays: bool = False,
        allow_long: bool = False,
        seed: int | None = None,
    ) -> None:
        """``turn_s`` is how long a turn samples; ``seed`` makes the order repeatable.

        The rest are the choices of ``Session.measure_record``.
        """
        self.contenders = tuple(contenders)
        self._turn_s, self._samples, self._warm_up_s = turn_s, samples, warm_up_s
        self._keep_arrays, self._allow_long = keep_arrays, allow_long
        self._chance = np.random.default_rng(seed)
        self._records: list[RunRecord | None] = [None] * len(self.contenders)
        self._medians_s: list[list[float]] = [[] for _ in self.contenders]
        self.rounds = 0

    def round(self, session: Measures | Sequence[Measures], resting: Collection[int] = ()) -> None:
        """Measure everyone once but those at the places that rest.

        One session measures them all, or each has its own. What a session raises leaves the rounds
        before as they are.
        """
        many = len(self.contenders)
        sessions = list(session) if isinstance(session, Sequence) else [session] * many
        taken: dict[int, RunRecord] = {}
        for index in self._chance.permutation(many).tolist():
            if index in resting:
                continue
            one = self.contenders[index]
            taken[index] = sessions[index].measure_record(
                one.config,
                one.workload,
                seconds=self._turn_s,
                samples=self._samples,
                warm_up_s=self._warm_up_s,
                keep_arrays=self._keep_arrays,
                allow_long=self._allow_long,
            )
        for index, medians_s in enumerate(self._medians_s):
            record = taken.get(index)
            if record is None:
                medians_s.append(math.nan)
                continue
            medians_s.append(float(np.median(record.samples_s())))
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
        """Return the median of each turn of one contender, NaN for a round it rested."""
        return np.array(self._medians_s[index])

    def turns(self) -> list[Turns]:
        """Return what each did, in the order given; nothing before the first round."""
        return [
            Turns(record, self.medians_s(index))
            for index, record in enumerate(self._records)
            if record is not None
        ]


def take_turns(
    session: Measures,
    contenders: Sequence[Contender],
    *,
    rounds: int = ROUNDS,
    turn_s: float = TURN_S,
    samples: int | None = None,
    warm_up_s: float | None = None,
    keep_arrays: bool = False,
    allow_long: bool = False,
    seed: int | None = None,
    on_round: Callable[[int, int], None] | None = None,
) -> list[Turns]:
    """Measure every contender once a round, and return what each did, in the order given.

    Chance decides the order of each round; ``seed`` makes it repeatable. ``turn_s`` is how long a
    turn samples, its launches' verification and a short warm-up apart; ``samples`` ends it earlier,
    after so many. ``warm_up_s`` and ``keep_arrays`` are those of ``Session.measure_record``.
    ``on_round`` is told the rounds done and all. ValueError for no round; the session's errors as
    ``Session.measure`` raises them.
    """
    if rounds < 1:
        raise ValueError("there is at least one round")
    interleaving = Interleaving(
        contenders, turn_s=turn_s, samples=samples, warm_up_s=warm_up_s, keep_arrays=keep_arrays,
        allow_long=allow_long, seed=seed,
    )  # fmt: skip
    for number in range(rounds):
        interleaving.round(session)
        if on_round is not None:
            on_round(number + 1, rounds)
    return interleaving.turns()


def compare_in_turns(
    session: Measures,
    a: Contender,
    b: Contender,
    *,
    rounds: int = ROUNDS,
    turn_s: float = TURN_S,
    allow_long: bool = False,
    seed: int | None = None,
    on_round: Callable[[int, int], None] | None = None,
) -> tuple[Comparison | None, RunResult, RunResult]:
    """Measure A and B in turns; return B's time over A's and both documents.

    The comparison is None for fewer rounds than ``ratio_interval`` needs. Otherwise as
    ``take_turns``.
    """
    first, second = take_turns(
        session, (a, b), rounds=rounds, turn_s=turn_s, allow_long=allow_long, seed=seed,
        on_round=on_round,
    )  # fmt: skip
    return ratio_interval(first.medians_s, second.medians_s), first.result(), second.result()
