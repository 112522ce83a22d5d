"""The Roofline view: what this device can do at most, and where the run stands under it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QLabel, QVBoxLayout

from gpuexplorer.charts.roofline import Picture, Spot, roofline_chart
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.language import tr
from gpuexplorer.gui.model.job import JobModel, Progress
from gpuexplorer.gui.model.live import origin_words
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.show.chart import ChartView
from gpuexplorer.gui.views.job_control import JobControl
from gpuexplorer.gui.widgets.caption import CaptionLine
from gpuexplorer.gui.widgets.words import Remarks
from gpuexplorer.reproduce import surroundings

if TYPE_CHECKING:
    from gpuexplorer.gui.job import EngineJob

INVITATION = "The roofs of this device are not known yet: press Calibrate to measure them."
NOTHING_DRAWN = (
    "Neither a run nor a roof is known yet. Live, or Space, measures a run; Calibrate measures the "
    "roofs."
)
CALIBRATE_TIP = (
    "Measure this device's ceilings: memory, caches, multiply-adds and matrix products.\n"
    "It takes a minute or a few; live measuring pauses and continues afterwards."
)


class RooflineView(JobControl[Any, DeviceInfo]):
    """The plot under the words on a run, and the calibration that measures its roofs.

    A calibration keeps nothing of its own to be shown: the store has what it found.
    """

    def __init__(self, session: Session) -> None:
        self.model: JobModel[Any] = JobModel()
        super().__init__(session, "calibration", "Calibration", "calibration", self.model)
        self.setObjectName("rooflineView")
        self.shown: Picture | None = None
        """What is drawn."""
        self._found: Ceilings | None = None
        """The roofs that the calibration has found by now."""
        self._hovered: str | None = None
        self.plot = ChartView(
            "rooflinePlot",
            "Roofline: operations a second over operations for each byte",
            self._words_of,
        )
        self.plot.hovered.connect(self._hover)
        self.invitation = QLabel(tr(INVITATION))
        self.invitation.setObjectName("rooflineInvitation")
        self.invitation.setWordWrap(True)
        self.invitation.setContentsMargins(12, 2, 12, 2)
        self.notes = Remarks()
        self.notes.setObjectName("rooflineNotes")
        self.notes.setContentsMargins(12, 0, 12, 6)
        head = self.head
        head.words.setToolTip(tr("The current run, or the one under the pointer"))
        head.begin = "Calibrate"
        head.start.setToolTip(tr(CALIBRATE_TIP))
        head.start.setProperty("role", None)
        head.stop.setText(tr("Cancel"))
        head.stop.setObjectName("calibrationCancel")
        head.stop.setToolTip(tr("End it; the calibration before stays as it was, nothing is kept"))
        head.line.setContentsMargins(12, 6, 8, 0)
        caption = CaptionLine("roofline", dims=(self.plot,))
        self.set_caption(caption)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(head)
        column.addWidget(caption)
        column.addWidget(self.invitation)
        column.addWidget(self.plot, 1)
        column.addWidget(self.notes)
        self.show_state()

    # ---- the calibration

    def follow_knobs(self) -> None:
        """Calibrate the chosen device."""
        self.show_state()

    def wanted(self) -> DeviceInfo | None:
        """Return the device."""
        return self._session.experiment.device

    def job(self, wanted: DeviceInfo) -> EngineJob:
        """Return the job that measures its ceilings."""
        from gpuexplorer.gui.calibration import CalibrationJob

        session = self._session
        devices = session.experiment.devices
        assert devices is not None  # the device is one of them
        return CalibrationJob(session.worker, devices, wanted, session.store)

    def began(self, wanted: DeviceInfo) -> None:
        """Note that it has begun."""
        self.model.begin()
        self._found = None

    def take(self, step: tuple[Progress, Ceilings]) -> bool:
        """Take in how far it is, and the roofs that are known by now."""
        progress, found = step
        self.model.take(progress, None)
        self._found = found if found.ceilings else None
        return self._found is not None

    def end(self, job: EngineJob, error: str) -> None:
        """Hold the present run against what was found."""
        self.model.end(None, error)
        self._found = None
        self._session.take_ceilings()

    @property
    def done(self) -> tuple[int, int]:
        """The runs that are done, of all."""
        at = self.model.progress
        return (at.done, at.total) if at is not None else (0, 1)

    def command(self, wanted: DeviceInfo) -> str:
        """Return the command line that does the same."""
        options = self._session.options
        words = ["gpuexplorer", "calibrate", "--device", wanted.id]
        if options.threads is not None:
            words += ["--threads", str(options.threads)]
        return shlex.join(words + surroundings((), options.python))

    # ---- showing

    def refresh(self, *, at_once: bool = False) -> None:
        """Draw what is new; nothing while another view is shown."""
        if not self.isVisible():
            return
        self.shown = self._session.roofline_picture(self._found)
        run = self._session.live_model.current
        if self._caption is not None:
            found = run.caption if run is not None and run.summary is not None else None
            self._caption.show_caption(found, origin_words(run) if run is not None else "")
        self.plot.show_chart(roofline_chart(self.shown, title="Roofline"))
        empty = not (self.shown.roofs or self.shown.spots)
        self.plot.say_empty(NOTHING_DRAWN if empty else "")
        invites = not (self.shown.calibrated or self.running or empty)
        self.notes.say(() if invites else self.shown.notes)
        self.invitation.setVisible(invites)
        self.show_progress()

    def head_words(self) -> str:
        """Return how far the calibration is, else what there is to say of a run."""
        if self.running:
            paused = self.model.state == "paused"
            return self.model.words if paused else f"Calibrating · {self.model.words}"
        if self.shown is None:
            return ""
        hovered = self.spot_of(self._hovered) if self._hovered is not None else None
        return self._session.roofline.words(self.shown, hovered)

    def spot_of(self, key: str) -> Spot | None:
        """Return the run of a mark; None where there is none any more."""
        spots = self.shown.spots if self.shown is not None else ()
        return spots[int(key)] if int(key) < len(spots) else None

    def _words_of(self, key: str) -> str:
        spot = self.spot_of(key)
        if spot is None or self.shown is None:
            return ""
        return self._session.roofline.words(self.shown, spot)

    def _hover(self, key: str | None) -> None:
        self._hovered = key
        self.show_progress()
