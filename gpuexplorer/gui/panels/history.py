"""The history at the bottom of the window: every run ever made, found again and put to use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QByteArray, QEvent, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import plural
from gpuexplorer.gui.model.history import History
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.panels.history_actions import MAX_STORED, HistoryActions
from gpuexplorer.gui.panels.history_bar import HistoryBar
from gpuexplorer.gui.panels.history_model import HistoryModel
from gpuexplorer.gui.panels.history_table import HistoryTable
from gpuexplorer.gui.store_worker import StoreWorker, Trouble
from gpuexplorer.history.model import Query

if TYPE_CHECKING:
    from gpuexplorer.history.store import Store

EMPTY = (
    "Every run is kept here, from this window, the command line and Python: what it was,\n"
    "how fast, how well that is known. Press Space to measure the first one."
)
CHOICES_MS = 2000
"""After a change, before what there is to filter by is looked up."""
NOTHING_FOUND = "No run matches. Esc in the search field shows them all again."
OPENING = "Opening the history…"


class HistoryPanel(QWidget):
    """Search and filters above the table; ``notice`` carries what the banner is to say."""

    notice = Signal(object)

    def __init__(
        self,
        history: History,
        model: HistoryModel,
        runs: StoreWorker,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("historyPanel")
        self._model, self._runs = model, runs
        self._told = ""
        self._choices_asked = self._choices_known = self._ended = False
        self._choices_later = QTimer(self)
        self._choices_later.setSingleShot(True)
        self._choices_later.timeout.connect(self._ask_choices_now)
        self.bar = HistoryBar()
        self.table = HistoryTable(model)
        self.acts = HistoryActions(self, self.table, model, runs, history)
        self._empty = QLabel(tr(OPENING), self.table.viewport())
        self._empty.setObjectName("historyEmpty")
        self._empty.setProperty("role", "muted")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setWordWrap(True)
        self._empty.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.table.viewport().installEventFilter(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.bar)
        column.addWidget(self.table, 1)
        self._connect()
        self._show_state()

    def _connect(self) -> None:
        bar, table, model, runs = self.bar, self.table, self._model, self._runs
        bar.wanted.connect(self._show_query)
        bar.search.left.connect(table.setFocus)
        bar.undo_asked.connect(self.acts.undo)
        bar.compare_asked.connect(lambda: self.acts.ask("compare"))
        bar.stored_asked.connect(lambda: self.acts.ask("stored"))
        bar.columns_asked.connect(self._choose_columns)
        self.acts.deleted.connect(bar.offer_undo)
        self.acts.undone.connect(bar.end_undo)
        self.acts.notice.connect(self.notice)
        self.acts.marked.connect(self._ask_choices_now)
        table.chosen_changed.connect(self._show_chosen)
        model.settled.connect(self._show_state)
        model.rowsInserted.connect(self._show_state)
        runs.changed.connect(self._ask_choices)
        runs.troubled.connect(self._show_trouble)

    # ---- which runs

    def focus_search(self) -> None:
        """Let the user type what to search."""
        self.bar.search.setFocus()
        self.bar.search.selectAll()

    def _show_query(self, query: Query) -> None:
        self._model.show_view(replace(self._model.view, query=query))

    def _choose_columns(self) -> None:
        button = self.bar.columns
        menu = self.table.column_layout.menu()
        menu.popup(button.mapToGlobal(button.rect().bottomLeft()))

    @Slot()
    def _ask_choices(self) -> None:
        """Bring up to date what the filters offer, after a while: changes come in rows."""
        if not self._choices_later.isActive() and not self._ended:
            self._choices_later.start(CHOICES_MS if self._choices_known else 0)

    def _ask_choices_now(self) -> None:
        self._choices_later.stop()
        if self._choices_asked and not self._ended:
            self._choices_later.start(CHOICES_MS)
        elif self.isVisible():
            self._choices_asked = True
            self._runs.do(_choices, self._offer)

    def _offer(self, choices: dict[str, Sequence[str]] | ExplorerError) -> None:
        self._choices_asked = False
        if not isinstance(choices, ExplorerError):
            self._choices_known = True
            self.bar.offer(choices)

    # ---- what is said

    def _show_state(self, *_: object) -> None:
        """Say how many runs there are, or why there are none."""
        model, trouble = self._model, self._runs.trouble
        total = model.total
        number = (
            plural(total, "{number} run found", "{number} runs found")
            if self.bar.filtering
            else plural(total, "{number} run", "{number} runs")
        )
        self.bar.show_number(number if total or model.answered else "")
        if total:
            words = ""
        elif trouble is not None and not trouble.readable:
            words = f"{capital(str(trouble.error))}."
        elif not model.answered:
            words = OPENING
        else:
            words = NOTHING_FOUND if self.bar.filtering else EMPTY
        self._empty.setText(tr(words))
        self._empty.setVisible(bool(words))
        self._show_chosen()

    def _show_chosen(self) -> None:
        chosen = self.table.chosen_count()
        self.bar.compare.setEnabled(chosen > 1)
        self.bar.stored.setEnabled(2 <= chosen <= MAX_STORED)

    @Slot(object)
    def _show_trouble(self, trouble: Trouble | None) -> None:
        """Say once what is wrong with the store, and keep a word of it in sight."""
        self._show_state()
        if trouble is None:
            self.bar.show_trouble("")
            if self._told:
                self._told = ""
                self.notice.emit(Notice("info", "The history takes runs again; none was lost."))
            return
        waiting = trouble.waiting
        words = "⚠ the present run waits to be stored" if trouble.readable else "⚠ no history"
        if waiting:
            words = plural(
                waiting, "⚠ {number} run waits to be stored", "⚠ {number} runs wait to be stored"
            )
        self.bar.show_trouble(words, f"{capital(str(trouble.error))}.")
        if str(trouble.error) != self._told:
            self._told = str(trouble.error)
            self.notice.emit(
                Notice(
                    "warning",
                    f"{capital(self._told)}. Measuring continues, and what is measured is kept and "
                    "tried again.",
                    detail=trouble.error.detail,
                    stays=lambda: True,
                )
            )

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the words of an empty table in its middle."""
        if event.type() == QEvent.Type.Resize:
            self._empty.setGeometry(self.table.viewport().rect().adjusted(20, 4, -20, -4))
        return super().eventFilter(watched, event)

    # ---- the window's life

    def showEvent(self, event: QShowEvent) -> None:
        """Offer what there is to filter by now."""
        super().showEvent(event)
        self._ask_choices()

    def columns(self) -> QByteArray:
        """Return how the columns are."""
        return self.table.columns()

    def restore_columns(self, state: QByteArray) -> None:
        """Take the columns as they were."""
        self.table.restore_columns(state)

    def close_down(self) -> None:
        """Stop what would still happen later, whatever the store still tells."""
        self._ended = True
        self.bar.close_down()
        self._choices_later.stop()


def _choices(store: Store) -> dict[str, Sequence[str]]:
    return {
        "workload": store.choices("workload"),
        "device": store.choices("device_name"),
        "tag": store.choices("tag"),
    }
