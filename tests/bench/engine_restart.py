"""How long after SIGKILL a fresh engine has shaken hands, and until its first sample.

Prints JSON: seconds from the kill, over several kills of a live matmul on the CPU device.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import time

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import Engine, EngineOptions, EngineReady, Event
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    seen: list[tuple[float, Event]] = []
    engine = Engine(EngineOptions(), lambda event: seen.append((time.monotonic(), event)))

    def wait(kind: type, after: float) -> float:
        while True:
            for moment, event in seen:
                if moment >= after and isinstance(event, kind):
                    return moment - after
            engine.poll(0.05)

    engine.start()
    engine.list_devices()
    wait(protocol.Devices, 0.0)
    devices: DeviceList = next(e.devices for _, e in seen if isinstance(e, protocol.Devices))
    workload = load()["matmul"]
    request = RunRequest(workload="matmul", size={"N": 256}, device=arguments.device)
    config = complete(request, workload, devices)
    handshakes, first_samples = [], []
    for _ in range(arguments.kills):
        engine.run(config, workload)
        wait(protocol.Samples, time.monotonic())
        pid = engine.pid
        assert pid is not None
        killed = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        handshakes.append(wait(EngineReady, killed))
        engine.run(config, workload)
        first_samples.append(wait(protocol.Samples, killed))
    engine.close()
    print(
        json.dumps(
            {
                "device": config.device,
                "kills": arguments.kills,
                "handshake_s": {
                    "median": statistics.median(handshakes),
                    "max": max(handshakes),
                },
                "first_sample_s": {
                    "median": statistics.median(first_samples),
                    "max": max(first_samples),
                },
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
