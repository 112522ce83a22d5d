"""The brief calibration that comes by itself, the first time a device has nothing to do."""

from __future__ import annotations

from collections import Counter

from PySide6.QtCore import QObject, QTimer

from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.engine.protocol import STAGES
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings

IDLE_MS = 3000
"""So long nothing is measured before it begins."""
MOST_TRIES = 3
"""So often it is tried: its engine may be ended, or the machine be too busy for a launch."""


class IdleCalibration(QObject):
    """Calibrates the chosen device in five seconds, once, while nothing else is measured.

    It ends as soon as anything is to be measured, and begins again the next time. A device that
    was calibrated before, in brief or in full, is left alone, and so is one that could not be.
    """

    def __init__(self, session: Session, settings: Settings) -> None:
        super().__init__(session)
        self._session, self._settings = session, settings
        self._failed: set[str] = set()
        self._tries: Counter[str] = Counter()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(IDLE_MS)
        self._timer.timeout.connect(self._begin)
        for signal in (session.state_changed, session.devices_changed, session.knobs_changed):
            signal.connect(self.follow)

    def follow(self) -> None:
        """Wait from now on where nothing is measured, or no more."""
        if not self._is_due:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def stop(self) -> None:
        """Begin none any more."""
        self._timer.stop()
        for signal in (
            self._session.state_changed,
            self._session.devices_changed,
            self._session.knobs_changed,
        ):
            signal.disconnect(self.follow)

    @property
    def _is_due(self) -> bool:
        session = self._session
        if not self._settings.calibrates_when_idle or not session.jobs.idle:
            return False
        device = session.experiment.device
        if device is None or session.engine_state != "ready" or device.id in self._failed:
            return False
        works = session.activity in STAGES.values()  # such as an analysis, which is no job
        run = session.live_model.current
        stops = run is not None and not run.over  # its last launch is not over yet
        return not works and not stops and session.store.find(device) is None

    def _begin(self) -> None:
        from gpuexplorer.gui.calibration import CalibrationJob

        session = self._session
        device, devices = session.experiment.device, session.experiment.devices
        if not self._is_due or device is None or devices is None:
            return
        name = device.id
        job = CalibrationJob(session.worker, devices, device, session.store, brief=True)
        job.ended.connect(lambda outcome: self._ended(name, outcome))
        session.jobs.begin_quietly(job)
        session.say("calibrating for five seconds, as nothing else is measured")

    def _ended(self, device: str, outcome: object) -> None:
        session = self._session
        if outcome is None:
            return  # something else is measured now; the next time is as good
        if isinstance(outcome, WorkFailed):
            self._tries[device] += 1
            if self._tries[device] < MOST_TRIES:
                session.say("not calibrated yet; it is tried again when nothing is measured")
                return
        if isinstance(outcome, ExplorerError):
            self._failed.add(device)
            session.say("not calibrated")
            return
        session.say("calibrated in brief")
        session.take_ceilings()
