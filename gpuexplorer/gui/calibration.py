"""Calibration in the window: runs through the live engine, one after another, in a thread."""

from __future__ import annotations

import queue
from collections.abc import Callable

from PySide6.QtCore import QThread, Signal

from gpuexplorer.calibration.calibrate import Calibration
from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.statistics import Summary
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import EngineLost
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import LongRun, error_of
from gpuexplorer.gui.worker import Chunk, EngineWorker, Told

Item = Told | Chunk | Summary | Reading


class CalibrationJob(QThread):
    """Measures a device's ceilings and stores them.

    What the engine says of a ticket below 0 is for this job: ``put`` hands it over.
    ``stepped`` carries how far it is; ``ended`` the Ceilings, the ExplorerError, or None when it
    was cancelled.
    """

    stepped = Signal(object)
    ended = Signal(object)

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
        super().__init__()
        self.setObjectName("calibration")
        self._worker, self._store = worker, store
        self._devices, self.device, self._quick = devices, device, quick
        self._make = make
        self._inbox: queue.SimpleQueue[tuple[int, Item] | None] = queue.SimpleQueue()
        self._ticket = 0
        self._cancelled = False

    def put(self, ticket: int, item: Item) -> None:
        """Take in what the engine says of a run of this job; from the main thread."""
        self._inbox.put((ticket, item))

    def read(self, reading: Reading) -> None:
        """Take in a look at the device's state; from the main thread."""
        self._inbox.put((0, reading))

    def cancel(self) -> None:
        """Stop at the next launch boundary; from the main thread."""
        self._cancelled = True
        self._worker.ask_cancel()
        self._inbox.put(None)

    def run(self) -> None:
        """Go through the calibration."""
        try:
            outcome = self._calibrate()
        except ExplorerError as error:
            outcome = error
        except Exception as error:  # noqa: BLE001 - a bug must not end in silence
            outcome = WorkFailed(f"the calibration failed: {error!r}")
        self.ended.emit(None if self._cancelled else outcome)

    def _calibrate(self) -> object:
        calibration = self._make(self._devices, self.device, quick=self._quick)
        while (task := calibration.task) is not None and not self._cancelled:
            self.stepped.emit((calibration.done, calibration.total, task.words))
            self._ticket -= 1
            candidate = task.candidate
            self._worker.ask_run(
                self._ticket, candidate.config, candidate.workload, seconds=task.stage.seconds
            )
            try:
                result = self._await()
            except CannotRunHere:
                raise
            except ExplorerError as error:
                calibration.failed(error)
            else:
                if result is not None:
                    calibration.took(result)
        if self._cancelled:
            return None
        ceilings = calibration.ceilings()
        self._store.save(ceilings)
        return ceilings

    def _await(self) -> RunResult | None:
        """Return the result of the run that was asked for; None when it was cancelled."""
        record: RunRecord | None = None
        while True:
            got = self._inbox.get()
            if got is None or self._cancelled:
                return None
            ticket, item = got
            if isinstance(item, Reading):
                if record is not None:
                    record.add_reading(item)
            elif ticket != self._ticket:
                continue
            elif isinstance(item, protocol.Prepared):
                record = RunRecord(item)
            elif isinstance(item, Chunk) and record is not None:
                for batch in item.batches:
                    record.add(batch)
            elif isinstance(item, protocol.Finished) and record is not None:
                record.end(item.stopped_by, item.phases_s)
                return record.result()
            elif isinstance(item, protocol.Failed):
                raise error_of(item)
            elif isinstance(item, protocol.NeedsConfirmation):
                raise LongRun(item.predicted_s)
            elif isinstance(item, protocol.Cancelled):
                raise WorkFailed("the run was cancelled before it had a sample")
            elif isinstance(item, EngineLost):
                kind = WorkFailed if item.restarting else CannotRunHere
                raise kind(item.reason)
