"""A race whose looks several machines take at a time: what each side is to the other."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.search.runner import Look
from gpuexplorer.workloads.workload import Workload

Brought = RunRecord | ExplorerError
"""What came of a look."""


class LookTask(msgspec.Struct, frozen=True):
    """A look with what it takes to measure it."""

    look: Look
    config: RunConfig
    options: RunOptions


class Course(Protocol):
    """What is raced: it decides each look and is told what came of it, in any order."""

    workload: Workload

    @property
    def references(self) -> Sequence[RunConfig]:
        """What shows whether a machine is slow; the first that can be measured is used."""

    @property
    def done(self) -> bool:
        """Whether there will be no more looks."""

    def next(
        self, going: Collection[Look] = (), *, settled: bool = True, machine: str = ""
    ) -> LookTask | None:
        """Return what a machine measures next; see ``Race.next`` for when there is nothing."""

    def took(self, task: LookTask, outcome: RunRecord | ExplorerError) -> None:
        """Take in what came of a look."""

    def take_back(self, look: Look, fastest_s: float) -> None:
        """Believe a look no longer: its machine was slow."""

    def gone(self, machine: str) -> None:
        """Note that a machine takes no more turns."""


@runtime_checkable
class Races(Protocol):
    """Machines of the same hardware that take looks at a time: a cluster."""

    devices: DeviceList
    """One for each hardware; what is raced names one of them."""

    def race(self, course: Course) -> Generator[None]:
        """Measure until the course is done; yields now and then, and closing it ends all.

        Raises EngineGone when nothing can measure any more, and what the course raises.
        """
