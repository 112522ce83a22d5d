"""Do our times of a launch agree with others' on this GPU? Prints a table; exits 1 if they do not.

Each size of a vector addition is timed by this program (hot and cold), as NVBench times a hot batch
(two events around many launches), by ``triton.testing.do_bench`` (cold), and by CUPTI's records, as
far as they are installed. Above 20 µs they must agree within 2 %, at 5 µs within 10 %. What is
missing here is a dash. ``--json F`` writes the seconds.
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from gpuexplorer.backends.cuda import CudaBackend, activity, timing
from gpuexplorer.backends.cuda.runner import CudaRunner
from gpuexplorer.core.config import Cache, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList, Unavailable
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads import loader
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.planning import make_plan
from tests.gpu.hardware import fitting

SIZES = (1 << 16, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28)
ARRAYS_B = 12
"""Bytes that one element of each of the three arrays takes; two runners hold them."""
BATCH = 64
ROUNDS = 9
COLUMNS = ("hot", "nvbench_hot", "cold", "do_bench", "cupti_hot", "cupti_cold")
PAIRS = (("hot", "nvbench_hot"), ("cold", "do_bench"), ("hot", "cupti_hot"), ("cold", "cupti_cold"))
"""Ours, and what it must agree with."""


def runner_of(backend: CudaBackend, gpu: DeviceInfo, size: int, cache: Cache) -> CudaRunner:
    """Return a runner with its arrays filled, launched once."""
    workload = loader.load()["vector_add"]
    request = RunRequest(
        workload="vector_add", variant="direct", size={"N": size}, device=gpu.id, cache=cache
    )
    plan = make_plan(workload, complete(request, workload, DeviceList(devices=(gpu,))), gpu)
    runner = backend.runner(plan, gpu)
    assert isinstance(runner, CudaRunner)
    runner.build()
    runner.allocate()
    runner.upload(make_inputs(plan))
    runner.settle(float(runner.launch(1).seconds[0]))
    return runner


def ours_s(runner: CudaRunner) -> float:
    """Return the median of our own batches."""
    batches = [runner.launch(BATCH).seconds for _ in range(ROUNDS)]
    return float(np.median(np.concatenate(batches)))


def nvbench_hot_s(runner: CudaRunner) -> float:
    """Return the mean launch of two events around a batch, as NVBench has it; median of rounds."""
    import cupy

    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    means = []
    for _ in range(ROUNDS):
        with runner.session.cupy_stream:
            start.record()
            for _ in range(BATCH):
                runner._run_once()
            end.record()
        end.synchronize()
        means.append(cupy.cuda.get_elapsed_time(start, end) * 1e-3 / BATCH)
    return float(np.median(means))


def do_bench_s(runner: CudaRunner) -> float | None:
    """Return Triton's median, on the stream of the runner; None without Triton."""
    try:
        torch: Any = importlib.import_module("torch")
        testing: Any = importlib.import_module("triton.testing")
    except ImportError:
        return None
    with torch.cuda.stream(torch.cuda.ExternalStream(runner.session.stream)):
        return float(testing.do_bench(runner._run_once, return_mode="median")) * 1e-3


def cupti_s(runner: CudaRunner) -> float | None:
    """Return the median of CUPTI's records, whatever ours are timed by; None without CUPTI."""
    records = activity.open_records()
    if isinstance(records, str):
        return None
    work = timing.Work(runner._run_once, runner._between, runner._operations)
    seconds = [
        timing.time_launches(runner.session, work, BATCH, gated=True, records=records).seconds
        for _ in range(ROUNDS)
    ]
    return float(np.median(np.concatenate(seconds)))


def tolerance(seconds: float) -> float:
    """Return how far two ways may differ: 2 % above 20 µs, 10 % below."""
    return 0.02 if seconds >= timing.SHORT_S else 0.10


def main() -> int:
    """Measure and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    target = parser.parse_args().json
    backend = CudaBackend(threads=1)
    found = backend.discover()
    if isinstance(found, Unavailable):
        print(f"{found.reason}: {found.remedy}")
        return 3
    gpu = found[0]
    rows, far = [], 0
    print(f"{gpu.name}, {gpu.driver}")
    print(f"{'N':>10}" + "".join(f"{column:>13}" for column in COLUMNS))
    for size in SIZES:
        if fitting(size, 2 * ARRAYS_B, gpu.limits.memory_B, share=0.5) < size:
            print(f"{size:>10}  does not fit this GPU")
            continue
        hot, cold = (runner_of(backend, gpu, size, cache) for cache in ("hot", "cold"))
        row: dict[str, float | None] = {
            "hot": ours_s(hot),
            "nvbench_hot": nvbench_hot_s(hot),
            "cold": ours_s(cold),
            "do_bench": do_bench_s(cold),
            "cupti_hot": cupti_s(hot),
            "cupti_cold": cupti_s(cold),
        }
        methods = {"hot_method": hot.method, "cold_method": cold.method}
        hot.free()
        cold.free()
        rows.append({"N": size, **row, **methods})
        print(f"{size:>10}" + "".join(f"{quantity(row[c], 's'):>13}" for c in COLUMNS))
        for mine, other in PAIRS:
            ours, theirs = row[mine], row[other]
            if ours is None or theirs is None or abs(ours / theirs - 1) <= tolerance(theirs):
                continue
            print(f"{'':>10}{mine} and {other} differ by {ours / theirs - 1:+.1%}")
            # A launch of a few microseconds: Triton's events hold the launch's overhead, and
            # records leave out the gap between launches that events around a batch hold.
            far += theirs >= 5e-6 and not (other == "do_bench" and theirs < timing.SHORT_S)
    if target is not None:
        target.write_text(json.dumps({"device": gpu.name, "rows": rows}, indent=1))
    backend.close()
    print(f"{far} differ by more than they may")
    return 1 if far else 0


if __name__ == "__main__":
    raise SystemExit(main())
