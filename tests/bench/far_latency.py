"""An engine on another machine beside the same engine here: first sample, and a knob's latency.

Run ``python tests/bench/far_latency.py``; it needs OpenSSH's server. Prints one JSON document. A
real sshd on a loopback port stands for the other machine; what passes between is delayed by half a
round trip each way. Both engines run in the same environment. The limits are 0.3 s and the link's
round trips for the first sample, one round trip and 20 ms for a knob, beyond what the engine here
takes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gpuexplorer.core.bootstrap import REQUIRED
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import Engine, EngineOptions, Event
from gpuexplorer.engine.machine import Machine
from gpuexplorer.environments import far
from gpuexplorer.environments.kinds import Kind
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from tests.support.bad_link import BadLink
from tests.support.sshd import Sshd
from tests.support.wheels import repack, write_sums

WORKLOAD = load()["vector_add"]
SIZES = (1 << 12, 1 << 13)
TIMEOUT_S = 60.0
CONNECT_ROUND_TRIPS = 9
"""Of TCP, ssh's keys and authentication, its channel, and the engine's own handshake."""


class Watched:
    """An engine and the events it had."""

    def __init__(self, word: str) -> None:
        self.events: list[Event] = []
        self.began = time.perf_counter()
        self.engine = Engine(EngineOptions(python=word, threads=1), self.events.append)
        self.engine.start()

    def until(self, condition: Callable[[], bool]) -> float:
        """Return the seconds until something holds."""
        began = time.perf_counter()
        while not condition():
            self.engine.poll(0.5)
            if time.perf_counter() - began > TIMEOUT_S:
                raise RuntimeError(f"nothing came: {self.events[-2:]}")
        return time.perf_counter() - began

    def devices(self) -> DeviceList:
        """Return its devices."""
        self.engine.list_devices()
        self.until(lambda: any(isinstance(one, protocol.Devices) for one in self.events))
        return next(one.devices for one in self.events if isinstance(one, protocol.Devices))

    def run(self, config: RunConfig) -> float:
        """Measure a configuration instead; return the seconds until its first samples."""
        self.events.clear()
        generation = self.engine.run(config, WORKLOAD)
        return self.until(
            lambda: any(
                isinstance(one, protocol.Samples) and one.generation == generation
                for one in self.events
            )
        )

    def settle(self) -> None:
        """Let it measure for a moment."""
        until = time.perf_counter() + 0.1
        self.until(lambda: time.perf_counter() > until)


def measure(word: str, starts: int, moves: int) -> dict[str, float]:
    """Return the medians of the first sample's time and of a knob's latency, in seconds."""
    first, latencies = [], []
    for start in range(starts):
        one = Watched(word)
        try:
            devices = one.devices()
            configs = [
                complete(
                    RunRequest(
                        workload=WORKLOAD.name, variant="numpy", device="numpy:cpu", size={"N": n}
                    ),
                    WORKLOAD,
                    devices,
                )
                for n in SIZES
            ]
            one.run(configs[0])
            first.append(time.perf_counter() - one.began)
            for move in range(moves if start == starts - 1 else 0):
                latencies.append(one.run(configs[(move + 1) % 2]))
                one.settle()
        finally:
            one.engine.close()
    return {
        "first_sample_s": round(statistics.median(first), 3),
        "knob_s": round(statistics.median(latencies), 4),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--moves", type=int, default=40)
    parser.add_argument("--delays-ms", type=float, nargs="*", default=[0.0, 20.0, 100.0])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        patch.setenv("GPUEXPLORER_CONFIG_DIR", str(folder / "settings"))
        patch.setenv("GPUEXPLORER_DATA_DIR", str(folder / "data"))
        repack(folder / "wheels", REQUIRED)
        write_sums(folder / "wheels")
        requirements = tuple(f"{name}>={oldest}" for name, oldest in REQUIRED.items())
        kind = Kind(name="small", title="Small", teaches="Nothing.", requirements=requirements)
        sshd = Sshd(folder / "box", patch)
        try:
            made = far.make(far.look(Machine.read(sshd.address)), kind, folder / "wheels")
            here = measure(made.python, options.starts, options.moves)
            report: dict[str, object] = {"bench": "far_latency", "here": here}
            for delay_ms in options.delays_ms:
                link = BadLink(sshd.port, delay_ms * 1e-3 / 2)
                sshd.know(ports=(link.port,))
                word = sshd.address_at(link.port) + made.python
                there = measure(word, options.starts, options.moves)
                trip_s = delay_ms * 1e-3
                limits = {
                    "first_sample_s": here["first_sample_s"] + 0.3 + CONNECT_ROUND_TRIPS * trip_s,
                    "knob_s": here["knob_s"] + trip_s + 0.02,
                }
                report[f"{delay_ms:g} ms"] = {
                    **there,
                    "limits": {name: round(limit, 4) for name, limit in limits.items()},
                    "within": {name: there[name] <= limit for name, limit in limits.items()},
                }
                link.close()
        finally:
            sshd.close()
    print(json.dumps(report, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
