"""All rungs of workloads as ratios in one run: their kernels, and the libraries they climb up to.

    python tests/bench/ladder.py [matmul softmax ...] [--size 512,1024] [--precision fp32,fp64]
                                 [--threads 1,2] [--set packed,DEPTH=64 ...] [--least 0.95]
    python tests/bench/ladder.py --list all|short [--threads 1,2]

Without a name it takes every workload whose kernels and libraries all compute the same; with
``--list`` the problems of a list below, whatever rungs are too slow for them left out.

At each size, precision and number of CPU threads every kernel of the workload, every library that
this machine has for it, and each further word of ``--set`` (as ``gpuexplorer compare`` takes it)
take turns, in an order that chance decides. A rung stands with its speed as a multiple of that of
the rung before and of each library, with the 95 % interval of both, and as a share of the measured
multiply-add rate or memory bandwidth where ``gpuexplorer calibrate`` has been run. Where memory is
the limit it stands beside the fastest copy that any tool here reaches, too, which is measured
before and after. It copies an array of half the bytes that the problem moves: both move as many
then, and fit into the same caches.

Prints a table on standard error and one JSON document; with ``--least`` the exit code is 1 where
the best rung does not reach so much of the best library's speed.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

import gpuexplorer
from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.core.compared import ComparisonResult, Contestant
from gpuexplorer.core.comparison import ratio_interval
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.loader import load, pick
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload

Ratio = dict[str, float]
RIDGE = 10.0
"""Operations a byte below which memory is what counts."""


class Problem(NamedTuple):
    """One problem of a list: what is measured in turns there."""

    workload: str
    size: dict[str, int]
    precision: str = "fp32"
    leave_out: tuple[str, ...] = ()


SLOW = (
    "naive", "uncoalesced", "tiled",
    "block_1d", "block_2d", "vectorized", "double_buffered", "pipelined", "warp_tiled",  # for cards
)  # fmt: skip
SHORT = (
    Problem("matmul", {"N": 1024}, leave_out=SLOW),
    Problem("matmul", {"N": 1024}, "fp64", leave_out=SLOW),
    Problem("vector_add", {"N": 4194304}),
    Problem("reduction", {"N": 4194304}),
    Problem("transpose", {"N": 2048}),
    Problem("softmax", {"B": 1024, "D": 1024}, leave_out=("naive", "block_row")),
    Problem("layer_norm", {"B": 8, "S": 128, "D": 768}, leave_out=("two_passes",)),
    Problem("attention", {"B": 4, "H": 8, "S": 256, "D": 64}, leave_out=("naive", "online")),
)
ALL = (
    *(
        Problem("matmul", {"N": n}, precision, leave_out=SLOW)
        for n in (512, 1024, 2048) for precision in ("fp32", "fp64")
    ),
    Problem("matmul", {"N": 1024}, "fp16", leave_out=SLOW),
    *(
        Problem(workload, {"N": n}, precision)
        for workload, n in (("vector_add", 4194304), ("reduction", 4194304), ("transpose", 2048))
        for precision in ("fp32", "fp64")
    ),
    *(Problem("softmax", {"B": b, "D": d}) for b, d in ((1024, 1024), (4096, 256))),
    *(Problem("layer_norm", {"B": 8, "S": s, "D": d}) for s, d in ((128, 768), (512, 1024))),
    Problem("attention", {"B": 4, "H": 8, "S": 256, "D": 64}),
    Problem("attention", {"B": 1, "H": 8, "S": 1024, "D": 64}, leave_out=("naive", "online")),
    Problem("attention", {"B": 4, "H": 8, "S": 256, "D": 64}, "fp64", leave_out=("naive",)),
    Problem("conv2d", {"B": 8, "C": 32, "K": 64, "H": 32, "R": 3}),
)  # fmt: skip
LISTS = {"all": ALL, "short": SHORT}


def main() -> int:
    """Measure every combination, print each as it is done, and the document at the end."""
    options = parse()
    known = load(())
    names = options.workload or [name for name, one in known.items() if is_ladder(one)]
    problems = LISTS.get(options.list) or [
        Problem(name, sized(pick(known, name), size), precision, tuple(options.leave_out))
        for name, size, precision in product(names, options.size, options.precision)
    ]
    found = []
    for threads in options.threads:
        devices = gpuexplorer.devices(threads=threads)
        for problem in problems:
            step = climb(options, pick(known, problem.workload), devices, threads, problem)
            show(step)
            found.append(step)
    print(json.dumps({"ladders": found}, indent=2))
    short = [s for s in found if not options.least <= s["best_rung_to_best_library"]["ratio"]]
    return 1 if short else 0


def sized(workload: Workload, size: int | None) -> dict[str, int]:
    """Return a size with another value of its first symbol; empty: the manifest's."""
    return {} if size is None else {next(iter(workload.manifest.sizes)): size}


