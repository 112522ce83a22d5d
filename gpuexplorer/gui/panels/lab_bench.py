"""One study of the Lab: its choices, its chart that fills while it is measured, its table."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from gpuexplorer.charts.studies import study_chart
from gpuexplorer.core.sheet import Sheet
from gpuexplorer.gui.model.lab import TITLES, LabModel, has_figures
from gpuexplorer.gui.model.lab_offers import about
from gpuexplorer.gui.model.lab_words import finding
from gpuexplorer.gui.panels.lab_setup import LabSetup
from gpuexplorer.gui.plots.base import muted_label
from gpuexplorer.gui.show.chart import ChartView
from gpuexplorer.gui.show.table import SheetTable
from gpuexplorer.gui.widgets.empty_state import EmptyState
from gpuexplorer.results.study import sheet_of

WIDE = 960
"""From this width on the table stands beside the chart."""
SETUP_WIDTH = 232
BESIDE, BELOW = (0.56, 0.44), (0.62, 0.38)
"""How chart and table share their room."""


class LabBench(QWidget):
    """Shows a ``LabModel``; ``pointed`` carries the words of what is pointed at, or None.

    ``chosen`` carries a configuration that was measured, and its title.
    """

    chosen = Signal(object, str)
    pointed = Signal(object)

    def __init__(self, model: LabModel) -> None:
        super().__init__()
        self.setObjectName(f"labBench_{model.kind}")
        self.model = model
        self.sheet = Sheet()
        self._stale = True
        self.setup = LabSetup(model.kind)
        self.empty = EmptyState(f"labEmpty_{model.kind}")
        self._plot: ChartView | None = None
        self.rows = SheetTable(
            f"labTable_{model.kind}", "The study in figures", "Double click sets the knobs to it."
        )
        self.notes = muted_label()
        self.notes.setContentsMargins(8, 0, 8, 0)
        self.finding = QLabel()
        self.finding.setObjectName(f"labFinding_{model.kind}")
        self.finding.setWordWrap(True)
        self.finding.setTextFormat(Qt.TextFormat.PlainText)
        self.finding.setContentsMargins(10, 2, 10, 2)
        self._lay_out()
        self.say_empty("")
        self.rows.hovered.connect(self._say)
        self.rows.chosen.connect(self._choose)

    @property
    def plot(self) -> ChartView:
        """The chart; made when it is first wanted, so that the Lab opens without it."""
        if self._plot is None:
            kind = self.model.kind
            plot = self._plot = ChartView(f"labPlot_{kind}", TITLES[kind], self._words_of)
            plot.hovered.connect(self._point)
            plot.chosen.connect(self._choose)
            self.rows.current.connect(plot.set_current)
            self._above.insertWidget(1, plot, 1)
        return self._plot

    def _lay_out(self) -> None:
        above = QWidget()
        column = self._above = QVBoxLayout(above)
        column.setContentsMargins(4, 2, 4, 4)
        column.setSpacing(2)
        column.addWidget(self.finding)
        column.addWidget(self.notes)
        self.outcome = QSplitter(Qt.Orientation.Vertical)
        self.outcome.addWidget(above)
        self.outcome.addWidget(self.rows)
        self.outcome.setStretchFactor(0, 3)
        self.outcome.setStretchFactor(1, 2)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.outcome)
        self.across = QSplitter(Qt.Orientation.Horizontal)
        self.across.addWidget(self.setup)
        self.across.addWidget(self.pages)
        self.across.setStretchFactor(1, 1)
        self.across.setSizes([SETUP_WIDTH, 700])
        self.outcome.setSizes([int(1000 * share) for share in BELOW])
        for splitter in (self.across, self.outcome):
            splitter.setHandleWidth(1)
            splitter.setChildrenCollapsible(False)
        self.across.setCollapsible(0, True)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self.across)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the table beside the chart where there is room, else below it."""
        super().resizeEvent(event)
        beside = self.width() - SETUP_WIDTH >= WIDE
        wanted = Qt.Orientation.Horizontal if beside else Qt.Orientation.Vertical
        if self.outcome.orientation() != wanted:
            self.outcome.setOrientation(wanted)
            self.outcome.setSizes([int(1000 * share) for share in (BESIDE if beside else BELOW)])

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what came while another view was in front."""
        super().showEvent(event)
        self.refresh()

    # ---- showing

    def say_empty(self, more: str) -> None:
        """Say what the study will do, and how long about, where its chart will be."""
        title, words = about(self.model.kind)
        self.empty.say(title, (words, self.model.error, more))

    def refresh(self) -> None:
        """Draw what is known now; nothing while another view is shown."""
        self._stale = True
        if not self.isVisible():
            return
        self._stale = False
        study = self.model.study
        drawn = study is not None and has_figures(study)
        self.pages.setCurrentWidget(self.outcome if drawn else self.empty)
        if study is None or not drawn:
            return
        self.sheet = sheet_of(study)
        self.rows.show_sheet(self.sheet)
        said = finding(study)
        if said != self.finding.text():
            self.finding.setText(said)
        self.finding.setVisible(bool(said))
        chart = study_chart(study)
        self.plot.show_chart(chart)
        self.notes.setText(" ".join(chart.notes))
        self.notes.setToolTip("\n".join(chart.notes))

    # ---- pointing

    def _words_of(self, run: str) -> str:
        return self.sheet.marks.get(run, "")

    def _point(self, run: str | None) -> None:
        """Say what a mark of the chart is, and choose its row."""
        self._say(self.sheet.marks.get(run or ""))
        self.rows.show_key(run or "")

    def _say(self, words: str | None) -> None:
        self.pointed.emit(words.replace("\n", " · ") if words else None)

    def _choose(self, run: str) -> None:
        study = self.model.study
        found = next((one for one in study.runs if one.id == run), None) if study else None
        if found is not None and run in self.sheet.marks:
            self.chosen.emit(found.config, self.sheet.marks[run].splitlines()[0])
