"""A/A: how often does the interval of the ratio of two equal configurations contain 1?

    python tests/bench/aa.py [--comparisons 100] [--rounds 10] [--turn 0.02] [--size 256]

Every comparison measures the same configuration as A and as B, in turns. The promise is 93 to 97
of 100. A wide interval keeps it easily, so its width is reported beside it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import numpy as np

from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.units import percent, quantity
from gpuexplorer.engine.interleave import TurnContestant
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load, pick
from tests.support.in_turns import compare_in_turns


def main() -> int:
    """Compare a configuration with itself again and again, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", default="matmul")
    parser.add_argument("--variant")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--comparisons", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--turn", type=float, default=0.02, help="seconds of samples in a turn")
    options = parser.parse_args()
    workload = pick(load(()), options.workload)
    found: list[Comparison] = []
    took_s: list[float] = []
    turns_s: list[float] = []
    with EngineSession() as session:
        request = RunRequest(
            workload=options.workload,
            variant=options.variant,
            size={"": options.size},
            device=options.device,
        )
        same = TurnContestant(complete(request, workload, session.devices()), workload)
        for _ in range(options.comparisons):
            started = time.perf_counter()
            comparison, a, b = compare_in_turns(
                session, same, same, rounds=options.rounds, turn_s=options.turn
            )
            took_s.append(time.perf_counter() - started)
            if comparison is None:
                parser.error("these are too few rounds for an interval")
            found.append(comparison)
            turns_s += [a.timing.median_s, b.timing.median_s]
    held = sum(c.ci95_low <= 1 <= c.ci95_high for c in found)
    widths = [(c.ci95_high - c.ci95_low) / 2 for c in found]
    verdicts = [c.verdict for c in found]
    print(
        f"the interval contains 1 in {held} of {len(found)}; half of it is "
        f"{percent(float(np.median(widths)))} (median), {percent(float(np.max(widths)))} (most); "
        f"a comparison took {quantity(float(np.median(took_s)), 's', 2)}; medians "
        f"{quantity(min(turns_s), 's')} to {quantity(max(turns_s), 's')}",
        file=sys.stderr,
    )
    print(
        json.dumps(
            {
                "comparisons": len(found),
                "contains_1": held,
                "half_width_median": float(np.median(widths)),
                "half_width_most": float(np.max(widths)),
                "seconds_each": float(np.median(took_s)),
                "verdicts": {word: verdicts.count(word) for word in sorted(set(verdicts))},
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
