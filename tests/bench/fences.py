"""What do fences around arrays cost a timed launch? The ratio of both, in turns, on the CPU.

    python tests/bench/fences.py [--rounds R] [--quick]

The same launches run on arrays between fences and on arrays with a pattern around them, as they are
where nothing tells of bad accesses. Exit 1 when the median ratio of one of them is above 1.03.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np

from gpuexplorer.backends.base import Runner
from gpuexplorer.workloads.loader import load
from tests.backends.opencl_support import backend, device, ready_runner

ALLOWED = 1.03
ALLOCATIONS = 5
BATCH_S = 0.02
CASES: tuple[tuple[str, str, int], ...] = (
    ("matmul", "naive", 256),
    ("matmul", "naive", 255),
    ("matmul", "tiled", 500),
    ("stream", "copy", 30_001),
    ("stream", "triad", (1 << 20) + 1),
    ("stream", "triad", 1 << 20),
    ("transpose", "tiled", 1000),
    ("transpose", "naive", 1024),
)


def ratio(workload: str, variant: str, size: int, rounds: int) -> dict[str, Any]:
    """Return the ratio of both ways' shortest launches, round by round, of several allocations.

    Where arrays lie in physical memory decides up to 2 % either way.
    """
    ratios = [r for _ in range(ALLOCATIONS) for r in _ratios(workload, variant, size, rounds)]
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    return {
        "workload": workload, "variant": variant, "size": size,
        "ratio": round(float(middle), 4), "quartiles": [round(float(q), 4) for q in (low, high)],
    }  # fmt: skip


def _ratios(workload: str, variant: str, size: int, rounds: int) -> list[float]:
    session = backend()._session(device())
    runners: dict[bool, Runner] = {}
    for fenced in (True, False):
        session.fences_arrays = fenced
        made, _ = ready_runner(load()[workload], variant=variant, size={"": size})
        made.launch(3)
        made.check_guards()
        runners[fenced] = made
    count = max(1, int(BATCH_S / max(1e-6, float(runners[True].launch(3).seconds.min()))))
    ratios = []
    for turn in range(rounds):
        order = (True, False) if turn % 2 else (False, True)
        best = {fenced: float(runners[fenced].launch(count).seconds.min()) for fenced in order}
        ratios.append(best[True] / best[False])
    for made in runners.values():
        made.free()
    return ratios


def main() -> int:
    """Print each case's ratio; return 1 for one that is too large."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if not backend()._session(device()).fences_arrays:
        print("this system does not tell of bad accesses, so there are no fences")
        return 0
    found = [
        ratio(*case, rounds=3 if options.quick else options.rounds)
        for case in (CASES[:2] if options.quick else CASES)
    ]
    for each in found:
        print(json.dumps(each))
    return int(any(each["ratio"] > ALLOWED for each in found))


if __name__ == "__main__":
    sys.exit(main())
