"""The comparison's work in the window: rounds through the live engine, in a thread of its own.

Whoever is measured in another Python has an engine of its own meanwhile, which ends with the job.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.compared import ComparisonResult, document_and_runs
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.knobs import request_like
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.client import EngineOptions
from gpuexplorer.engine.errors import LongRun
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.gui.job import EngineJob, JobEngine
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.history.keeping import Keeping
from gpuexplorer.search.compare import Comparing, ContestantConfig, Standing
from gpuexplorer.search.side_by_side import Seat, SideBySide
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.workload import Workload


class Present(msgspec.Struct, frozen=True):
    """The window's own engine: its options, and the devices it told."""

    options: EngineOptions
    devices: DeviceList


class CompareJob(EngineJob):
    """Goes on with a comparison.

    ``stepped`` carries how everyone stands after each round, and the seconds that it took so far.
    ``result`` is the document of the rounds done, however the job ended; None for none.
    ``restless`` names the engines that kept the processor busy in another's turn, and ``long``
    says that a launch would take long and that it needs an agreement.
    """

    doing = "comparing"
    done = "compared"
    not_done = "comparison stopped"

    def __init__(
        self,
        worker: EngineWorker,
        comparing: Comparing,
        *,
        seconds: float,
        present: Present,
        keeping: Keeping,
        ceilings: Callable[[DeviceInfo], Ceilings | None] | None = None,
    ) -> None:
        """``seconds`` is how long to go on at the most; ``present`` the window's own engine.

        ``keeping`` takes the rounds as they are measured.
        """
        super().__init__(worker, ceilings=ceilings)
        self.setObjectName("compare")
        self.comparing, self._seconds, self._present = comparing, seconds, present
        self._began = 0.0
        self.keeping = keeping
        self.result: ComparisonResult | None = None
        self.restless: Sequence[str] = ()
        self.long = False

    def work(self) -> object:
        """Measure until it is clear, or the time is up."""
        contestants = self.comparing.contestants
        self._began = self._clock()
        with SideBySide(self._seat) as engines:
            try:
                if not self.comparing.rounds:
                    for contestant in contestants:
                        self._check(contestant, engines)
                self.comparing.measure(
                    [engines.measures(contestant.engine) for contestant in contestants],
                    seconds=self._seconds,
                    on_round=self._round,
                    clock=self._clock,
                )
            except LongRun:
                self.long = True
                raise
            finally:
                self.restless = engines.restless
                if self.comparing.rounds:
                    self.result = self.comparing.result(listed=False)
                    self.keeping.end(*document_and_runs(self.result))
        return self.result

    def _round(self, standings: Sequence[Standing]) -> None:
        self.stepped.emit((standings, self._clock() - self._began))
        self.keeping.offer(lambda: document_and_runs(self.comparing.result(listed=False)))

    def _clock(self) -> float:
        """Return the time without pauses, in seconds."""
        return time.monotonic() - self.waited_s

    def _check(self, contestant: ContestantConfig, engines: SideBySide[Seat]) -> None:
        """Raise what keeps a contestant from running in its own engine, with its name."""
        if contestant.engine == self._present.options.python or contestant.workload is None:
            return  # what the window's engine can run was looked at before
        self.keep_going()
        devices = engines.devices(contestant.engine)
        asked = msgspec.structs.replace(request_like(contestant.config), threads=None)
        try:
            complete(asked, contestant.workload, devices)
        except ExplorerError as error:
            error.what = f"{contestant.label}: {error.what}"
            raise

    def _seat(self, engine: str | None) -> Seat:
        present = self._present
        if engine == present.options.python:
            return _Live(self, present.devices)
        session = EngineSession(
            python=engine, threads=present.options.threads, ceilings=self._ceilings
        )
        return JobEngine(self, session)

    @property
    def engine_pid(self) -> int | None:
        """The process number of the window's own engine."""
        return self._worker.engine_pid


class _Live:
    """The window's own engine as one of several."""

    def __init__(self, job: CompareJob, devices: DeviceList) -> None:
        self._job, self._devices = job, devices

    @property
    def pid(self) -> int | None:
        """The engine's process number."""
        return self._job.engine_pid

    def devices(self) -> DeviceList:
        """Return what it told the window."""
        return self._devices

    def close(self) -> None:
        """Leave it to the window."""

    def measure(self, config: RunConfig, workload: Workload, options: RunOptions) -> RunRecord:
        """Measure as the job does."""
        return self._job.measure(config, workload, options)
