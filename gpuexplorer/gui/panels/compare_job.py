"""The comparison's work in the window: rounds through the live engine, in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.search.compare import Comparing


class CompareJob(EngineJob):
    """Goes on with a comparison; ``stepped`` carries how everyone stands after each round.

    ``result`` is the document of the rounds done, however the job ended; None for none.
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
        ceilings: Callable[[DeviceInfo], Ceilings | None] | None = None,
    ) -> None:
        """``seconds`` is how long to go on at the most."""
        super().__init__(worker, ceilings=ceilings)
        self.setObjectName("compare")
        self._comparing, self._seconds = comparing, seconds
        self.result: ComparisonResult | None = None

    def work(self) -> object:
        """Measure until it is clear, or the time is up."""
        try:
            self._comparing.measure(self, seconds=self._seconds, on_round=self.stepped.emit)
        finally:
            if self._comparing.rounds:
                self.result = self._comparing.result()
        return self.result
