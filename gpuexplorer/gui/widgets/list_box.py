"""A box to choose from a list, whose choices that cannot be chosen look so."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QStandardItem
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionComboBox,
    QStyleOptionViewItem,
)

from gpuexplorer.core.language import tr
from gpuexplorer.gui import typeface
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.words import tells_cut

WIDEST = 420
"""Pixels of an opened list at the most."""
LINE = Qt.ItemDataRole.UserRole + 1
"""What a choice is, in one sentence; empty, or none, for a list of titles alone."""
HEADING = Qt.ItemDataRole.UserRole + 2
"""True for the name of a group, which is no choice."""
BOX_LEAST_WIDTH = 96
"""Pixels of a box in a narrow window, which cuts its choice."""
MARGIN = 8
SPACE = 3


def heading(name: str) -> QStandardItem:
    """Return the name of the group of choices that follow."""
    item = QStandardItem(tr(name))
    item.setFlags(Qt.ItemFlag.NoItemFlags)
    item.setData(True, HEADING)
    return item


class ListBox(QComboBox):
    """A combo box with a name and a tooltip.

    Its list is drawn by a delegate that follows the style sheet: the one that Qt takes by itself
    paints choices that cannot be chosen like the others.
    """

    def __init__(self, name: str, tooltip: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setToolTip(tr(tooltip))
        self.setItemDelegate(Choices(self))

    def showPopup(self) -> None:
        """Let the list be as wide as its longest choice, however narrow the box is.

        One whose choices have a line below them may be as wide as the window has room.
        """
        view = self.view()
        wide = view.sizeHintForColumn(0) + view.verticalScrollBar().sizeHint().width()
        lines = any(self.itemData(index, LINE) for index in range(self.count()))
        room = self.window().width() - self.mapTo(self.window(), QPoint()).x() - MARGIN
        widest = max(WIDEST, room) if lines else WIDEST
        view.setMinimumWidth(max(self.width(), min(wide, widest)))
        super().showPopup()

    @property
    def words_px(self) -> tuple[int, int]:
        """How wide the present choice is, and the room there is for it."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        field = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        )
        return self.fontMetrics().horizontalAdvance(self.currentText()), field.width()

    def event(self, event: QEvent) -> bool:
        """Show the present choice above the tooltip where it is cut."""
        return tells_cut(self, event, self._cut) or super().event(event)

    def _cut(self) -> str:
        wide, room = self.words_px
        return self.currentText() if wide > room else ""


class Choices(QStyledItemDelegate):
    """Draws choices of a list, with a muted line below those that have one, under headings."""

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw a choice or a heading."""
        line, is_heading = tr(index.data(LINE) or ""), bool(index.data(HEADING))
        if not line and not is_heading:
            super().paint(painter, option, index)
            return
        shown = QStyleOptionViewItem(option)
        self.initStyleOption(shown, index)
        title, shown.text = shown.text, ""
        style = shown.widget.style() if shown.widget is not None else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, shown, painter, shown.widget)
        font, small = _fonts(shown.font, is_heading=is_heading)
        place = shown.rect.adjusted(MARGIN, SPACE, -MARGIN, -SPACE)
        painter.save()
        _write(painter, place, font, title, "muted" if is_heading else "text")
        place.setTop(place.top() + QFontMetrics(font).height())
        if line:  # on the colour of what is selected a muted one would be too pale
            selected = bool(shown.state & QStyle.StateFlag.State_Selected)
            _write(painter, place, small, line, "text" if selected else "muted")
        painter.restore()

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """Return the room for one line, or for two."""
        size, line = super().sizeHint(option, index), tr(index.data(LINE) or "")
        if not line:
            return size
        font, small = _fonts(option.font, is_heading=False)
        lines = QFontMetrics(font).height(), QFontMetrics(small).height()
        wide = QFontMetrics(small).horizontalAdvance(line) + 2 * MARGIN
        return QSize(max(size.width(), wide), sum(lines) + 2 * SPACE)


def _fonts(font: QFont, *, is_heading: bool) -> tuple[QFont, QFont]:
    if is_heading:
        font = QFont(font)
        font.setWeight(QFont.Weight.DemiBold)
    return font, typeface.small(font)


def _write(painter: QPainter, place: QRect, font: QFont, words: str, colour: str) -> None:
    painter.setFont(font)
    painter.setPen(theme().q(colour))
    fitting = QFontMetrics(font).elidedText(words, Qt.TextElideMode.ElideRight, place.width())
    painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop, fitting)
