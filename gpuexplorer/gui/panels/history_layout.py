"""Which columns the history's table shows: chosen by the user, as many as there is room for."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSignalBlocker, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHeaderView, QMenu, QTableView

from gpuexplorer.core.language import tr
from gpuexplorer.gui.model.history_columns import COLUMNS, place_of
from gpuexplorer.gui.typeface import for_text

FIRST_COLUMNS = 20
"""That a layout kept by an older program had; newer ones say how many."""
GIVE_WAY = (
    "note", "bandwidth", "tags", "device", "error", "baseline", "precision", "throughput", "result",
    "kind", "block",
)  # fmt: skip
"""The columns that give way where there is no room, first the least needed; tips have most."""
NO_ROOM = "there is no room for it at this width"


class ColumnLayout:
    """Shows, hides and orders the columns of a table, and keeps that over restarts."""

    def __init__(self, table: QTableView) -> None:
        self._table = table
        self._no_room: dict[int, int] = {}
        """Columns that were chosen and gave way, with their widths."""
        header = self._header
        header.setHighlightSections(False)
        header.setStretchLastSection(True)
        header.setSectionsMovable(True)
        header.setSectionsClickable(True)
        header.setMinimumSectionSize(24)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(
            lambda at: self.menu().popup(self._header.mapToGlobal(at))
        )
        self.reset()

    @property
    def _header(self) -> QHeaderView:
        """The header, asked for each time: one that was kept became invalid after 20 minutes."""
        return self._table.horizontalHeader()

    def _chosen(self, section: int) -> bool:
        return section in self._no_room or not self._header.isSectionHidden(section)

    def fit(self) -> None:
        """Have the least needed columns give way where they do not all fit, or come back."""
        header, room = self._header, self._table.viewport().width()
        chosen = [section for section in range(len(COLUMNS)) if self._chosen(section)]
        widths = {s: self._no_room.get(s) or header.sectionSize(s) for s in chosen}
        if chosen:  # it has what is left over beside what it needs
            last = max(chosen, key=header.visualIndex)
            shown = [s for s in chosen if s not in self._no_room]
            for stretched in {last, max(shown, key=header.visualIndex, default=last)}:
                usual = for_text(COLUMNS[stretched].width)
                widths[stretched] = min(widths[stretched], usual)
        missing = sum(widths.values()) - room
        going: dict[int, int] = {}
        for section in map(place_of, GIVE_WAY):
            if missing > 0 and section in widths:
                going[section] = widths[section]
                missing -= widths[section]
        for section in self._no_room.keys() - going.keys():
            header.setSectionHidden(section, False)
            header.resizeSection(section, widths[section])
        for section in going.keys() - self._no_room.keys():
            header.setSectionHidden(section, True)
        self._no_room = going

    def menu(self) -> QMenu:
        """Return a menu that shows and hides columns; it goes when it is closed."""
        menu = QMenu(self._table)
        menu.setObjectName("historyColumnsMenu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for section, column in enumerate(COLUMNS):
            action = QAction(tr("star" if column.key == "star" else column.title), menu)
            action.setCheckable(True)
            action.setChecked(self._chosen(section))
            lacks = section in self._no_room
            action.setToolTip(
                tr(f"{column.explanation}; {NO_ROOM}" if lacks else column.explanation)
            )
            action.toggled.connect(lambda on, section=section: self.choose(section, on))
            menu.addAction(action)
        menu.addSeparator()
        menu.addAction(tr("As at first")).triggered.connect(lambda _=False: self.reset())
        menu.setToolTipsVisible(True)
        return menu

    def choose(self, section: int, on: bool) -> None:
        """Show a column from now on, or not."""
        width = self._no_room.pop(section, None)
        self._header.setSectionHidden(section, not on)
        if width is not None and on:
            self._header.resizeSection(section, width)
        self.fit()

    def reset(self) -> None:
        """Show the columns as they are at first."""
        header = self._header
        self._no_room = {}
        for section, column in enumerate(COLUMNS):
            header.setSectionHidden(section, not column.shown)
            header.resizeSection(section, for_text(column.width))
            header.moveSection(header.visualIndex(section), section)
        for section, column in enumerate(COLUMNS):
            if column.at is not None:
                header.moveSection(header.visualIndex(section), column.at)
        self.fit()

    def state(self) -> QByteArray:
        """Return widths and places of the columns, and which were chosen."""
        header = self._header
        with QSignalBlocker(header):
            for section, width in self._no_room.items():
                header.setSectionHidden(section, False)
                header.resizeSection(section, width)
            found = header.saveState() + f"#{len(COLUMNS)}".encode()
            for section in self._no_room:
                header.setSectionHidden(section, True)
        return found

    def restore(self, state: QByteArray) -> None:
        """Take columns as they were; the order of the rows is not part of it."""
        header = self._header
        said = bytes(state.data()).rpartition(b"#")[2]
        known = int(said) if said.isdigit() else FIRST_COLUMNS
        with QSignalBlocker(header):
            self._no_room = {}
            header.restoreState(state)
            for section, column in enumerate(COLUMNS):
                if section >= known:  # one that a newer program has
                    header.resizeSection(section, for_text(column.width))
                    header.setSectionHidden(section, not column.shown)
                    if column.at is not None:
                        header.moveSection(header.visualIndex(section), column.at)
        self.fit()
