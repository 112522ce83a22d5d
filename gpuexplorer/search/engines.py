"""Engines by their number of CPU threads, which holds for an engine's life."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import ClassVar

from gpuexplorer.core.accesses import AccessLook, AccessProfile
from gpuexplorer.core.closing import Closing
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession, RunProgress
from gpuexplorer.workloads.workload import Workload


class Engines(Closing):
    """One engine at a time, started afresh when a configuration wants other threads."""

    side_by_side: ClassVar[bool] = False

    def __init__(
        self, open_session: Callable[[int | None], EngineSession], threads: int | None
    ) -> None:
        """``open_session`` starts an engine with so many CPU threads; None: its default."""
        self._open = open_session
        self._running = ExitStack()
        first = self._running.enter_context(open_session(threads))
        try:
            self.devices: DeviceList = first.devices()
        except BaseException:
            self._running.close()
            raise
        known = {device.threads for device in self.devices if device.threads is not None}
        self._by_threads: dict[int | None, EngineSession] = {
            None: first,
            **dict.fromkeys(known, first),
        }

    def close(self) -> None:
        """End what it holds."""
        self._running.close()

    def measure(
        self,
        config: RunConfig,
        workload: Workload,
        options: RunOptions,
        *,
        on_progress: Callable[[RunProgress], None] | None = None,
    ) -> RunRecord:
        """Measure as ``EngineSession.measure`` does, on an engine with the threads wanted."""
        session = self._with_threads(config.threads)
        return session.measure(config, workload, options, on_progress=on_progress)

    def accesses(self, config: RunConfig, workload: Workload, look: AccessLook) -> AccessProfile:
        """Count what a warp asks of memory, as ``EngineSession.accesses`` does."""
        return self._with_threads(config.threads).accesses(config, workload, look)

    def _with_threads(self, threads: int | None) -> EngineSession:
        if threads not in self._by_threads:
            if not self.side_by_side:
                self._by_threads.clear()
                self._running.close()
            started = self._running.enter_context(self._open(threads))
            self._by_threads[threads] = started
            self._by_threads.setdefault(None, started)
        return self._by_threads[threads]


class Several(Engines):
    """Engines side by side, so that configurations of all take turns.

    Starting one takes seconds where a framework is imported, so each stays; between its turns it
    waits for a message and takes no time.
    """

    side_by_side = True
