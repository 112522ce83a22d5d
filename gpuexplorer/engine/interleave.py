"""Several configurations measured in turns in one session: the fair way to compare them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    on_round: Callable[[int, int], None] | None = None,
) -> list[Turns]:
    """Measure every contender once a round, and return what each did, in the order given.

    Every other round goes backwards (A B, B A, A B, ...), so that a machine that steadily gets
    slower favours nobody. ``turn_s`` is how long a turn samples, its launches' verification and a
    short warm-up apart; ``samples`` ends it earlier, after so many. ``warm_up_s`` and
    ``keep_arrays`` are those of ``Session.measure_record``. ``on_round`` is told the rounds done
    and all. ValueError for no round; the session's errors as ``Session.measure`` raises them.
    """
    if rounds < 1:
        raise ValueError("there is at least one round")
    records: list[RunRecord | None] = [None] * len(contenders)
    medians_s = np.empty((len(contenders), rounds))
    for number in range(rounds):
        order = range(len(contenders))
        for index in order if number % 2 == 0 else reversed(order):
            one = contenders[index]
            record = session.measure_record(
                one.config,
                one.workload,
                seconds=turn_s,
                samples=samples,
                warm_up_s=warm_up_s,
                keep_arrays=keep_arrays,
                allow_long=allow_long,
            )
            medians_s[index, number] = np.median(record.samples_s())
            records[index] = record if number == 0 else _joined(records[index], record)
        if on_round is not None:
            on_round(number + 1, rounds)
    return [
        Turns(record, medians)
        for record, medians in zip(records, medians_s, strict=True)
        if record is not None
    ]


def compare_in_turns(
    session: Measures,
    a: Contender,
    b: Contender,
    *,
    rounds: int = ROUNDS,
    turn_s: float = TURN_S,
    allow_long: bool = False,
    on_round: Callable[[int, int], None] | None = None,
) -> tuple[Comparison | None, RunResult, RunResult]:
    """Measure A and B in turns; return B's time over A's and both documents.

    The comparison is None for fewer rounds than ``ratio_interval`` needs. Otherwise as
    ``take_turns``.
    """
    first, second = take_turns(
        session, (a, b), rounds=rounds, turn_s=turn_s, allow_long=allow_long, on_round=on_round
    )
    return ratio_interval(first.medians_s, second.medians_s), first.result(), second.result()


def _joined(record: RunRecord | None, later: RunRecord) -> RunRecord:
    assert record is not None
    record.extend(later)
    record.end(STOPPED_BY)
    return record
