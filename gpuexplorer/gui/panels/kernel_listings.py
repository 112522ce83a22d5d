"""The instructions beside the source, of one kernel or of two, linked by their lines."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from gpuexplorer.analysis.listing import KernelListing, remarks, unmatched_rows
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import tr
from gpuexplorer.gui.code.instructions import PTX, SASS
from gpuexplorer.gui.code.view import CodeView
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.panels.kernel_listing import ListingColumn, differing_rows
from gpuexplorer.gui.plots.base import title_label
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.list_box import BOX_LEAST_WIDTH, ListBox
from gpuexplorer.gui.widgets.two_lines import TwoLines
from gpuexplorer.gui.widgets.words import Remarks


class Listings(QWidget):
    """One listing or two; ``asked`` says that another one is wanted.

    A click on a line of the source marks its instructions and has them in sight, one on an
    instruction the lines it comes from, those that it was inlined at included.
    """

    asked = Signal()

    def __init__(self, source: CodeView) -> None:
        super().__init__()
        self.setVisible(False)
        self._source = source
        self._file = self._title = ""
        self._offered: dict[str, str] = {}
        self._chosen: int | None = None
        """The source's line, counted from 0, whose instructions are marked."""
        self.form_box = ListBox("codeFormBox", "SASS is what runs; PTX is what it is made of")
        self.form_box.setAccessibleName(tr("Form of the code"))
        self.form_box.addItems([SASS, PTX])
        self.beside_box = ListBox(
            "besideBox",
            "Another GPU, variant or version, whose instructions are shown beside; what differs is "
            "tinted",
        )
        self.beside_box.setAccessibleName(tr("What stands beside"))
        self.beside_box.addItem(tr("nothing"), None)
        self.remark = Remarks(lines=1)
        self.remark.setObjectName("listingRemark")
        self.column, self.other = ListingColumn("listing"), ListingColumn("listingBeside")
        self.other.setVisible(False)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(1)
        split.addWidget(self.column)
        split.addWidget(self.other)
        form, beside = title_label("Show"), title_label("beside")
        for label, box in ((form, self.form_box), (beside, self.beside_box)):
            label.setBuddy(box)
            box.setMinimumWidth(for_text(BOX_LEAST_WIDTH))
        head = TwoLines(
            (form, self.form_box), (beside, self.beside_box), margins=(8, 4, 8, 0), spacing=8
        )
        self.remark.setContentsMargins(8, 2, 8, 2)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(head)
        column.addWidget(self.remark)
        column.addWidget(split, 1)
        self.form_box.currentIndexChanged.connect(lambda _: self._show())
        self.beside_box.currentIndexChanged.connect(lambda _: self.asked.emit())
        source.line_chosen.connect(self._choose_line)
        for one in (self.column, self.other):
            one.line_chosen.connect(lambda number, one=one: self._choose_row(one, number))

    @property
    def beside(self) -> str | None:
        """The key of what is to be shown beside; None for nothing."""
        chosen = self.beside_box.currentData()
        return None if chosen is None else str(chosen)

    def offer(self, others: Mapping[str, str]) -> None:
        """Offer what may stand beside: titles by their keys."""
        if others == self._offered:
            return
        self._offered, chosen = dict(others), self.beside
        with QSignalBlocker(self.beside_box):
            self.beside_box.clear()
            self.beside_box.addItem(tr("nothing"), None)
            for key, title in others.items():
                self.beside_box.addItem(tr(title), key)
            self.beside_box.setCurrentIndex(max(0, self.beside_box.findData(chosen)))

    def show_kernels(
        self,
        kernel: KernelListing,
        beside: KernelListing | None,
        sources: Collection[str],
        title: str = "",
        missing: ExplorerError | None = None,
    ) -> None:
        """Show one kernel, or two beside each other.

        ``title`` tells the second of two with other sources, whose lines cannot be held together;
        ``missing`` says why there is no second.
        """
        self._title = title
        self.column.kernel, self.other.kernel = kernel, beside
        if self._file != kernel.source:
            self._file, self._chosen = kernel.source, None
        self._sources = frozenset(sources)
        why = [] if missing is None else [f"{capital(str(missing))}."]
        self.remark.say([*why, *remarks(kernel)[1:]])
        self.remark.setToolTip(tr("\n".join(remarks(kernel))))
        self._show()

    def leave(self) -> None:
        """Hold no instructions until they are shown again."""
        for column in (self.column, self.other):
            column.leave(self.form_box.currentText())

    def _show(self) -> None:
        form = self.form_box.currentText()
        kernel, beside = self.column.kernel, self.other.kernel
        self.other.setVisible(beside is not None)
        for column in (self.column, self.other):
            if column.kernel is not None:
                column.show_kernel(column.kernel, form)
                column.text.tint(())
        if self._title and beside is not None:
            self.other.title.setText(tr(f"{beside.title} · {self._title}"))
        if kernel is not None and beside is not None and form == SASS:
            if self._title:
                ours, theirs = unmatched_rows(kernel.sass, beside.sass)
            else:
                ours = differing_rows(kernel, beside, self._sources)
                theirs = differing_rows(beside, kernel, self._sources)
            self.column.text.tint(ours)
            self.other.text.tint(theirs)
        if self._chosen is not None:
            self._choose_line(self._chosen)

    def hideEvent(self, event: QHideEvent) -> None:
        """Leave no marks in the source."""
        super().hideEvent(event)
        self._chosen = None
        self._source.link(())

    def _choose_line(self, line: int) -> None:
        """Mark the instructions of a line of the source."""
        if self.isHidden():
            return
        self._chosen = line
        self._source.link((line,))
        for column in (self.column, self.other):
            column.text.mark(column.text.rows_at(self._file, line + 1), scroll=True)

    def _choose_row(self, column: ListingColumn, row: int) -> None:
        """Mark the lines that an instruction comes from, and what else comes from the first."""
        lines = column.text.lines_of(row, self._file)
        self._chosen = lines[0] if lines else None
        self._source.link(lines, scroll=True)
        column.text.mark((row,))
        other = self.other if column is self.column else self.column
        if lines:
            other.text.mark(other.text.rows_at(self._file, lines[0] + 1), scroll=True)
