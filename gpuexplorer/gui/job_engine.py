"""An engine beside the window's own, for as long as a job lasts."""

from __future__ import annotations

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import Cancelled
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession, RunProgress
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.workloads.workload import Workload


class JobEngine:
    """An engine of this job alone; it stops when the job does."""

    def __init__(self, job: EngineJob, session: EngineSession) -> None:
        self._job, self._session = job, session

    @property
    def pid(self) -> int | None:
        """The engine's process number, while there is one."""
        return self._session.pid

    def devices(self) -> DeviceList:
        """Return what it can run work on."""
        return self._session.devices(on_wait=self._job.keep_going)

    def close(self) -> None:
        """End it."""
        self._session.close()

    def measure(self, config: RunConfig, workload: Workload, options: RunOptions) -> RunRecord:
        """Measure as the job does: not while it is paused, and not once it is cancelled."""
        self._job.keep_going()
        return self._session.measure(config, workload, options, on_progress=self._look)

    def _look(self, _: RunProgress) -> None:
        if self._job.cancelled:
            raise Cancelled
