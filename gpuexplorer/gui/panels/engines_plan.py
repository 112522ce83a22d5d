"""What an engine would consist of: its packages and their sizes, before anything is fetched."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.units import quantity
from gpuexplorer.environments.plan import EnvironmentPlan
from gpuexplorer.gui.model.engine_setup import (
    VOUCHERS,
    SetUpRequest,
    plan_words,
    space_words,
    terms_of,
)
from gpuexplorer.gui.panels.engines_buttons import button
from gpuexplorer.gui.widgets.words import NoteBox

COLUMNS = (
    ("Package", "What is installed"),
    ("Version", "Which version of it"),
    ("Size", "The size of its file, in bytes"),
    ("Checked against", "Whose SHA-256 the file must have, or it is refused"),
)


class EnginePlanPage(QWidget):
    """Shows a plan; ``agreed`` carries it once it shall be done."""

    agreed = Signal(object)
    back_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("enginePlan")
        self._plan: EnvironmentPlan | None = None
        self.title = QLabel()
        self.title.setProperty("role", "title")
        self.title.setWordWrap(True)
        self.facts = QLabel()
        self.facts.setObjectName("planFacts")
        self.space = NoteBox("planSpace", "Nothing is fetched before there is room for all of it")
        self.terms = QLabel()
        self.terms.setObjectName("planTerms")
        self.terms.setProperty("role", "muted")
        self.terms.setOpenExternalLinks(True)
        self.terms.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        for label in (self.facts, self.terms):
            label.setWordWrap(True)
        self.facts.setTextFormat(Qt.TextFormat.PlainText)
        self.terms.setTextFormat(Qt.TextFormat.RichText)
        self.table = self._table()
        back = button("&Back", "planBack", "Choose something else", self.back_asked.emit)
        self.go_button = button(
            "&Set it up", "setItUp", "Fetch the packages, install and verify them",
            self._agree, leads=True,
        )  # fmt: skip
        foot = QHBoxLayout()
        foot.addWidget(back)
        foot.addStretch(1)
        foot.addWidget(self.go_button)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(8)
        for widget in (self.title, self.facts, self.space):
            page.addWidget(widget)
        page.addWidget(self.table, 1)
        page.addWidget(self.terms)
        page.addLayout(foot)

    @staticmethod
    def _table() -> QTableWidget:
        table = QTableWidget(0, len(COLUMNS))
        table.setObjectName("planTable")
        table.setAccessibleName("Packages")
        for column, (title, tip) in enumerate(COLUMNS):
            item = QTableWidgetItem(title)
            item.setToolTip(tip)
            item.setTextAlignment(_alignment(column))
            table.setHorizontalHeaderItem(column, item)
        table.verticalHeader().hide()
        table.setShowGrid(False)
        table.setAlternatingRowColors(True)
        table.setTabKeyNavigation(False)
        table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column, width in ((1, 140), (2, 100), (3, 210)):
            table.setColumnWidth(column, width)
        return table

    def show_plan(self, wanted: SetUpRequest, planned: EnvironmentPlan) -> None:
        """Show what a plan comes to."""
        self._plan = planned
        python = planned.python
        version = f"Python {python.version}" if python.version else "the Python"
        self.title.setText(
            f"{planned.kind.title}, as '{wanted.name}', with {version} from {python.path}"
        )
        self.facts.setText(plan_words(planned))
        short = space_words(planned)
        self.space.show_sentences([short] if short else [])
        self.go_button.setEnabled(not short)
        said = [
            f"{maker.name}'s own software comes under <a href='{maker.terms}'>{maker.name}'s "
            f"licence</a>, which you accept by installing it: {', '.join(names)}."
            for maker, names in terms_of(planned.packages)
        ]
        self.terms.setVisible(bool(said))
        self.terms.setText("<br>".join(said))
        self.table.setRowCount(len(planned.packages))
        for row, one in enumerate(planned.packages):
            size = quantity(one.size_B, "B") if one.size_B is not None else "not known"
            voucher = VOUCHERS.get(one.vouched_by, one.vouched_by)
            for column, words in enumerate((one.name, one.version, size, voucher)):
                item = QTableWidgetItem(words)
                item.setTextAlignment(_alignment(column))
                item.setToolTip(f"{one.file}\n{one.url}\nSHA-256 {one.sha256}")
                self.table.setItem(row, column, item)

    def _agree(self) -> None:
        if self._plan is not None:
            self.agreed.emit(self._plan)


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column == 2 else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
