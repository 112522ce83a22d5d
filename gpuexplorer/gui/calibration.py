"""Calibration in the window: runs through the live engine, one after another, in a thread."""

from __future__ import annotations

import time

from gpuexplorer.calibration.calibrate import Calibration, NextRun
from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import CannotRunHere, ExplorerError
from gpuexplorer.engine.errors import EngineKilled
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.job import Progress
from gpuexplorer.gui.worker import EngineWorker


class CalibrationJob(EngineJob):
    """Measures a device's ceilings and stores them.

    ``stepped`` carries a ``Progress`` and the ceilings that were found by then.
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
        brief: bool = False,
    ) -> None:
        """``brief`` takes some five seconds."""
        super().__init__(worker)
        self.setObjectName("calibration")
        self._store, self._devices, self._device = store, devices, device
        self._brief = brief

    def work(self) -> Ceilings:
        """Go through the calibration."""
        calibration = Calibration(self._devices, self._device, brief=self._brief)
        began = time.monotonic()

        def step(task: NextRun) -> None:
            done, total = calibration.done, calibration.total
            spent_s = time.monotonic() - began - self.waited_s
            left_s = spent_s / done * (total - done) if done else None
            self.stepped.emit((Progress(done, total, task.words, left_s), calibration.so_far()))

        ends: tuple[type[ExplorerError], ...] = (CannotRunHere,)
        if self.quiet:  # which is worth nothing without one of its few ceilings, and comes again
            ends = (CannotRunHere, EngineKilled)
        calibration.run(lambda task: self.measure(*task.asked).result(), step, ends=ends)
        self.keep_going()
        ceilings = calibration.ceilings(self._store.before)
        self._store.save(ceilings)
        return ceilings
