"""Engines in several Pythons, side by side: each a process of its own, and one measures at a time.

A turn begins once the other engines have left the processor alone: the worker threads of
a parallel library wait in loops for a while after their work, and would take the next one's cores.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Generic, Protocol, TypeVar

from gpuexplorer.core.closing import Closing
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.idle import wait_until_idle
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.engine.interpreters import BUILT_IN
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.workloads.workload import Workload


class Seat(Measures, Protocol):
    """An engine that takes part: a ``EngineSession``, or what stands for the window's own."""

    @property
    def pid(self) -> int | None:
        """The engine's process number, while there is one."""

    def devices(self) -> DeviceList:
        """Return what the engine can run work on."""

    def close(self) -> None:
        """End the engine, or give it back."""


S = TypeVar("S", bound=Seat)


class SideBySide(Closing, Generic[S]):
    """An engine for each word, started when it is first asked; use it in a ``with`` statement."""

    def __init__(self, open_seat: Callable[[str | None], S]) -> None:
        """``open_seat`` starts the engine that a word means, None for the built-in one."""
        self._open = open_seat
        self._seats: dict[str | None, S] = {}
        self._latest: str | None = None
        self.restless: list[str] = []
        """The engines that kept the processor busy in another's turn."""

    def close(self) -> None:
        """End all engines."""
        with ExitStack() as every:
            while self._seats:
                every.callback(self._seats.popitem()[1].close)

    def devices(self, engine: str | None) -> DeviceList:
        """Return the devices of an engine; raises what its start does, with its name."""
        try:
            return self._seat(engine).devices()
        except ExplorerError as error:
            if engine is not None:
                error.what = f"engine '{engine}': {error.what}"
            raise

    def _seat(self, engine: str | None) -> S:
        if engine not in self._seats:
            self._seats[engine] = self._open(engine)
        return self._seats[engine]

    def measures(self, engine: str | None) -> Measures:
        """Return what measures in an engine, in its turn."""
        return _InTurn(partial(self.take_turn, engine))

    def take_turn(self, engine: str | None) -> S:
        """Return an engine once the others have left the processor alone."""
        seat = self._seat(engine)
        others = {other: s.pid for other, s in self._seats.items() if other != engine}
        if engine != self._latest and others:
            if not wait_until_idle(pid for pid in others.values() if pid is not None):
                before = self._latest or BUILT_IN
                if before not in self.restless:
                    self.restless.append(before)
        self._latest = engine
        return seat


class _InTurn:
    """Stands for a session where one is asked for."""

    def __init__(self, take_turn: Callable[[], Seat]) -> None:
        self._take_turn = take_turn

    def measure(self, config: RunConfig, workload: Workload, options: RunOptions) -> RunRecord:
        """Measure as ``EngineSession.measure`` does."""
        return self._take_turn().measure(config, workload, options)
