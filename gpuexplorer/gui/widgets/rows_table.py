"""A table of results: whole rows are chosen, nothing is edited, figures stand at the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTableView,
    QTableWidget,
    QTableWidgetItem,
)

from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text

LEFT = Qt.AlignmentFlag.AlignLeft
RIGHT = Qt.AlignmentFlag.AlignRight
CENTRE = Qt.AlignmentFlag.AlignHCenter


@dataclass(frozen=True)
class Column:
    """A column's title, the words of its tip, on which side its cells stand, and its width."""

    title: str
    tip: str = ""
    side: Qt.AlignmentFlag = LEFT
    width: int | None = None


def show_as_rows(table: QTableView, name: str, accessible: str, row_height: int) -> None:
    """Have a table look and behave as every table of results does."""
    table.setObjectName(name)
    table.setAccessibleName(accessible)
    table.setProperty("role", "rows")
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setAlternatingRowColors(True)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(for_text(row_height))
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setStretchLastSection(True)
    header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)


class RowsTable(QTableWidget):
    """A subclass fills it and, in ``paint_rows``, gives the cells what depends on the colours."""

    def __init__(self, name: str, accessible: str, row_height: int) -> None:
        super().__init__()
        show_as_rows(self, name, accessible, row_height)
        self.columns: tuple[Column, ...] = ()
        theme().changed.connect(self._theme_changed)

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Give the table these columns."""
        self.columns = tuple(columns)
        self.setColumnCount(len(columns))
        for number, column in enumerate(columns):
            head = QTableWidgetItem(column.title)
            head.setToolTip(column.tip)
            head.setTextAlignment(column.side | Qt.AlignmentFlag.AlignVCenter)
            self.setHorizontalHeaderItem(number, head)
            if column.width is not None:
                self.setColumnWidth(number, column.width)

    def cell(self, row: int, column: int) -> QTableWidgetItem:
        """Return a cell, made if need be, on its column's side."""
        item = self.item(row, column)
        if item is None:
            item = QTableWidgetItem()
            item.setTextAlignment(self.columns[column].side | Qt.AlignmentFlag.AlignVCenter)
            self.setItem(row, column, item)
        return item

    def put(self, row: int, column: int, text: str, tip: str = "") -> QTableWidgetItem:
        """Write a cell and return it."""
        item = self.cell(row, column)
        if item.text() != text:
            item.setText(text)
        item.setToolTip(tip)
        return item

    def paint_rows(self) -> None:
        """Write the rows anew in the present colours."""

    def _theme_changed(self) -> None:
        self.paint_rows()
