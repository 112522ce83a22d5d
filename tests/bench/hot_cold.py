"""How much longer a launch takes on cold caches, for arrays that fit the last-level cache and not.

Copies arrays whose bytes, input and output together, fit the last-level cache, and some that are
ten times as large as it. Hot and cold launches alternate in one process on the same arrays, so that
a neighbour's load meets both; a hot launch follows an untimed one. Prints a line a size, or JSON:
medians in seconds, and the ratio cold / hot of each pair with its 95 % interval.

A virtual machine names the whole socket's cache and may use a part of it: the small sizes are small
enough for that part, the large one is ten times the cache as named.
"""

from __future__ import annotations

import argparse
import json
import math
import time

import msgspec
import numpy as np

from gpuexplorer.backends.base import Runner
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.intervals import median_interval
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.core.units import quantity
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import make_plan

TIMES_THE_CACHE = 10
MOST_OF_MEMORY = 0.25
LEAST_PAIRS = 10
VARIANTS = {"numpy": "copy_numpy", "torch": "triad_torch"}


class Result(msgspec.Struct):
    """Hot against cold at one size."""

    arrays_B: int
    share_of_cache: float
    pairs: int
    hot_s: float
    cold_s: float
    ratio: float
    ratio_low: float | None
    ratio_high: float | None


def plan_for(device: DeviceInfo, laboratory: Laboratory, nbytes: float) -> Plan:
    """Return a copy whose arrays take about ``nbytes`` together."""
    workload = load()["stream"]
    variant = VARIANTS.get(device.backend, "copy")
    arrays = 3 if variant.startswith("triad") else 2
    most = workload.manifest.sizes["N"].max
    precision = "fp32" if nbytes / arrays / 4 <= most else "fp64"
    elements = min(most, int(nbytes / arrays / PRECISIONS[precision].itemsize_B))
    request = RunRequest(
        workload="stream", variant=variant, size={"N": elements}, precision=precision,
        device=device.id,
    )  # fmt: skip
    return make_plan(workload, complete(request, workload, laboratory.devices()), device)


def compare(laboratory: Laboratory, device: DeviceInfo, nbytes: float, seconds: float) -> Result:
    """Alternate hot and cold launches for about ``seconds``."""
    plan = plan_for(device, laboratory, nbytes)
    cold_config = msgspec.structs.replace(plan.config, cache="cold")
    backend = laboratory._backend(device.backend)
    hot = backend.runner(plan, device)
    cold = backend.runner(msgspec.structs.replace(plan, config=cold_config), device)
    hot.build()
    cold.build()
    hot.allocate()
    hot.upload(make_inputs(plan))
    times: list[tuple[float, float]] = []
    take(hot, cold)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline or len(times) < LEAST_PAIRS:
        times.append(take(hot, cold))
    words = cold.method
    hot.free()
    print(f"# {words}")
    hot_s, cold_s = np.array(times).T
    logs = np.log(cold_s / hot_s)
    interval = median_interval(logs)
    return Result(
        arrays_B=plan.memory_B,
        share_of_cache=plan.memory_B / (device.last_level_cache_B or math.nan),
        pairs=len(times),
        hot_s=float(np.median(hot_s)),
        cold_s=float(np.median(cold_s)),
        ratio=float(np.exp(np.median(logs))),
        ratio_low=math.exp(interval[0]) if interval else None,
        ratio_high=math.exp(interval[1]) if interval else None,
    )


def take(hot: Runner, cold: Runner) -> tuple[float, float]:
    """Return the seconds of a hot and a cold launch on the same arrays."""
    hot_s = float(hot.launch(2).seconds[-1])
    assert cold.adopt(hot)
    cold_s = float(cold.launch(1).seconds[-1])
    assert hot.adopt(cold)
    return hot_s, cold_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="opencl:0", help="such as opencl:0, numpy:cpu, cuda:0")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default: 1)")
    parser.add_argument("--seconds", type=float, default=6.0, help="for each size (default: 6)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    laboratory = Laboratory(arguments.threads)
    device = laboratory.device(arguments.device)
    cache_B = device.last_level_cache_B
    if not cache_B:
        parser.error(f"{device.id} does not say how large its last-level cache is")
    memory_B = device.limits.memory_B or cache_B
    large_B = min(TIMES_THE_CACHE * cache_B, MOST_OF_MEMORY * memory_B)
    sizes = sorted({min(4e6, cache_B / 16), min(16e6, cache_B / 4), large_B})
    print(f"# {device.name}, {device.id}: last-level cache {quantity(cache_B, 'B')}")
    found = [compare(laboratory, device, size, arguments.seconds) for size in sizes]
    laboratory.close()
    if arguments.json:
        print(json.dumps([msgspec.to_builtins(r) for r in found], indent=1))
        return
    for r in found:
        low, high = r.ratio_low or math.nan, r.ratio_high or math.nan
        print(
            f"{quantity(r.arrays_B, 'B')} of arrays ({r.share_of_cache:.3g} x the cache): "
            f"hot {quantity(r.hot_s, 's')}, cold {quantity(r.cold_s, 's')}, "
            f"cold/hot {r.ratio:.3f} [{low:.3f}, {high:.3f}] of {r.pairs} pairs"
        )


if __name__ == "__main__":
    main()
