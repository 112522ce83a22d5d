"""The line above the history: search, quick filters, and what is to be said of the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.text import visible
from gpuexplorer.gui.model.history_columns import STAR
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.gui.widgets.look import set_look
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.history.model import Query

SETTLE_MS = 120
"""After the last key before the store is asked."""
UNDO_MS = 30_000
"""How long an undo is offered; Ctrl+Z knows it longer."""
FILTERS = {"workload": "workloads", "device": "devices", "tag": "tags"}
SEARCH_TIP = (
    "Words that all occur in what is shown of a run: workload, variant, size, block, precision,\n"
    "device, tunables, tags, note, kind (sweep, block map), date, time, result, median.\n"
    "Such as: matmul n=512 16x16, or: yesterday verified, or: 22 Nov 10.0 ms (Ctrl+F),\n"
    "or who measured and where: machine:gpubox person:ada.\n"
    "Esc empties it."
)


class SearchField(QLineEdit):
    """A line to search by; Esc empties it, and leaves it once it is empty."""

    left = Signal()

    def event(self, event: QEvent) -> bool:
        """Take Esc before the window's commands do."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            if event.key() == Qt.Key.Key_Escape:
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Treat Esc and the arrow down."""
        if event.key() == Qt.Key.Key_Escape:
            if self.text():
                self.clear()
            else:
                self.left.emit()
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.left.emit()
        else:
            super().keyPressEvent(event)


def _least_width(widget: QWidget) -> int:
    """Return the width that a widget takes at least, seen or not."""
    shrinks = widget.sizePolicy().horizontalPolicy().value & QSizePolicy.PolicyFlag.ShrinkFlag.value
    hint = widget.minimumSizeHint() if shrinks else widget.sizeHint()
    return max(widget.minimumWidth(), hint.width())


class HistoryBar(QWidget):
    """``wanted`` carries the ``Query`` that is wanted now."""

    wanted = Signal(object)
    undo_asked = Signal()
    compare_asked = Signal()
    stored_asked = Signal()
    columns_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("historyBar")
        self.setAutoFillBackground(True)
        self._query = Query()
        self._settle = self._timer(SETTLE_MS)
        self._settle.timeout.connect(self._ask)
        self._undo_time = self._timer(UNDO_MS)
        self._undo_time.timeout.connect(self.end_undo)
        self.search = SearchField()
        self.search.setObjectName("historySearch")
        self.search.setPlaceholderText(tr("Search runs (Ctrl+F)"))
        self.search.setClearButtonEnabled(True)
        self.search.setToolTip(tr(SEARCH_TIP))
        self.search.setMinimumWidth(150)
        self.search.setMaximumWidth(320)
        self.search.textChanged.connect(lambda _: self._settle.start())
        self.starred = QToolButton()
        self.starred.setObjectName("historyStarred")
        self.starred.setText(tr(STAR))
        self.starred.setCheckable(True)
        self.starred.setProperty("role", "small")
        self.starred.setToolTip(tr("Show starred runs only"))
        self.starred.toggled.connect(lambda _: self._ask())
        self.boxes: dict[str, ListBox] = {}
        for field, words in FILTERS.items():
            box = ListBox(f"history{field.capitalize()}", f"Show the runs of one {field} only")
            box.addItem(tr(f"all {words}"), None)
            box.setSizeAdjustPolicy(box.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(11)
            box.currentIndexChanged.connect(lambda _: self._ask())
            self.boxes[field] = box
        self._title = QLabel(tr("History"))
        self._title.setProperty("role", "section")
        self.summary = Words()
        self.summary.setObjectName("historySaid")
        self.summary.setProperty("role", "muted")
        self.summary.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.undo = QToolButton()
        self.undo.setObjectName("historyUndo")
        self.undo.setText(tr("Undo"))
        self.undo.setProperty("role", "small")
        self.undo.setToolTip(tr("Bring the deleted runs back (Ctrl+Z in the table)"))
        self.undo.clicked.connect(lambda: self.undo_asked.emit())
        self.undo.hide()
        self.compare = self._small(
            "historyCompare", "Compare", "Measure the chosen runs anew, in turns, and compare them"
        )
        self.compare.clicked.connect(lambda: self.compare_asked.emit())
        self.stored = self._small(
            "historyStored", "Compare stored",
            "Hold the chosen runs against each other as they are stored, with their conditions,\n"
            "such as today's run against yesterday's; weaker evidence than measuring in turns",
        )  # fmt: skip
        self.stored.clicked.connect(lambda: self.stored_asked.emit())
        self.columns = self._small("historyColumns", "Columns ▾", "Which columns are shown")
        self.columns.clicked.connect(lambda: self.columns_asked.emit())
        self._number = ""
        self._trouble = ""
        self._undo_words = ""
        self._lay_out()

    def _timer(self, milliseconds: int) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(milliseconds)
        return timer

    @staticmethod
    def _small(name: str, words: str, tip: str) -> QToolButton:
        button = QToolButton()
        button.setObjectName(name)
        button.setText(tr(words))
        button.setToolTip(tr(tip))
        button.setProperty("role", "small")
        return button

    def _lay_out(self) -> None:
        line = QHBoxLayout(self)
        line.setContentsMargins(8, 3, 8, 3)
        line.setSpacing(6)
        line.addWidget(self._title)
        line.addWidget(self.search, 2)
        line.addWidget(self.starred)
        for box in self.boxes.values():
            line.addWidget(box)
        line.addWidget(self.summary, 3)
        for button in (self.undo, self.compare, self.stored, self.columns):
            line.addWidget(button)
        self._give_way()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show what there is room for."""
        super().resizeEvent(event)
        self._give_way()

    def _give_way(self) -> None:
        """Hide what is needed least where the bar has no room for all, a filter in use last."""
        boxes = [self.boxes[field] for field in ("tag", "device", "workload")]
        offered = [box for box in boxes if box.count() > 1 or box is not self.boxes["tag"]]
        used = [box for box in offered if box.currentData() is not None]
        unused = [box for box in offered if box not in used]
        yielding = [*unused, self.stored, self._title, *used]
        always = [self.search, self.starred, self.summary, self.compare, self.columns]
        always += [] if self.undo.isHidden() else [self.undo]
        line = cast("QHBoxLayout", self.layout())
        edges = line.contentsMargins()
        left = self.width() - edges.left() - edges.right() + line.spacing()
        left -= sum(_least_width(widget) + line.spacing() for widget in always)
        shown = set()
        for widget in reversed(yielding):
            left -= _least_width(widget) + line.spacing()
            if left < 0:
                break
            shown.add(widget)
        for widget in (*boxes, self.stored, self._title):
            if widget.isHidden() == (widget in shown):
                widget.setVisible(widget in shown)

    # ---- filters

    @property
    def query(self) -> Query:
        """What is wanted now."""
        chosen = {field: box.currentData() for field, box in self.boxes.items()}
        return Query(
            text=self.search.text().strip(),
            starred=True if self.starred.isChecked() else None,
            **chosen,
        )

    @property
    def filtering(self) -> bool:
        """Whether some runs are left out."""
        return self.query != Query()

    def _ask(self) -> None:
        query = self.query
        if query != self._query:
            self._query = query
            self._give_way()
            self.wanted.emit(query)

    def clear(self) -> None:
        """Show every run."""
        with QSignalBlocker(self.search), QSignalBlocker(self.starred):
            self.search.clear()
            self.starred.setChecked(False)
        for box in self.boxes.values():
            with QSignalBlocker(box):
                box.setCurrentIndex(0)
        self._ask()

    def offer(self, choices: dict[str, Sequence[str]]) -> None:
        """Offer these values, by filter; what is chosen stays chosen while it is there."""
        for field, values in choices.items():
            box = self.boxes[field]
            known = [box.itemData(i) for i in range(1, box.count())]
            if known != list(values):
                chosen = box.currentData()
                with QSignalBlocker(box):
                    while box.count() > 1:
                        box.removeItem(1)
                    for value in values:
                        box.addItem(as_is(visible(value)), value)
                        box.setItemData(box.count() - 1, as_is(value), Qt.ItemDataRole.ToolTipRole)
                    box.setCurrentIndex(max(0, box.findData(chosen) if chosen else 0))
        self._give_way()
        self._ask()

    # ---- what is said

    def show_number(self, words: str) -> None:
        """Say how many runs there are."""
        self._number = words
        self._say()

    def show_trouble(self, words: str, tip: str = "") -> None:
        """Say what is wrong with the store; empty once it is over."""
        self._trouble = words
        self.summary.setToolTip(tr(tip))
        self._say()

    def offer_undo(self, words: str) -> None:
        """Say what was deleted, and offer to bring it back."""
        self._undo_words = words
        self.undo.show()
        self._give_way()
        self._undo_time.start()
        self._say()

    def end_undo(self) -> None:
        """Offer nothing to bring back any more."""
        self._undo_words = ""
        self.undo.hide()
        self._give_way()
        self._undo_time.stop()
        self._say()

    def _say(self) -> None:
        parts = [part for part in (self._trouble, self._undo_words or self._number) if part]
        self.summary.setText(tr(" · ".join(parts)))
        set_look(self.summary, role="warning" if self._trouble else "muted")

    def close_down(self) -> None:
        """Stop what would still happen later."""
        self._settle.stop()
        self._undo_time.stop()
