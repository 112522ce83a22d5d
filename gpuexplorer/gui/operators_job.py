"""The operators of one iteration, recorded through the window's engine."""

from __future__ import annotations

from gpuexplorer.core.config import RunConfig
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.flame import Flame, RecordedProfile
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.workloads.workload import Workload


class OperatorsJob(EngineJob):
    """Records one configuration; ``ended`` carries a ``RecordedProfile``."""

    doing = "recording the operators of one iteration"
    done = "operators recorded"
    not_done = "recording was stopped"

    def __init__(
        self, worker: EngineWorker, config: RunConfig, workload: Workload, *, shapes: bool
    ) -> None:
        super().__init__(worker)
        self.setObjectName("operators")
        self._config, self._workload, self._shapes = config, workload, shapes

    def work(self) -> object:
        """Record, and lay out the flame chart."""
        profile = self.operators(self._config, self._workload, shapes=self._shapes)
        return RecordedProfile(profile, Flame(profile))
