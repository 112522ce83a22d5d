"""A result as chart and table that point at each other, or what there will be to see."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QStackedWidget, QVBoxLayout, QWidget

from gpuexplorer.charts.caption import Caption
from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.core.sheet import Sheet
from gpuexplorer.gui.show.chart import ChartView
from gpuexplorer.gui.show.table import SheetTable
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.caption import CaptionLine
from gpuexplorer.gui.widgets.words import EmptyState, Remarks

WIDE, BESIDE = 930, 0.5
"""From this width on the table stands beside the chart, where this share holds its columns."""
BENEATH = 0.37
"""The share of a table beneath the chart, where its rows need no less."""
CHART_PX, LEAST_ROWS = 300, 2.5
"""A chart above a table is at least so high, as long as so many rows of the table are seen."""


class Picture(msgspec.Struct, frozen=True):
    """A result as table and chart, what it was measured with, and the finding in a sentence."""

    sheet: Sheet
    chart: ChartSpec
    finding: str = ""
    caption: Caption | None = None


class ResultPage(QStackedWidget):
    """``pointed`` carries the words of what is pointed at, or None; ``chosen`` a mark's key."""

    pointed = Signal(object)
    chosen = Signal(str)

    def __init__(
        self,
        name: str,
        title: str,
        noun: str,
        words_of: Callable[[str], str],
        current_mark: Callable[[], str | None],
    ) -> None:
        """``words_of`` tells the words of a mark, ``current_mark`` what is measured now."""
        super().__init__()
        self._name, self._title = name, title
        self._words_of, self._current_mark = words_of, current_mark
        self.sheet = Sheet()
        self._chart: ChartView | None = None
        self.empty = EmptyState(f"{name}Empty")
        self.finding = Remarks(lines=3)
        self.finding.setObjectName(f"{name}Finding")
        self.finding.setProperty("role", None)
        self.finding.setContentsMargins(10, 2, 10, 2)
        self.notes = Remarks()
        self.notes.setContentsMargins(8, 0, 8, 0)
        self.table = SheetTable(
            f"{name}Table", f"The {noun} in figures", "Double click sets the knobs to it."
        )
        self.table.hovered.connect(self.pointed)
        self.table.chosen.connect(self.chosen)
        above = QWidget()
        self._above = QVBoxLayout(above)
        self._above.setContentsMargins(4, 2, 4, 4)
        self._above.setSpacing(2)
        self._above.addWidget(self.finding)
        self._above.addWidget(self.notes)
        self.outcome = QSplitter(Qt.Orientation.Vertical)
        self.outcome.addWidget(above)
        self.outcome.addWidget(self.table)
        self._shared = True
        """Whether nobody has shared the room otherwise."""
        self.outcome.splitterMoved.connect(lambda *_: self._take_as_shared())
        self.outcome.setHandleWidth(1)
        self.outcome.setChildrenCollapsible(False)
        self.addWidget(self.empty)
        self.page = QWidget()
        column = QVBoxLayout(self.page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.outcome, 1)
        self.caption = CaptionLine(name, dims=(self.outcome,))
        column.insertWidget(0, self.caption)
        self.addWidget(self.page)

    @property
    def chart(self) -> ChartView:
        """The chart; made when it is first wanted, so that the page opens without it."""
        if self._chart is None:
            chart = self._chart = ChartView(f"{self._name}Chart", self._title, self._words_of)
            chart.hovered.connect(self._point_at)
            chart.chosen.connect(self.chosen)
            self.table.current.connect(lambda _: self._ring())
            self._above.insertWidget(1, chart, 1)
        return self._chart

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the table where there is room for it."""
        super().resizeEvent(event)
        self._share()

    def _take_as_shared(self) -> None:
        self._shared = False

    def _share(self) -> None:
        """Give the table the room that its columns and rows need, beside the chart or beneath."""
        needed = self.table.whole_width
        beside = self.width() >= WIDE and needed <= BESIDE * self.width()
        wanted = Qt.Orientation.Horizontal if beside else Qt.Orientation.Vertical
        if self.outcome.orientation() != wanted:
            self.outcome.setOrientation(wanted)
            self._shared = True
        if self._shared:
            whole = self.width() if beside else self.outcome.height()
            table = needed if beside else self._beneath(whole)
            self.outcome.setSizes([whole - table, table])

    def _beneath(self, whole: int) -> int:
        """Return how high the table is beneath the chart, which is the larger of both."""
        least = self.table.height_of(LEAST_ROWS)
        given = min(int(whole * BENEATH), max(whole - for_text(CHART_PX), least))
        return min(given, self.table.whole_height)

    def clear(self) -> None:
        """Forget table and marks; the page stays until there is something else to show."""
        self.sheet = Sheet()
        self.caption.show_caption(None)
        self.table.show_sheet(self.sheet)
        if self._chart is not None:
            self._chart.show_chart(None)  # whose keys were of the result before

    def show_empty(self) -> None:
        """Show what there will be to see."""
        self.setCurrentWidget(self.empty)

    def show_picture(self, picture: Picture) -> None:
        """Show a result."""
        self.setCurrentWidget(self.page)
        self.caption.show_caption(picture.caption)
        self.sheet = picture.sheet
        self.table.show_sheet(picture.sheet)
        self._share()
        self.chart.show_chart(picture.chart)
        self._ring()
        self.finding.say([picture.finding])
        self.finding.setVisible(bool(picture.finding))
        self.notes.say([note for note in picture.chart.notes if note not in picture.finding])

    def _ring(self) -> None:
        """Mark in the chart what is measured now, else the row that is chosen."""
        self.chart.set_current(self._current_mark() or self.table.key or None)

    def _point_at(self, key: str | None) -> None:
        """Say what a mark of the chart is, and choose its row."""
        self.pointed.emit(self._words_of(key) if key else None)
        self.table.show_key(key or "")
