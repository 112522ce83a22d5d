"""Is calibration's copy bandwidth what an independent copy reaches? The ratio of both, interleaved.

    python tests/bench/copy_bandwidth.py [--device D] [--threads T] [--rounds R] [--quick]

The product measures its copy candidates through its engine, as ``gpuexplorer calibrate`` does. In
turns with it a process of its own, in which nothing of the product is loaded, copies arrays of the
same size with NumPy and with PyTorch on the same number of threads, and times that with the host's
clock. Each side's bandwidth is the median of its fastest ``STRETCH`` copies in a row. On a GPU the
independent copy is PyTorch's, timed with its own events. Exit 1 when they differ by more than 15 %.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

import numpy as np

from gpuexplorer.calibration.calibrate import STRETCH, rate_of
from gpuexplorer.calibration.plan import stages
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.units import quantity
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.choose import find_device

ALLOWED = 0.15
SECONDS = 2.0

CHILD = r"""
import json, sys, time
from statistics import median
device, threads, elements, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])

def report(name, times):
    print(json.dumps({"name": name, "times_s": times}), flush=True)

def cpu_times(copy):
    copy()
    times = []
    for _ in range(count):
        before = time.perf_counter()
        copy()
        times.append(time.perf_counter() - before)
    return times

if device == "cpu":
    import numpy as np
    a = np.random.default_rng(1).random(elements)
    b = np.zeros_like(a)
    if threads == 1:  # NumPy copies with one thread, whatever is asked for
        report("NumPy", cpu_times(lambda: np.copyto(b, a)))
        assert np.array_equal(a, b)
    try:
        import torch
    except ImportError:
        sys.exit()
    torch.set_num_threads(threads)
    source, target = torch.from_numpy(a), torch.from_numpy(b)
    report("PyTorch", cpu_times(lambda: target.copy_(source)))
else:
    import torch
    source = torch.rand(elements, dtype=torch.float64, device="cuda")
    target = torch.zeros_like(source)
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    target.copy_(source)
    for before, after in events:
        before.record()
        target.copy_(source)
        after.record()
    torch.cuda.synchronize()
    report("PyTorch", [before.elapsed_time(after) * 1e-3 for before, after in events])
"""


def fastest_s(times: list[float]) -> float:
    """Return the median of the fastest stretch of copies in a row."""
    parts = np.array_split(np.array(times), max(1, len(times) // STRETCH))
    return min(float(np.median(part)) for part in parts)


def independent(kind: str, threads: int, elements: int) -> dict[str, float]:
    """Return B/s by library, measured in a process that loads nothing of the product."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment |= {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    device = "cpu" if kind == "cpu" else "cuda"
    count = 4 * STRETCH if kind == "gpu" else 2 * STRETCH
    done = subprocess.run(
        [sys.executable, "-c", CHILD, device, str(threads), str(elements), str(count)],
        capture_output=True, text=True, env=environment, check=True,
    )  # fmt: skip
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {one["name"]: 2 * 8 * elements / fastest_s(one["times_s"]) for one in found}


def main() -> int:
    """Measure both sides in turns and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="the size of calibrate --quick")
    options = parser.parse_args()
    ours: dict[str, float] = {}
    theirs: dict[str, float] = {}
    with EngineSession(threads=options.threads) as session:
        devices = session.devices()
        device = find_device(devices, options.device)
        stage = next(s for s in stages(devices, device, quick=options.quick) if s.kind == "copy")
        elements = stage.candidates[0].config.size["N"]
        print(f"{device.name}, {device.threads or 'no'} CPU threads; {stage.size}")
        for number in range(1, options.rounds + 1):
            for candidate in stage.candidates:
                result = session.measure(
                    candidate.config, candidate.workload, RunOptions(seconds=SECONDS)
                ).result()
                value = rate_of(result).value
                ours[candidate.title] = max(value, ours.get(candidate.title, 0.0))
            for name, value in independent(device.kind, device.threads or 1, elements).items():
                theirs[name] = max(value, theirs.get(name, 0.0))
            ratio = max(ours.values()) / max(theirs.values())
            print(f"after round {number}: ratio {ratio:.3f}", flush=True)
    for side, found in (("calibrate", ours), ("independent", theirs)):
        for name, value in found.items():
            print(f"  {side:<12} {name:<28} {quantity(value, 'B/s')}")
    within = abs(ratio - 1) <= ALLOWED
    print(f"ratio {ratio:.3f}, {'within' if within else 'NOT within'} {ALLOWED:.0%}")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
