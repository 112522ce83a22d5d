"""Machines that take a race's looks at a time, on one simulated clock: a cluster's stand-in."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Generator

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.search.several import Course, LookTask
from tests.support.simulated import SimulatedMachine

AT_ONCE = 2
"""Looks that a machine has, as a cluster's worker does."""


class SimulatedMachines:
    """``Races`` over machines of which each is a ``SimulatedMachine`` with noise of its own."""

    def __init__(
        self,
        launch_s: Callable[[RunConfig], float],
        devices: DeviceList,
        number: int,
        *,
        noise: float = 0.0,
        latency_s: float = 0.0,
        seed: int = 1,
    ) -> None:
        """``latency_s`` passes from a look's end until what follows from it is known there."""
        self.devices, self._latency_s = devices, latency_s
        self.now = 1000.0
        self.machines = {
            f"machine {n}": SimulatedMachine(launch_s, noise=noise, seed=seed + 1000 * n)
            for n in range(number)
        }

    def clock(self) -> float:
        """The time in seconds."""
        return self.now

    @property
    def looks(self) -> int:
        """How many were taken."""
        return sum(len(machine.runs) for machine in self.machines.values())

    @property
    def launches(self) -> int:
        """How many samples were taken."""
        return sum(n for machine in self.machines.values() for _, n in machine.runs)

    def race(self, course: Course) -> Generator[None]:
        """Take looks until the course is done, in the order in which they end."""
        free = dict.fromkeys(self.machines, self.now)
        going: list[tuple[float, int, str, LookTask, RunRecord | ExplorerError]] = []
        number = 0
        while True:
            for name, machine in self.machines.items():
                while sum(entry[2] == name for entry in going) < AT_ONCE:
                    asked = course.next(
                        [entry[3].look for entry in going], settled=not going, machine=name
                    )
                    if asked is None:
                        break
                    began = machine.now = max(self.now, free[name])
                    outcome: RunRecord | ExplorerError
                    try:
                        outcome = machine.measure(asked.config, course.workload, asked.options)
                    except ExplorerError as error:
                        outcome = error
                    free[name] = machine.now
                    assert machine.now > began
                    number += 1
                    ends = machine.now + self._latency_s
                    heapq.heappush(going, (ends, number, name, asked, outcome))
            if not going:
                if course.done:
                    return
                continue
            self.now, _, _, task, outcome = heapq.heappop(going)
            course.took(task, outcome)
            yield None


def landscape(config: RunConfig) -> float:
    """Return a launch's time: one place is the fastest, a few are near it, most are far slower."""
    x, y, _ = config.block or (1, 1, 1)
    away = abs(x.bit_length() - 6) + abs(y.bit_length() - 3)
    tiles = abs(config.tunables.get("TILE", 8).bit_length() - 4)
    own = random.Random(config.key).uniform(1.0, 1.15)
    return 1e-3 * 1.3**away * 1.1**tiles * own
