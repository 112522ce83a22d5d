"""An engine with every event it had, and what tests ask it to measure."""

from __future__ import annotations

import time
from collections.abc import Callable

from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import Engine, EngineOptions, Event
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload

MATMUL = load()["matmul"]


class Watched:
    """An engine and every event it had."""

    def __init__(self, options: EngineOptions | None = None) -> None:
        self.events: list[Event] = []
        self.times: list[float] = []
        self.log: list[str] = []
        self.engine = Engine(options or EngineOptions(), self._take, self.log.append)
        self.engine.start()

    def _take(self, event: Event) -> None:
        self.events.append(event)
        self.times.append(time.monotonic())

    def until(self, condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
        limit = time.monotonic() + timeout_s
        while not condition():
            self.engine.poll(0.1)
            assert time.monotonic() < limit, self.events[-5:]

    def of(self, kind: type) -> list[Event]:
        return [e for e in self.events if isinstance(e, kind)]

    def wait(self, kind: type, more_than: int = 0, timeout_s: float = 30.0) -> Event:
        self.until(lambda: len(self.of(kind)) > more_than, timeout_s)
        return self.of(kind)[-1]

    def devices(self) -> DeviceList:
        self.engine.list_devices()
        event = self.wait(protocol.Devices)
        assert isinstance(event, protocol.Devices)
        return event.devices


def config(devices: DeviceList, workload: Workload = MATMUL, **changes: object) -> RunConfig:
    request = RunRequest(workload=workload.name, device="cpu")
    for name, value in changes.items():
        setattr(request, name, value)
    return complete(request, workload, devices)
