"""Calibration in the window: runs through the live engine, one after another, in a thread."""

from __future__ import annotations

from collections.abc import Callable

from gpuexplorer.calibration.calibrate import Calibration
from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import CannotRunHere, ExplorerError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.worker import EngineWorker


class CalibrationJob(EngineJob):
    """Measures a device's ceilings and stores them.

    ``stepped`` carries how far it is: done, of how many, what. The outcome is the Ceilings.
    """

    doing = "calibrating"
    done = "calibrated"
    not_done = "not calibrated"

    def __init__(
        self,
        worker: EngineWorker,
        devices: DeviceList,
        device: DeviceInfo,
        store: CeilingStore,
        *,
        quick: bool = False,
        make: Callable[..., Calibration] = Calibration,
    ) -> None:
        super().__init__(worker)
        self.setObjectName("calibration")
        self._store = store
        self._devices, self.device, self._quick = devices, device, quick
        self._make = make

    def work(self) -> Ceilings:
        """Go through the calibration."""
        calibration = self._make(self._devices, self.device, quick=self._quick)
        while (task := calibration.task) is not None:
            self.stepped.emit((calibration.done, calibration.total, task.words))
            candidate = task.candidate
            try:
                options = RunOptions(seconds=task.stage.seconds)
                record = self.measure(candidate.config, candidate.workload, options)
            except CannotRunHere:
                raise
            except ExplorerError as error:
                calibration.failed(error)
            else:
                calibration.took(record.result())
        self.keep_going()
        ceilings = calibration.ceilings()
        self._store.save(ceilings)
        return ceilings
