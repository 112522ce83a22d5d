"""What a device can do at most: measured as a job, kept, and lent to what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from gpuexplorer.gui.calibration import CalibrationJob
    from gpuexplorer.gui.session import Session


class Calibrations(QObject):
    """Begins and ends calibrations; the session's store has the outcomes.

    ``stepped`` carries how far one is: done, of how many, what; None when it is over.
    """

    stepped = Signal(object)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._job: CalibrationJob | None = None

    @property
    def current(self) -> CalibrationJob | None:
        """The calibration that is going on."""
        return self._job if self._job is self._session.jobs.current else None

    def begin(self, *, quick: bool = False) -> None:
        """Measure what the chosen device can do at most."""
        session = self._session
        devices, device = session.experiment.devices, session.experiment.device
        if devices is None or device is None:
            return
        from gpuexplorer.gui.calibration import CalibrationJob

        job = CalibrationJob(session.worker, devices, device, session.store, quick=quick)
        job.stepped.connect(self._stepped)
        job.ended.connect(self._ended)
        if session.jobs.begin(job):
            self._job = job

    def cancel(self) -> None:
        """Stop calibrating, and measure on if that was so before."""
        if self.current is not None:
            self.current.cancel()

    def _stepped(self, step: tuple[int, int, str]) -> None:
        if self.current is not None:
            self.stepped.emit(step)

    def _ended(self, _: object) -> None:
        self._job = None
        self.stepped.emit(None)
        run = self._session.live_model.current
        if run is not None and run.record is not None:
            run.record.ceilings = self._session.store.find(run.record.prepared.device)
