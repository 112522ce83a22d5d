"""Configurations in turns, for tests and benchmarks that want all rounds at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpuexplorer.core.comparison import Comparison, ratio_interval
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.interleave import (
    ROUNDS,
    TURN_S,
    Interleaving,
    Measures,
    TurnContestant,
    Turns,
)


def take_turns(
    session: Measures,
    contestants: Sequence[TurnContestant],
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
    """Measure every contestant once a round, and return what each did, in the order given.

    Chance decides the order of each round; ``seed`` makes it repeatable. ``turn_s`` is how long a
    turn samples, its launches' verification and a short warm-up apart; ``samples`` ends it earlier,
    after so many. ``warm_up_s`` and ``keep_arrays`` are those of ``EngineSession.measure``.
    ``on_round`` is told the rounds done and all. ValueError for no round; the session's errors as
    ``EngineSession.measure`` raises them.
    """
    options = RunOptions(samples, turn_s, None, warm_up_s, allow_long, keep_arrays)
    interleaving = Interleaving(contestants, options, seed=seed)
    for number in range(rounds):
        interleaving.round(session)
        if on_round is not None:
            on_round(number + 1, rounds)
    return interleaving.turns()


def compare_in_turns(
    session: Measures,
    a: TurnContestant,
    b: TurnContestant,
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
