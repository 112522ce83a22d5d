"""Engines for searches that vary the number of CPU threads, which holds for an engine's life."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import Session
from gpuexplorer.workloads.workload import Workload


class Engines:
    """One engine at a time, started afresh when a configuration wants other threads."""

    def __init__(self, open_session: Callable[[int | None], Session], threads: int | None) -> None:
        """``open_session`` starts an engine with so many CPU threads; None: its default."""
        self._open = open_session
        self._session = open_session(threads)
        try:
            self.devices: DeviceList = self._session.devices()
        except BaseException:
            self._session.close()
            raise
        self._threads = {d.threads for d in self.devices if d.threads is not None}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session.close()

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
        """Measure as ``Session.measure_record`` does, on an engine with the threads wanted."""
        if config.threads is not None and self._threads != {config.threads}:
            self._session.close()
            self._session = self._open(config.threads)
            self._threads = {config.threads}
        return self._session.measure_record(
            config,
            workload,
            seconds=seconds,
            max_noise=max_noise,
            samples=samples,
            warm_up_s=warm_up_s,
            keep_arrays=keep_arrays,
            allow_long=allow_long,
        )
