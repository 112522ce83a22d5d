"""Does a comparison call a configuration different from itself, and does it see one 5 % slower?

    python tests/bench/compare_false_alarms.py [--runs 200] [--seed 1] [--device cpu]
        [--pairs 20] [--seconds 20] [--size 200] [--no-device]

First on synthetic timings of a machine that is disturbed in every way at once (``machine`` in
``tests/support/synthetic.py``) and in each by itself: 200 comparisons of a configuration with
itself and 200 with one 5 % slower. Then on the device, with real launches: ``--pairs`` of each; the
slower twin is honest: the same compiled code, whose loop along k is told at its launch to run 5 %
longer over the same arrays; what that adds is multiplied by a zero that the compiler does not know.
Prints one JSON document; the limits stand in it, and the exit code is 1 when a synthetic one is
broken.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.core.comparison import Comparison, interval_so_far
from gpuexplorer.core.config import RunRequest
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.search.compare import AT_MOST_S, Comparing, ContestantConfig
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from tests.support.synthetic import DISTURBANCES, machine, rng

SLOWER = 0.05
MOST_DIFFERENT = 0.05
LEAST_SLOWER = 0.9
LAUNCHES = 20
"""In a synthetic turn."""
ROUNDS = 64

MANIFEST = """format = 1
name = "longer"
title = "A product whose loop may run longer"
summary = "C = A·B, with a part of the loop along k done once more for nothing."

[sizes.N]
min = 20
max = 4096
default = 200

[precisions]
fp32 = { tolerance = 2e-5 }

[arrays]
A = { shape = ["N", "N"], role = "in" }
B = { shape = ["N", "N"], role = "in" }
C = { shape = ["N", "N"], role = "out" }

[scalars]
nothing = { type = "accum", value = 0 }

[work]
flops = "2 * N**3"
read_bytes = "2 * N**2 * itemsize"
write_bytes = "N**2 * itemsize"

[reference]
outputs = { C = "A @ B" }
check = "freivalds"

[variants.naive]
title = "Naive"
teaches = "EXTRA percent of the loop are done twice; what the second time gives counts for nothing."

[variants.naive.tunables.EXTRA]
title = "Percent more steps along k"
values = [0, 5]
default = 0

[[variants.naive.launch]]
source = "longer.cu"
entry = "longer"
block = [16, 16]
grid = ["ceil_div(N, block_x)", "ceil_div(N, block_y)"]
args = ["A", "B", "C", "N", { value = "ceil_div(N * (100 + EXTRA), 100)" }, "nothing"]
"""

SOURCE = """
__global__ void longer(const real *A, const real *B, real *C, int N, int steps,
                       accum nothing)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && col < N) {
        accum sum = 0;
        for (int i = 0; i < steps; i++) {
            int k = i < N ? i : i - N;
            accum counts = i < N ? (accum)1 : nothing;
            sum += counts * (accum)A[row * N + k] * (accum)B[k * N + col];
        }
        C[row * N + col] = (real)sum;
    }
}
"""


def synthetic(kind: str, runs: int, seed: int, slower: float) -> dict[str, Any]:
    """Return the verdicts of synthetic comparisons, each stopped where a real one would be."""
    source = rng(seed)
    which = DISTURBANCES if kind == "all" else (kind,)
    times = machine(source, runs, 2 * ROUNDS * LAUNCHES, which)
    turns = np.median(times.reshape(runs, ROUNDS, 2, LAUNCHES), axis=-1)
    a_first = source.random((runs, ROUNDS)) < 0.5
    a = np.where(a_first, turns[..., 0], turns[..., 1])
    b = (1 + slower) * np.where(a_first, turns[..., 1], turns[..., 0])
    found: list[Comparison] = []
    for one_a, one_b in zip(a, b, strict=True):
        for pairs in range(1, ROUNDS + 1):
            now = interval_so_far(one_a[:pairs], one_b[:pairs])
            if now is not None and (now.verdict != "can't tell" or pairs == ROUNDS):
                found.append(now)
                break
    verdicts = [one.verdict for one in found]
    true = 1 + slower
    return {
        "runs": runs,
        "verdicts": {word: verdicts.count(word) for word in sorted(set(verdicts))},
        "interval_holds_truth": sum(one.ci95_low <= true <= one.ci95_high for one in found),
        "median_rounds": float(np.median([one.pairs for one in found])),
    }


def on_device(device: str, size: int, pairs: int, seconds: float) -> dict[str, Any]:
    """Return the verdicts of real comparisons: of a kernel with itself, and with the slower one."""
    found: dict[str, list[ComparisonResult]] = {"itself": [], "slower": []}
    took_s = []
    with tempfile.TemporaryDirectory() as folder, EngineSession() as session:
        (Path(folder) / "workload.toml").write_text(MANIFEST)
        (Path(folder) / "longer.cu").write_text(SOURCE)
        workload = load([Path(folder)])["longer"]

        def contestant(label: str, extra: int) -> ContestantConfig:
            request = RunRequest(
                workload="longer", size={"N": size}, device=device, tunables={"EXTRA": extra}
            )
            return ContestantConfig(label, complete(request, workload, session.devices()), workload)

        for number in range(pairs):
            for kind, extra in (("itself", 0), ("slower", 5)):
                comparing = Comparing([contestant("A", 0), contestant("B", extra)])
                began = time.perf_counter()
                comparing.measure(session, seconds=seconds)
                took_s.append(time.perf_counter() - began)
                found[kind].append(comparing.result())
                one = found[kind][-1].others[0]
                print(
                    f"{number + 1} of {pairs}, {kind}: {one.verdict}, {one.ratio}, "
                    f"{found[kind][-1].rounds} rounds, {took_s[-1]:.1f} s",
                    file=sys.stderr,
                )
    made: dict[str, Any] = {"device": device, "pairs": pairs, "seconds_at_most": seconds}
    for kind, results in found.items():
        verdicts = [str(result.others[0].verdict) for result in results]
        ratios = [r.others[0].ratio for r in results if r.others[0].ratio is not None]
        made[kind] = {
            "verdicts": {word: verdicts.count(word) for word in sorted(set(verdicts))},
            "ratio_median": float(np.median(ratios)) if ratios else None,
            "ratios": ratios,
            "rounds": [result.rounds for result in results],
            "median_s": float(np.median([r.contestants[0].run.timing.median_s for r in results])),
        }
    made["seconds_each"] = float(np.median(took_s))
    return made


def main() -> int:
    """Count, print, and return 1 when a synthetic limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=AT_MOST_S)
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--no-device", action="store_true")
    options = parser.parse_args()
    made: dict[str, Any] = {
        "limits": {
            "different_from_itself_at_most": MOST_DIFFERENT * options.runs,
            "slower_called_slower_at_least": LEAST_SLOWER * options.runs,
        },
        "synthetic": {},
    }
    held = True
    for number, kind in enumerate((*DISTURBANCES, "all")):
        seed = 1000 * options.seed + number
        itself = synthetic(kind, options.runs, seed, 0.0)
        slower = synthetic(kind, options.runs, seed + 500, SLOWER)
        made["synthetic"][kind] = {"itself": itself, "slower": slower}
        different = sum(itself["verdicts"].get(word, 0) for word in ("faster", "slower"))
        held &= different <= MOST_DIFFERENT * options.runs
        held &= slower["verdicts"].get("slower", 0) >= LEAST_SLOWER * options.runs
    made["synthetic_limits_held"] = held
    if not options.no_device:
        made["device"] = on_device(options.device, options.size, options.pairs, options.seconds)
    print(json.dumps(made, indent=2))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
