"""No shipped kernel beats its roof: every workload, variant and precision at its default size.

    python tests/bench/under_the_roofs.py [--device D] [--threads T] [--seconds S] [--calibrate]

Holds each run against the stored ceilings, hot and cold; with --calibrate they are measured first
(quickly, and kept nowhere). Prints each run's share of what the roofs allow it, and exits with 1
when any figure is suspect.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from gpuexplorer.analysis.plausible import Work, least_time
from gpuexplorer.calibration.calibrate import Calibration
from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import CannotRunHere, ExplorerError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.units import percent, quantity
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.choose import complete, device_for_variant, find_device
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload


def configs(workload: Workload, devices: DeviceList, device: DeviceInfo) -> Iterator[RunConfig]:
    """Return every variant and precision that this hardware runs, hot and cold."""
    for name in workload.manifest.variants:
        where = device_for_variant(devices, workload.variant(name), device)
        if where.hardware_id != device.hardware_id:
            continue
        for precision in workload.precisions_of(name):
            for cache in ("hot", "cold"):
                request = RunRequest(
                    workload=workload.name, variant=name, precision=precision, device=where.id,
                    cache=cache,
                )  # fmt: skip
                try:
                    yield complete(request, workload, devices)
                except CannotRunHere:
                    break


def share_of_roof(result: RunResult, ceilings: Ceilings) -> float:
    """Return the least time the roofs allow over the time taken; above 1 is above the roof."""
    timing, rates = result.timing, result.throughput
    (compulsory,) = [t for t in result.traffic if t.kind == "compulsory"]
    flops = (rates.flop_per_s or 0.0) * timing.median_s
    work = Work(flops, compulsory.read_B or 0.0, compulsory.write_B or 0.0, timing.median_s)
    bound = least_time(work, result.config, ceilings)
    roof = ceilings.compute(result.config.precision)
    least_s = [bound[0] if bound else 0.0, flops / roof.value if roof else 0.0]
    return max(least_s) / timing.median_s


def calibrated(session: EngineSession, devices: DeviceList, device: DeviceInfo) -> Ceilings:
    """Measure the ceilings quickly."""
    calibration = Calibration(devices, device, quick=True)
    calibration.run(lambda task: session.measure(*task.asked).result())
    return calibration.ceilings()


def main() -> int:
    """Run everything and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--calibrate", action="store_true")
    options = parser.parse_args()
    found: dict[str, Ceilings | None] = {}
    suspects: list[str] = []
    runs = 0
    with EngineSession(threads=options.threads, ceilings=lambda d: found["ceilings"]) as session:
        devices = session.devices()
        device = find_device(devices, options.device)
        found["ceilings"] = None if options.calibrate else CeilingStore().find(device)
        if options.calibrate:
            found["ceilings"] = calibrated(session, devices, device)
        ceilings = found["ceilings"]
        if ceilings is None:
            print("no ceilings are stored; run 'gpuexplorer calibrate' or give --calibrate")
            return 2
        for workload in load().values():
            for config in configs(workload, devices, device):
                name = f"{workload.name}/{config.variant} {config.precision} {config.cache}"
                try:
                    result = session.measure(
                        config, workload, RunOptions(seconds=options.seconds)
                    ).result()
                except ExplorerError as error:
                    print(f"{name:<38} not run: {error}")
                    continue
                runs += 1
                share = percent(share_of_roof(result, ceilings))
                time = quantity(result.timing.median_s, "s")
                print(f"{name:<38} {time:>9}  {share:>7} of its roof", flush=True)
                if result.timing.suspect is not None:
                    suspects.append(f"{name}: {result.timing.suspect}")
    print(f"{runs} runs, {len(suspects)} above their roof")
    for line in suspects:
        print(f"SUSPECT {line}")
    return 1 if suspects or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
