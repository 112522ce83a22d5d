"""An engine of its own with every event it had, for checks that end engines on purpose."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from gpuexplorer.core.closing import Closing
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.deadline import said_deadline_s
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sample import Reading
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import Engine, EngineLost, EngineOptions, EngineReady, Event
from gpuexplorer.selftest.context import SelfTestContext
from gpuexplorer.workloads.workload import Workload

POLL_S = 0.05
PATIENCE_S = 120.0
"""How long an engine may take to build, launch and measure, unless the user says that it takes
longer."""
ENDS = (
    protocol.Finished,
    protocol.Cancelled,
    protocol.Failed,
    protocol.NeedsConfirmation,
    EngineLost,
)
"""A run's last messages."""

E = TypeVar("E")


class WatchedEngine(Closing):
    """An engine that is ready; use it in a ``with`` statement."""

    def __init__(self, context: SelfTestContext) -> None:
        self._context = context
        self.events: list[Event] = []
        options = EngineOptions(python=context.options.python, threads=context.options.threads)
        self.engine = Engine(options, self.events.append, context.log)
        self.engine.start()

    def close(self) -> None:
        """End what it holds."""
        self.engine.close()

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of a kind, oldest first."""
        return [e for e in self.events if isinstance(e, kind)]

    def until(self, condition: Callable[[], bool], timeout_s: float, what: str) -> float:
        """Wait for a condition; return the seconds, WorkFailed when they were too many."""
        began = time.monotonic()
        while not condition():
            self._context.check_stop()
            if time.monotonic() - began > timeout_s:
                raise WorkFailed(f"{what} did not come within {timeout_s:.0f} s")
            self.engine.poll(POLL_S)
        return time.monotonic() - began

    def ready(self, restarts: int) -> EngineReady:
        """Wait until the engine has shaken hands after so many restarts."""
        self.until(
            lambda: len(self.of(EngineReady)) > restarts, 60.0, "the answer of a started engine"
        )
        return self.of(EngineReady)[restarts]

    def lost(self, timeout_s: float) -> EngineLost:
        """Wait until the engine's process has ended."""
        self.until(lambda: bool(self.of(EngineLost)), timeout_s, "the end of the engine")
        return self.of(EngineLost)[-1]

    def begin(
        self,
        config: RunConfig,
        workload: Workload,
        seconds: float | None,
        *,
        allow_long: bool = True,
    ) -> int:
        """Ask for a run; return its generation."""
        return self.engine.run(config, workload, RunOptions(seconds=seconds, allow_long=allow_long))

    @property
    def patience_s(self) -> float:
        """How long a step of a run may take here."""
        return max(PATIENCE_S, said_deadline_s() or 0.0)

    def stage(self, *names: str) -> None:
        """Wait until the run is at one of these steps."""
        self.until(
            lambda: any(s.name in names for s in self.of(protocol.Stage)),
            self.patience_s,
            f"the step '{names[0]}'",
        )

    def end_of(self, generation: int) -> Event:
        """Wait for a run's last message, or for its engine's end, and return it."""

        def last() -> Event | None:
            for event in self.events:
                if isinstance(event, ENDS) and event.generation == generation:
                    return event
            return None

        self.until(lambda: last() is not None, self.patience_s, "the end of the run")
        found = last()
        assert found is not None
        return found

    def readings(self) -> list[Reading]:
        """Return the telemetry received so far."""
        return [t.reading for t in self.of(protocol.Telemetry)]
