"""The block map against exhaustive measurement: does the race find the best, and how much sooner?

    python tests/bench/block_map.py [--size 512] [--variant naive] [--samples 30] [--limit 0.03]

Every power-of-two block up to the device's limit. First the race goes over it by itself; then
every block is measured with ``--samples`` samples, in an order that chance decides; then the best
of the race and the best of the exhaustive measurement are measured in turns. The race has kept its
promise when its best takes at most ``1 + limit`` times what the other takes, and when it needed at
most a quarter (``--share``) of the time. Beside it stands what the block's shape is worth: how many
times as long the tallest block (1 x n) takes as the widest (n x 1).
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import numpy as np

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.knobs import block_words
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.units import percent, quantity
from gpuexplorer.engine.interleave import TurnContestant
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.search.block_grid import FINENESS, make_grid
from gpuexplorer.search.blockmap import BlockMap, MapStep, map_points
from gpuexplorer.search.space import Point
from gpuexplorer.workloads.choose import find_device
from gpuexplorer.workloads.loader import load, pick
from gpuexplorer.workloads.workload import Workload
from tests.support.in_turns import compare_in_turns


def main() -> int:
    """Race, measure everything, compare, print; 1 when it missed the best or took too long."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", default="matmul")
    parser.add_argument("--variant", default="naive")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--grid", choices=[*FINENESS][:3], default="octaves")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=30, help="turns of the two that are compared")
    parser.add_argument("--limit", type=float, default=0.03)
    parser.add_argument("--share", type=float, default=0.25, help="of the exhaustive time, at most")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    workload = pick(load(()), options.workload)
    with EngineSession() as session:
        devices = session.devices()
        device = find_device(devices, options.device)
        request = RunRequest(
            workload=options.workload,
            variant=options.variant,
            size={"": options.size},
            device=device.id,
        )
        dimensions = workload.variant(options.variant).dimensions
        grid = make_grid(options.grid, device.limits, dimensions, (1, 1, 1))
        points = map_points(request, grid, workload, devices)
        made = BlockMap(points, grid, workload, seed=options.seed)

        phases_s: dict[str, float] = {}
        before_s = 0.0

        def say(step: MapStep) -> None:
            nonlocal before_s
            phases_s[step.phase] = phases_s.get(step.phase, 0.0) + made.spent_s - before_s
            before_s = made.spent_s
            cell = step.cell
            print(
                f"{step.phase} {block_words(cell.block)} {quantity(cell.time_s, 's')}, about "
                f"{quantity(step.left_s, 's', 2)} left",
                file=sys.stderr,
            )

        began = time.perf_counter()
        made.run(session.measure, say)
        race_s = time.perf_counter() - began
        began = time.perf_counter()
        medians_s = exhaustive(session, workload, points, options.samples, options.seed)
        exhaustive_s = time.perf_counter() - began
        named = next(p.config for p in points if p.config and p.config.block == made.best)
        best_s, best = min(
            (medians_s[p.number], p.config) for p in points if p.config and p.number in medians_s
        )
        ratio, compared = 1.0, None
        if named.block != best.block:
            compared, _, _ = compare_in_turns(
                session,
                TurnContestant(best, workload),
                TurnContestant(named, workload),
                rounds=options.rounds,
                turn_s=0.1,
            )
            ratio = compared.ratio if compared is not None else float("nan")
    assert named.block is not None and best.block is not None
    by_block_s = {
        p.config.block: medians_s[p.number]
        for p in points
        if p.config and p.config.block and p.number in medians_s
    }
    wide_s = max((block, s) for block, s in by_block_s.items() if block[1:] == (1, 1))[1]
    tall_s = max((block, s) for block, s in by_block_s.items() if block[::2] == (1, 1))[1]
    near = [s for s in medians_s.values() if s <= (1 + options.limit) * best_s]
    kept = bool(ratio <= 1 + options.limit) and race_s <= options.share * exhaustive_s
    print(
        f"the race named {block_words(named.block)} after {quantity(race_s, 's')}, the exhaustive "
        f"measurement {block_words(best.block)} after {quantity(exhaustive_s, 's')}; in turns the "
        f"first takes {ratio:.4f} times the second; {len(made.ties)} tie, {len(near)} of "
        f"{len(medians_s)} blocks lie within {percent(options.limit)}",
        file=sys.stderr,
    )
    print(
        json.dumps(
            {
                "device": device.name,
                "size": options.size,
                "blocks": len(medians_s),
                "race_s": race_s,
                "race_looks": made.race.looks,
                "race_samples": sum(c.samples for c in made.cells),
                "exhaustive_s": exhaustive_s,
                "exhaustive_samples": options.samples * len(medians_s),
                "times_sooner": exhaustive_s / race_s,
                "share": race_s / exhaustive_s,
                "phases_s": phases_s,
                "race_best": named.block,
                "exhaustive_best": best.block,
                "exhaustive_best_s": best_s,
                "ratio_in_turns": ratio,
                "ratio_ci95": [compared.ci95_low, compared.ci95_high] if compared else None,
                "tie_band": sorted(made.ties),
                "within_limit_exhaustively": len(near),
                "tall_against_wide": tall_s / wide_s,
                "limit": options.limit,
                "kept": kept,
            }
        )
    )
    return 0 if kept else 1


def exhaustive(
    session: EngineSession, workload: Workload, points: list[Point], samples: int, seed: int | None
) -> dict[int, float]:
    """Return the median of ``samples`` launches of each point that can run, by its number."""
    legal = [p for p in points if p.config is not None]
    found = {}
    for number, index in enumerate(np.random.default_rng(seed).permutation(len(legal)).tolist()):
        point = legal[index]
        assert point.config is not None
        try:
            record = session.measure(
                point.config, workload, RunOptions(seconds=None, samples=samples, keep_arrays=True)
            )
        except ExplorerError as error:
            print(f"{point.words}: {error}", file=sys.stderr)
            continue
        found[point.number] = float(np.median(record.samples_s()))
        print(
            f"{number + 1} of {len(legal)}: {point.words} {quantity(found[point.number], 's')}",
            file=sys.stderr,
        )
    return found


if __name__ == "__main__":
    raise SystemExit(main())
