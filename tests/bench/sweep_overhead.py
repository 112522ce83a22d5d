"""What a sweep costs beside builds and samples: configurations a minute, milliseconds of each.

    python tests/bench/sweep_overhead.py [--size N] [--samples N] [--rounds N] [--no-store]

Prints one JSON document. For each configuration the whole (from asking the engine to the commit in
the store) is split into its build, its samples and the rest: checking, one verified launch, the
comparison with float64, the document, the store. ``verified_launch`` is an estimate of the
launch in the rest, which no harness that checks its results can do without. The limit is on the
rest's median.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.result import RunResult
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.history.store import Store
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.search.space_sweep import SpaceSweep
from gpuexplorer.search.sweep import SweepStep
from gpuexplorer.workloads.loader import load

LIMIT_MS = 10.0


def main() -> int:
    """Sweep, and print what it cost; 0 when the rest is within the limit."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--samples", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--no-store", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, EngineSession() as session:
        store = None if options.no_store else Store.open(Path(folder) / "history.sqlite")
        rounds = [
            one_sweep(session, store, options.size, options.samples, seed)
            for seed in range(options.rounds)
        ]
        if store is not None:
            store.close()
    last = rounds[-1]
    ok = last["rest_ms"]["median"] <= LIMIT_MS
    print(json.dumps({"rounds": rounds, "limit_rest_ms": LIMIT_MS, "ok": ok}, indent=2))
    return 0 if ok else 1


def one_sweep(
    session: EngineSession, store: Store | None, size: int, samples: int, seed: int
) -> dict[str, Any]:
    """Sweep tiled matmul over blocks and TILE; return the costs of its configurations."""
    workload = load()["matmul"]
    base = RunRequest(workload="matmul", variant="tiled", device="cpu", size={"N": size})
    axes = (
        Axis("tunable.TILE", (4, 8, 16, 32)),
        Axis("block.x", (1, 2, 4, 8, 16, 32, 64)),
        Axis("block.y", (1, 2, 4, 8, 16, 32, 64)),
    )
    began: dict[int, float] = {}
    whole_s: list[float] = []
    split: list[tuple[float, float, float]] = []

    def on_step(step: SweepStep) -> None:
        now = time.perf_counter()
        if not step.ended:
            began[step.index] = now
        elif step.cell.result is not None:
            whole_s.append(now - began[step.index])
            split.append(_split(step.cell.result))

    space_sweep = SpaceSweep(
        Space(base, axes),
        workload,
        session.devices(),
        Measuring(samples=samples, seconds=5.0, warm_up_s=0.0),
        seed=seed,
        store=store,
        on_step=on_step,
    )
    started = time.perf_counter()
    space_sweep.run(session)
    total_s = time.perf_counter() - started
    rest_s = [w - b - s for w, (b, s, _) in zip(whole_s, split, strict=True)]
    return {
        "configurations": len(whole_s),
        "per_minute": round(60 * len(whole_s) / total_s),
        "between_ms": round(1e3 * (total_s - sum(whole_s)) / len(whole_s), 3),
        "whole_ms": _figures(whole_s),
        "build_ms": _figures([b for b, _, _ in split]),
        "samples_ms": _figures([s for _, s, _ in split]),
        "rest_ms": _figures(rest_s),
        "verified_launch_ms": _figures([v for _, _, v in split]),
        "rest_without_its_launch_ms": _figures(
            [r - v for r, (_, _, v) in zip(rest_s, split, strict=True)]
        ),
    }


def _split(result: RunResult) -> tuple[float, float, float]:
    return result.phases_s.compile or 0.0, sum(result.samples_s), result.timing.median_s


def _figures(values: list[float]) -> dict[str, float]:
    return {
        "median": round(1e3 * statistics.median(values), 3),
        "mean": round(1e3 * statistics.mean(values), 3),
        "p90": round(1e3 * statistics.quantiles(values, n=10)[-1], 3),
    }


if __name__ == "__main__":
    sys.exit(main())