def is_ladder(workload: Workload) -> bool:
    """Return whether a workload has kernels and libraries, and all of them do the same."""
    variants = workload.manifest.variants.values()
    kinds = {v.call is not None for v in variants}
    return kinds == {True, False} and not any(v.reference for v in variants)


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workload", nargs="*")
    parser.add_argument("--list", choices=list(LISTS), help="of problems, in place of all others")
    parser.add_argument(
        "--size", type=numbers, default=[None], help="of the first symbol (default: the manifest's)"
    )
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
    options: argparse.Namespace, workload: Workload, devices: DeviceList, threads: int,
    problem: Problem,
) -> dict[str, Any]:  # fmt: skip
    """Measure all rungs in turns; return them in the manifest's order, libraries last."""
    rungs: list[str] = []
    libraries: list[str] = []
    for name, variant in workload.manifest.variants.items():
        if name in problem.leave_out:
            continue
        request = RunRequest(
            workload=workload.name, variant=name, size=problem.size, precision=problem.precision,
            device=options.device,
        )  # fmt: skip
        try:
            complete(request, workload, devices)
        except (CannotRunHere, InputError):
            continue
        (libraries if variant.call else rungs).append(name)
    rungs += options.set
    device = find_device(devices, options.device)
    elements = copied_instead(options, problem, rungs[0], workload, devices)
    copies = [best_copy(options, problem, elements, devices, threads)] if elements else []
    compared = gpuexplorer.compare(
        *rungs, *libraries, workload=workload.name, size=problem.size, precision=problem.precision,
        device=options.device, threads=threads, rounds=options.rounds, allow_long=True,
    )  # fmt: skip
    copies += [best_copy(options, problem, elements, devices, threads)] if elements else []
    return document(compared, rungs, libraries, device, max(copies, default=None))


def copied_instead(
    options: argparse.Namespace, problem: Problem, rung: str, workload: Workload,
    devices: DeviceList,
) -> int:  # fmt: skip
    """Return how many elements a copy has that moves a problem's bytes; 0: memory is no limit."""
    request = RunRequest(
        workload=workload.name, variant=rung, size=problem.size, precision=problem.precision,
        device=options.device,
    )  # fmt: skip
    config = complete(request, workload, devices)
    plan = make_plan(workload, config, find_device(devices, config.device))
    moved_B = plan.compulsory_read_B + plan.compulsory_write_B
    element_B = PRECISIONS[config.precision].itemsize_B
    return round(moved_B / element_B / 2) if plan.flops < RIDGE * moved_B else 0


def best_copy(
    options: argparse.Namespace, problem: Problem, elements: int, devices: DeviceList, threads: int
) -> float:
    """Return the bandwidth in B/s of the fastest copy of an array of so many elements."""
    device = find_device(devices, options.device)
    calls = {call for one in devices if one.hardware_id == device.hardware_id
             for call in one.libraries}  # fmt: skip
    words = ["copy", "copy:512", *(
        f"copy_{library}" for library in ("numpy", "torch", "cupy") if f"{library}.copy" in calls
    )]  # fmt: skip
    compared = gpuexplorer.compare(
        *words, workload="stream", size=elements, precision=problem.precision,
        device=options.device, threads=threads, rounds=max(6, options.rounds // 2), allow_long=True,
    )  # fmt: skip
    return max(one.run.throughput.bandwidth_B_per_s or 0.0 for one in compared.contestants)


def document(
    compared: ComparisonResult, rungs: list[str], libraries: list[str], device: DeviceInfo,
    copy_B_per_s: float | None,
) -> dict[str, Any]:  # fmt: skip
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
        if copy_B_per_s:
            step["to_the_best_copy"] = (step["bandwidth_B_per_s"] or 0.0) / copy_B_per_s
        steps[name] = step
    best_rung, best_library = (
        min(names, key=lambda n: by_name[n].run.timing.median_s) if names else None
        for names in (rungs, libraries)
    )
    best = {"ratio": float("nan")}
    if best_rung and best_library:
        best = faster(by_name[best_library], by_name[best_rung])
    return {
        "workload": first.config.workload,
        "device": device.name,
        "threads": first.config.threads,
        "size": first.config.size,
        "precision": first.config.precision,
        "rounds": compared.rounds,
        "best_copy_B_per_s": copy_B_per_s,
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
    print(f"{ladder['workload']}: {size}, {ladder['precision']}{threads}", file=sys.stderr)
    for name, step in ladder["steps"].items():
        words = [f"{name:<28}", f"{quantity(step['time_s'], 's'):>9}"]
        if step["flop_per_s"]:  # a transposition computes nothing
            words.append(f"{quantity(step['flop_per_s'], 'FLOP/s'):>13}")
        words.append(f"{quantity(step['bandwidth_B_per_s'] or 0.0, 'B/s'):>10}")
        if "share_of_arithmetic" in step:
            words.append(f"{step['share_of_arithmetic']:4.0%} of the multiply-add rate")
        if "share_of_memory" in step:
            words.append(f"{step['share_of_memory']:4.0%} of the memory bandwidth")
        if "to_the_best_copy" in step:
            words.append(f"best copy × {step['to_the_best_copy']:.2f}")
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
