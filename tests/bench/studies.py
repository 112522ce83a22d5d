"""How well studies tell: switches that do nothing, the cost beside the samples, the break-even.

    python tests/bench/studies.py [--comparisons 40] [--rounds 12] [--seconds 0.36]

Equal configurations in the turns of a study must be called faster or slower in at most ``CALLED``
of the cases, a run of a study may cost ``OVERHEAD_S`` beside its samples, and the break-even of two
devices must come out the same in two studies, within ``APART``. Ends with 1 when a limit is passed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time

import numpy as np

from gpuexplorer.core.config import RunRequest
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.studies.running import How
from gpuexplorer.studies.speedup import SpeedupLab
from gpuexplorer.studies.turns import Entry, InTurns
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load, pick

CALLED = 0.1
OVERHEAD_S = 0.03
APART = 0.25


def main() -> int:
    """Measure, print one document, and return 1 when a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--comparisons", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.36, help="of samples, of each")
    parser.add_argument("--size", type=int, default=192)
    parser.add_argument("--devices", default="opencl:0,numpy:cpu", metavar="A,B")
    options = parser.parse_args()
    how = How(options.rounds, options.seconds, seed=1)
    workload = pick(load(()), "matmul")
    with EngineSession() as session:
        request = RunRequest(workload="matmul", size={"": options.size}, device="cpu")
        config = complete(request, workload, session.devices())
        verdicts, overheads = [], []
        for _ in range(options.comparisons):
            turns = InTurns(
                [Entry("a", config), Entry("b", config)], workload, how,
                lambda words: None, lambda runs: None,
            )  # fmt: skip
            began = time.perf_counter()
            turns.measure(session)
            took_s = time.perf_counter() - began
            runs = 2 * (1 + turns.rounds)
            sampled_s = sum(sum(run.samples_s) for run in turns.results().values())
            overheads.append((took_s - sampled_s) / runs)
            found = turns.comparison(1)
            if found is None:
                parser.error("these are too few rounds for an interval")
            verdicts.append(found.verdict)
        sizes = []
        for _ in range(2):
            lab = SpeedupLab(
                RunRequest(workload="matmul"), workload, session.devices(), how,
                names=options.devices.split(","), sizes=[16, 32, 64, 128, 256],
            )  # fmt: skip
            study = lab.run(session)
            sizes.append(study.break_even_with.size if study.break_even_with else None)
    called = sum(v in ("faster", "slower") for v in verdicts) / len(verdicts)
    overhead_s = float(np.median(overheads))
    first, second = sizes
    apart = abs(math.log(first / second)) if first and second else None
    held = {
        "called": called <= CALLED,
        "overhead_s": overhead_s <= OVERHEAD_S,
        "apart": first == second if apart is None else apart <= APART,
    }
    document = {
        "comparisons": len(verdicts),
        "verdicts": {word: verdicts.count(word) for word in sorted(set(verdicts))},
        "called": called,
        "overhead_s": overhead_s,
        "break_evens_with_transfers": sizes,
        "apart": apart,
        "limits": {"called": CALLED, "overhead_s": OVERHEAD_S, "apart": APART},
        "held": held,
    }
    print(json.dumps(document, indent=2))
    return 0 if all(held.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
