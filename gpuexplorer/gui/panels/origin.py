"""The words over the plots that say: this run comes from a file, and nothing is measured now."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from gpuexplorer.gui.model.live import Run
from gpuexplorer.gui.widgets.words import Words


class OriginLine(QFrame):
    """Hidden while the current run was measured here."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("originLine")
        self._shown: int | None = None
        self.words = Words()
        self.words.setObjectName("originWords")
        self.words.setToolTip("What is shown was measured then and there; Live measures here")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 2, 12, 2)
        layout.addWidget(self.words, 1)
        self.hide()

    def show_run(self, run: Run | None) -> None:
        """Say where a run comes from, if not from here."""
        ticket = run.ticket if run is not None and run.origin else None
        if ticket == self._shown:
            return
        self._shown = ticket
        if run is not None and ticket is not None:
            self.words.setText(origin_words(run))
        self.setVisible(ticket is not None)


def origin_words(run: Run) -> str:
    """Return where and when a run of a file was measured."""
    parts = [f"From file {run.origin}"]
    if run.record is not None:
        device = run.record.prepared.device
        where = f"{device.name} ({device.id})"
        parts.append(", ".join([where, *_moment(run.record.time_utc)]))
    parts.append("not measured now")
    return " · ".join(parts)


def _moment(time_utc: str) -> list[str]:
    try:
        return [f"{datetime.fromisoformat(time_utc).astimezone():%Y-%m-%d %H:%M}"]
    except ValueError:
        return []
