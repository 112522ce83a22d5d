"""An engine for each number of CPU threads, side by side, so that configurations of all take turns.

The number of threads holds for an engine's life. Starting one takes seconds where a framework is
imported, so each stays; between its turns it waits for a message and takes no time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import Session
from gpuexplorer.workloads.workload import Workload


class Several:
    """Engines by their number of CPU threads, the first at once and others when they are needed."""

    def __init__(self, open_session: Callable[[int | None], Session], threads: int | None) -> None:
        """``open_session`` starts an engine with so many CPU threads; None: its default."""
        self._open = open_session
        self._stack = ExitStack()
        self._first = self._stack.enter_context(open_session(threads))
        try:
            self.devices: DeviceList = self._first.devices()
        except BaseException:
            self._stack.close()
            raise
        known = {device.threads for device in self.devices if device.threads is not None}
        self._sessions = dict.fromkeys(known, self._first)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def measure_record(
        self,
        config: RunConfig,
        workload: Workload,
        *,
        seconds: float | None,
        max_noise: float | None = None,
        samples: int | None = None,
        warm_up_s: float | None = None,
        keep_arrays: bool = False,
        allow_long: bool = False,
    ) -> RunRecord:
        """Measure as ``Session.measure_record`` does, on the engine with the threads wanted."""
        session = self._first
        if config.threads is not None:
            if config.threads not in self._sessions:
                started = self._stack.enter_context(self._open(config.threads))
                self._sessions[config.threads] = started
            session = self._sessions[config.threads]
        return session.measure_record(
            config,
            workload,
            seconds=seconds,
            max_noise=max_noise,
            samples=samples,
            warm_up_s=warm_up_s,
            keep_arrays=keep_arrays,
            allow_long=allow_long,
        )
