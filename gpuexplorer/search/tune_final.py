"""The final of a tuning: the leaders measured again in turns, and what can be said of them.

An autotuner's winner is the luckiest sample. The leaders therefore take turns, and what is
quoted are ratios of turns that stood side by side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpuexplorer.core.comparison import FEWEST_PAIRS, Comparison, interval_so_far, ratio_interval
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.engine.interleave import Contender, Interleaving, Measures
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.workloads.workload import Workload

MOST_ROUNDS = 24
TURN_S = 0.05
TURN_SAMPLES = 7
TURN_WARM_UP_S = 0.005
CLEARLY_SLOWER = 1.02
"""Who is slower than the best by more than this leaves the final early."""


@dataclass
class FinalRun:
    """One of the final: its samples so far, and the median of each of its turns."""

    config: RunConfig
    record: RunRecord | None = None
    medians_s: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    out: bool = False
    """Whether it has left as clearly slower."""
    failed: ExplorerError | None = None
    """What went wrong when it was its turn; it has left then, too."""

    @property
    def median_s(self) -> float:
        """The median of its turns, in seconds."""
        return float(np.median(self.medians_s))

    @property
    def present(self) -> bool:
        """Whether it still takes turns."""
        return not self.out and self.failed is None

    def against(self, best: FinalRun) -> Comparison | None:
        """Return its time over that of ``best``; None with too few turns.

        Who left early was looked at after every round, and its interval allows for that.
        """
        turns = min(len(self.medians_s), len(best.medians_s))
        compare = interval_so_far if self.out else ratio_interval
        return compare(best.medians_s[:turns], self.medians_s[:turns])


def run_final(
    session: Measures,
    workload: Workload,
    configs: Sequence[RunConfig],
    *,
    seconds: float,
    seed: int = 1,
    allow_long: bool = False,
    on_round: Callable[[int, int], None] = lambda done, of: None,
    clock: Callable[[], float] = time.monotonic,
) -> list[FinalRun]:
    """Measure configurations in turns and return them, the fastest first and the failed last.

    Goes on for ``seconds`` or ``MOST_ROUNDS``, but at least until ratios have an interval. Who is
    clearly slower drops out, and who fails. ``on_round`` is told the rounds done and the most there
    will be. Raises EngineGone, and what is no ExplorerError.
    """
    began = clock()
    runners = [FinalRun(config) for config in configs]
    options = RunOptions(
        samples=TURN_SAMPLES,
        seconds=TURN_S,
        warm_up_s=TURN_WARM_UP_S,
        allow_long=allow_long,
        keep_arrays=True,
    )
    rounds = 0
    while rounds < MOST_ROUNDS:
        present = [r for r in runners if r.present]
        if not present:
            break
        if rounds >= FEWEST_PAIRS and (len(present) < 2 or clock() - began >= seconds):
            break
        contenders = [Contender(r.config, workload) for r in present]
        turns = Interleaving(contenders, options, seed=seed + rounds)
        try:
            turns.round(session)
        except EngineGone:
            raise
        except ExplorerError as error:  # the round does not count
            present[turns.current].failed = error
            continue
        for runner, turn in zip(present, turns.turns(), strict=True):
            if runner.record is None:
                runner.record = turn.record
            else:
                runner.record.extend(turn.record)
            runner.medians_s = np.append(runner.medians_s, turn.medians_s)
        rounds += 1
        on_round(rounds, MOST_ROUNDS)
        _drop_losers([r for r in runners if r.present])
    whole = [r for r in runners if r.failed is None]
    failed = [r for r in runners if r.failed is not None]
    return sorted(whole, key=lambda r: (r.out, r.median_s)) + failed


def _drop_losers(present: Sequence[FinalRun]) -> None:
    best = min(present, key=lambda r: r.median_s)
    for runner in present:
        found = interval_so_far(best.medians_s, runner.medians_s) if runner is not best else None
        runner.out = found is not None and found.ci95_low > CLEARLY_SLOWER
