"""What is drawn when there is new data: the trace each time, one of the slower parts in turn."""

from __future__ import annotations

from PySide6.QtCore import QTimer

from gpuexplorer.gui.layout import Panels
from gpuexplorer.gui.session import Session


class Frames:
    """Draws a session's data in the panels, a part of it at a time."""

    def __init__(self, session: Session, panels: Panels) -> None:
        self._session, self._panels = session, panels
        self._turn = 0
        self._slower = QTimer(panels.timing)
        """Draws a slower part when the trace is painted: both in one event would be a hitch."""
        self._slower.setSingleShot(True)
        self._slower.setInterval(0)
        self._slower.timeout.connect(self._draw_slower)

    def draw(self, answer: bool) -> None:
        """Draw what is new; a knob's ``answer`` first and alone, everything else a frame later."""
        session, timing = self._session, self._panels.timing
        if answer and not timing.isVisible():  # in another view the trace is not seen
            session.requests.moved_at, answer = None, False
        if answer:
            timing.show_answer()
            self._turn = 0
            self._slower.stop()
            return
        timing.refresh()
        self._slower.start()

    def _draw_slower(self) -> None:
        """Draw the part whose turn it is."""
        turn, self._turn = self._turn, (self._turn + 1) % 6
        session, panels = self._session, self._panels
        run = session.live_model.current
        if turn == 0:
            panels.timing.refresh_slow()
        elif turn == 1:
            panels.traffic.refresh()
        elif turn == 2:
            panels.follow_run(run, session.config)
        elif turn == 3:
            panels.insight.advice.refresh()
            panels.roofline.refresh()
        elif turn == 4:
            session.live_model.look()
        else:
            device = session.device
            if device is not None:
                panels.strip.set_kind(device.kind)
                panels.device.set_kind(device.kind)
            panels.strip.refresh(session.live_model.readings)
            panels.device.refresh()

    def stop(self) -> None:
        """Draw nothing more of what waits."""
        self._slower.stop()

    def follow(self) -> None:
        """Fit both plots to the newest samples again."""
        if not self._panels.timing.following:
            self._panels.timing.follow()
        self._panels.traffic.follow()
