"""What a tuning loses by being spread: more looks than one card would take, by simulation.

``python tests/bench/tune_spread_loss.py [--machines 1,2,8,32] [--seeds 20] [--evaluations 150]``

The same space is tuned by one machine and by several, with noise of 2 % and 15 ms from the end of a
look until what follows from it has begun; launches take 1 ms and more. Told are, as means over the
seeds: looks and launches (the loss is the launches of several over those of one), the time that
passed, by how much that is shorter, and how much slower what was chosen is than the fastest there
is. The first kind tries every configuration, the second as many as ``--evaluations``, which
Optuna's TPE proposes without knowing what the other machines are about to find.
"""

from __future__ import annotations

import argparse
import json
from statistics import mean
from typing import Any

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.tuning import Budget
from gpuexplorer.search.tune import Tuner, TuningOptions
from gpuexplorer.search.tune_space import Ranges, tuning_space
from gpuexplorer.workloads.loader import load
from tests.support.problems import device
from tests.support.simulated import SimulatedMachine
from tests.support.simulated_machines import SimulatedMachines, landscape

MATMUL = load()["matmul"]
DEVICES = DeviceList(devices=(device(threads=1),))
POWERS = tuple(1 << k for k in range(9))
SPACE = tuning_space(
    RunRequest(workload="matmul", variant="tiled", size={"N": 64}),
    MATMUL,
    DEVICES,
    Ranges({"block.x": POWERS, "block.y": POWERS}, {"TILE": (4, 8, 16, 32)}),
)
FASTEST_S = min(map(landscape, SPACE.legal.values()))
NOISE = 0.02
LATENCY_S = 0.015


def tuned(machines: int, seed: int, sampler: str, budget: Budget) -> dict[str, float]:
    """Tune once; return what it took and what came of it."""
    options = TuningOptions(sampler=sampler, budget=budget, seed=seed)
    if machines == 1:
        one = SimulatedMachine(landscape, noise=NOISE, seed=seed)
        found = Tuner(one, MATMUL, SPACE, options, clock=one.clock).run()
        looks, launches, seconds = len(one.runs), sum(n for _, n in one.runs), one.now - 1000.0
    else:
        many = SimulatedMachines(
            landscape, DEVICES, machines, noise=NOISE, latency_s=LATENCY_S, seed=seed
        )
        found = Tuner(many, MATMUL, SPACE, options, clock=many.clock).run()
        looks, launches, seconds = many.looks, many.launches, many.now - 1000.0
    assert found.chosen is not None
    return {
        "configurations": float(found.count("measured") + found.count("pruned")),
        "looks": float(looks),
        "launches": float(launches),
        "seconds": seconds,
        "slower": landscape(found.chosen) / FASTEST_S - 1,
    }


def main() -> None:
    """Measure and print, a line for each number of machines; the last line is JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", default="1,2,8,32")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--evaluations", type=int, default=150)
    options = parser.parse_args()
    found: list[dict[str, Any]] = []
    for sampler, budget in (("grid", Budget()), ("tpe", Budget(evaluations=options.evaluations))):
        one: dict[str, float] = {}
        for machines in map(int, options.machines.split(",")):
            runs = [tuned(machines, seed, sampler, budget) for seed in range(options.seeds)]
            row = {name: mean(run[name] for run in runs) for name in runs[0]}
            one = one or row
            row |= {
                "loss": row["launches"] / one["launches"] - 1,
                "faster": one["seconds"] / row["seconds"],
            }
            words = " · ".join(f"{name} {value:.4g}" for name, value in row.items())
            print(f"{sampler} · machines {machines} · {words}", flush=True)
            found.append({"sampler": sampler, "machines": machines, **row})
    print(json.dumps({"space": len(SPACE.legal), "seeds": options.seeds, "rows": found}))


if __name__ == "__main__":
    main()
