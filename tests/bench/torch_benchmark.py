"""Our times beside those of ``torch.utils.benchmark``, in turns in one process.

    python tests/bench/torch_benchmark.py [--device torch:cpu] [--rounds 200] [--json FILE]

MLP forward and attention at two sizes each. The other side is a model written here as PyTorch's
documentation writes it, called in ``Timer("model(*data)").blocked_autorange()`` with as many
threads. In every round both are measured, in an order that chance decides; what counts is the
median over the rounds of our median over theirs: short turns and many, for a machine's speed may
change from one second to the next. Prints one JSON document with the limit, and ends
with 1 when a ratio is further from 1 than that.

On a GPU the Timer waits for its turn's end and so includes what launching costs where that is
longer than the work; we do not. Sizes there are large enough for it not to count.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from gpuexplorer.backends.base import Runner
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.intervals import median_interval
from gpuexplorer.engine.cores import default_threads
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import make_plan

LIMIT = 0.03
TURN_S = 0.02
"""Seconds that each side measures in a round."""
CASES: dict[str, list[tuple[str, dict[str, int]]]] = {
    "cpu": [
        ("mlp", {"B": 64, "D": 512, "H": 1024, "C": 10}),
        ("mlp", {"B": 256, "D": 1024, "H": 1024, "C": 100}),
        ("attention", {"B": 1, "H": 8, "S": 128, "D": 64}),
        ("attention", {"B": 2, "H": 8, "S": 512, "D": 64}),
    ],
    "gpu": [
        ("mlp", {"B": 4096, "D": 4096, "H": 4096, "C": 1000}),
        ("mlp", {"B": 8192, "D": 8192, "H": 8192, "C": 1000}),
        ("attention", {"B": 8, "H": 16, "S": 2048, "D": 64}),
        ("attention", {"B": 8, "H": 16, "S": 4096, "D": 64}),
    ],
}


def theirs(torch: Any, plan: Plan, place: str) -> Callable[[], Any]:
    """Return a call of a model of our own words, with the same weights and data."""
    # Copied into memory that PyTorch aligns, to 64 bytes: from NumPy's, aligned to 16, attention
    # takes 4 % longer.
    inputs = {
        name: torch.from_numpy(values).clone().to(place)
        for name, values in make_inputs(plan).items()
    }
    if plan.model == "torch.attention":
        data = tuple(inputs[name] for name in ("Q", "K", "V"))
        model = torch.nn.functional.scaled_dot_product_attention
    else:
        layers = [torch.nn.Linear(*plan.array(f"W{n}").shape[::-1]) for n in (1, 2, 3)]
        relu = torch.nn.ReLU()
        model = torch.nn.Sequential(layers[0], relu, layers[1], relu, layers[2]).to(place)
        with torch.no_grad():
            for number, layer in enumerate(layers, 1):
                layer.weight.copy_(inputs[f"W{number}"])
                layer.bias.copy_(inputs[f"b{number}"])
        data = (inputs["X"],)
    timer = torch.utils.benchmark.Timer(
        "model(*data)",
        globals={"model": model, "data": data},
        num_threads=torch.get_num_threads(),
    )

    def measure() -> Any:
        with torch.inference_mode():
            return timer.blocked_autorange(min_run_time=TURN_S).median

    return measure


def ours(runner: Runner) -> Callable[[], float]:
    """Return what measures for about a turn with our runner."""
    first_s = float(np.median(runner.launch(3).seconds))
    runner.settle(first_s)
    count = int(min(max(TURN_S / max(first_s, 1e-6), 3), 512))

    def measure() -> float:
        return float(np.median(runner.launch(count).seconds))

    return measure


def compare(
    laboratory: Laboratory, device: DeviceInfo, name: str, size: dict[str, int], rounds: int
) -> dict[str, Any]:
    """Measure both sides in turns."""
    import torch
    import torch.utils.benchmark

    workload = load()[name]
    request = RunRequest(workload=name, variant="torch", size=size, device=device.id)
    plan = make_plan(workload, complete(request, workload, laboratory.devices()), device)
    with laboratory.held(workload, plan.config) as runner:
        sides = (ours(runner), theirs(torch, plan, device.id.partition(":")[2]))
        for side in sides:
            side()
        chance = np.random.default_rng(1)
        times = np.empty((rounds, 2))
        for row in times:
            for index in chance.permutation(2):
                row[index] = sides[index]()
    ratios = times[:, 0] / times[:, 1]
    ratio = float(np.median(ratios))
    low, high = median_interval(ratios) or (None, None)
    return {
        "workload": name,
        "size": size,
        "ours_s": float(np.median(times[:, 0])),
        "torch_utils_benchmark_s": float(np.median(times[:, 1])),
        "ratio": ratio,
        "ratio_low": low,
        "ratio_high": high,
        "ok": abs(ratio - 1) <= LIMIT,
    }


def main() -> int:
    """Measure, print, and return 1 when a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="torch:cpu")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    threads = options.threads or default_threads()
    laboratory = Laboratory(threads)
    device = laboratory.device(options.device)
    try:
        cases = [
            compare(laboratory, device, name, size, options.rounds)
            for name, size in CASES[device.kind]
        ]
    finally:
        laboratory.close()
    held = all(case["ok"] for case in cases)
    document = {
        "bench": "torch_benchmark",
        "device": device.id,
        "name": device.name,
        "driver": device.driver,
        "threads": threads,
        "rounds": options.rounds,
        "limit": LIMIT,
        "limit_held": held,
        "cases": cases,
    }
    text = json.dumps(document, indent=2)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n", encoding="utf-8")
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
