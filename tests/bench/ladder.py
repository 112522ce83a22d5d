"""All rungs of a workload as ratios in one run: its kernels, and the libraries they climb up to.

    python tests/bench/ladder.py [matmul] [--size 512,1024] [--precision fp32,fp64] [--threads 1,2]
                                 [--set packed,DEPTH=64 ...] [--least 0.95]

At each size, precision and number of CPU threads every kernel of the workload, every library that
this machine has for it, and each further word of ``--set`` (as ``gpuexplorer compare`` takes it)
take turns, in an order that chance decides. A rung stands with its speed as a multiple of that of
the rung before and of each library, with the 95 % interval of both, and as a share of the measured
multiply-add rate or memory bandwidth where ``gpuexplorer calibrate`` has been run.

Prints a table on standard error and one JSON document; with ``--least`` the exit code is 1 where
the best rung does not reach so much of the best library's speed.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import pairwise, product
from typing import Any

import numpy as np

import gpuexplorer
from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.core.compared import ComparisonResult, Contestant
from gpuexplorer.core.comparison import ratio_interval
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.loader import load, pick
from gpuexplorer.workloads.workload import Workload

Ratio = dict[str, float]


def main() -> int:
    """Measure every combination, print each as it is done, and the document at the end."""
    options = parse()
    workload = pick(load(()), options.workload)
    found = []
    for threads in options.threads:
        devices = gpuexplorer.devices(threads=threads)
        for size, precision in product(options.size, options.precision):
            step = climb(options, workload, devices, threads, size, precision)
            show(step)
            found.append(step)
    print(json.dumps({"workload": workload.name, "ladders": found}, indent=2))
    short = [s for s in found if not options.least <= s["best_rung_to_best_library"]["ratio"]]
    return 1 if short else 0


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workload", nargs="?", default="matmul")
    parser.add_argument("--size", type=numbers, default=[512, 1024], help="of the first symbol")
    parser.add_argument("--precision", type=lambda text: text.split(","), default=["fp32"])
    parser.add_argument("--threads", type=numbers, default=[1], help="CPU threads")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--leave-out", type=lambda text: text.split(","), default=[])
    parser.add_argument("--set", action="append", default=[], metavar="WORD", help="one rung more")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--least", type=float, default=0.0, help="of the best library's speed")
    return parser.parse_args()


def numbers(text: str) -> list[int]:
    """Return whole numbers from a list of them."""
    return [int(part) for part in text.split(",")]


def climb(
    options: argparse.Namespace, workload: Workload, devices: DeviceList, threads: int, size: int,
    precision: str,
) -> dict[str, Any]:  # fmt: skip
    """Measure all rungs in turns; return them in the manifest's order, libraries last."""
    rungs: list[str] = []
    libraries: list[str] = []
    for name, variant in workload.manifest.variants.items():
        if name in options.leave_out:
            continue
        request = RunRequest(
            workload=workload.name, variant=name, size={"": size}, precision=precision,
            device=options.device,
        )  # fmt: skip
        try:
            complete(request, workload, devices)
        except (CannotRunHere, InputError):
            continue
        (libraries if variant.call else rungs).append(name)
    rungs += options.set
    compared = gpuexplorer.compare(
        *rungs, *libraries, workload=workload.name, size=size, precision=precision,
        device=options.device, threads=threads, rounds=options.rounds, allow_long=True,
    )  # fmt: skip
    return document(compared, rungs, libraries, find_device(devices, options.device))


def document(
    compared: ComparisonResult, rungs: list[str], libraries: list[str], device: DeviceInfo
) -> dict[str, Any]:
    """Return one ladder: each contestant's rate and share of its roof, and its ratios."""
    by_name = dict(zip([*rungs, *libraries], compared.contestants, strict=True))
    first = compared.contestants[0].run
    before = {later: earlier for earlier, later in pairwise(rungs)}
    steps = {}
    for name, one in by_name.items():
        step: dict[str, Any] = {"time_s": one.run.timing.median_s, **rate(one, device)}
        if name in before:
            step["to_the_rung_before"] = faster(by_name[before[name]], one)
        if name in rungs:
            step["to"] = {library: faster(by_name[library], one) for library in libraries}
        steps[name] = step
    best_rung, best_library = (
        min(names, key=lambda n: by_name[n].run.timing.median_s) if names else None
        for names in (rungs, libraries)
    )
    best = {"ratio": float("nan")}
    if best_rung and best_library:
        best = faster(by_name[best_library], by_name[best_rung])
    return {
        "device": device.name,
        "threads": first.config.threads,
        "size": first.config.size,
        "precision": first.config.precision,
        "rounds": compared.rounds,
        "best_rung": best_rung,
        "best_library": best_library,
        "best_rung_to_best_library": best,
        "steps": steps,
    }


def faster(base: Contestant, one: Contestant) -> Ratio:
    """Return how many times as fast as ``base`` one is, with its 95 % interval if there is one."""
    base_s, ours_s = (np.array(c.turns_s, dtype=np.float64) for c in (base, one))
    found = ratio_interval(ours_s, base_s)
    if found is None:
        return {"ratio": float(np.median(base_s / ours_s))}
    return {
        "ratio": found.ratio,
        "ci95_low": found.ci95_low,
        "ci95_high": found.ci95_high,
    }


def rate(one: Contestant, device: DeviceInfo) -> dict[str, Any]:
    """Return what a contestant reached, and how much of the measured roof that is."""
    rates, ceilings = one.run.throughput, CeilingStore().find(device)
    fma = ceilings.compute(one.run.config.precision) if ceilings else None
    memory = ceilings.memory() if ceilings else None
    found: dict[str, Any] = {
        "flop_per_s": rates.flop_per_s,
        "bandwidth_B_per_s": rates.bandwidth_B_per_s,
    }
    if fma and rates.flop_per_s:
        found["share_of_arithmetic"] = rates.flop_per_s / fma.value
    if memory and rates.bandwidth_B_per_s:
        found["share_of_memory"] = rates.bandwidth_B_per_s / memory.value
    return found


def show(ladder: dict[str, Any]) -> None:
    """Print one ladder as a table."""
    size = ", ".join(f"{symbol} = {value}" for symbol, value in ladder["size"].items())
    threads = "" if ladder["threads"] is None else f", CPU threads: {ladder['threads']}"
    print(f"{size}, {ladder['precision']}{threads}", file=sys.stderr)
    for name, step in ladder["steps"].items():
        words = [f"{name:<28}", f"{quantity(step['time_s'], 's'):>9}"]
        words.append(f"{quantity(step['flop_per_s'] or 0.0, 'FLOP/s'):>13}")
        if "share_of_arithmetic" in step:
            words.append(f"{step['share_of_arithmetic']:4.0%} of the multiply-add rate")
        if "to_the_rung_before" in step:
            words.append(f"rung before × {interval(step['to_the_rung_before'])}")
        words += [f"{library} × {interval(r)}" for library, r in step.get("to", {}).items()]
        print("  ".join(words), file=sys.stderr, flush=True)


def interval(ratio: Ratio) -> str:
    """Return a ratio and its interval in words."""
    if "ci95_low" not in ratio:
        return f"{ratio['ratio']:.2f}"
    return f"{ratio['ratio']:.2f} ({ratio['ci95_low']:.2f} to {ratio['ci95_high']:.2f})"


if __name__ == "__main__":
    sys.exit(main())
