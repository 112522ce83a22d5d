"""The window's views in few places: one row holds the places and the views of the one shown."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QSizePolicy,
    QStackedWidget,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.language import tr
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.look import set_look

PLACE_PX, VIEW_PX, BETWEEN_PX = 20, 16, 24
"""Pixels around the words of tabs, as the style has them, and between the two bars."""


class Places(QWidget):
    """Shows one view; each place remembers which of its own was shown last.

    Views have numbers in the order in which they were added. ``changed`` says that another is
    shown.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("views")
        self.place_bar = _bar("placeBar", "Places")
        self.place_bar.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.place_bar.setUsesScrollButtons(False)  # all places are seen always
        self.view_bar = _bar("viewBar", "Views of this place")
        self.room = QStackedWidget()
        """Where the view is."""
        self._close = False
        """Whether there is so little room that tabs stand close."""
        self._places: list[str] = []
        self._titles: list[str] = []
        self._place_of: list[int] = []
        self._last: list[int] = []
        """Of each place, the view shown last."""
        row = QFrame()
        row.setObjectName("placesRow")
        line = QHBoxLayout(row)
        line.setContentsMargins(4, 0, 0, 0)
        line.setSpacing(4)
        line.addWidget(self.place_bar, 0, Qt.AlignmentFlag.AlignVCenter)
        between = QFrame()
        between.setObjectName("placesLine")
        between.setFixedWidth(1)
        line.addWidget(between)
        line.addWidget(self.view_bar, 1)
        self.row = row
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(row)
        column.addWidget(self.room, 1)
        self.place_bar.currentChanged.connect(self._show_place)
        self.view_bar.currentChanged.connect(self._show_tab)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Have tabs stand closer where there is no room for all of them."""
        super().resizeEvent(event)
        self._fit_tabs()

    def _fit_tabs(self) -> None:
        """Look at the place with the most, so that nothing moves from place to place."""
        advance = self.fontMetrics().horizontalAdvance

        def needed(titles: Iterable[str], around: int) -> int:
            return sum(advance(tr(title)) + for_text(around) for title in titles)

        titles = self.titles
        widest = max((needed(views, VIEW_PX) for views in titles.values()), default=0)
        close = needed(titles, PLACE_PX) + widest + for_text(BETWEEN_PX) > self.width()
        if close != self._close:
            self._close = close
            for bar in (self.place_bar, self.view_bar):
                set_look(bar, close=close)
                QApplication.sendEvent(bar, QEvent(QEvent.Type.StyleChange))  # it measures anew
                bar.updateGeometry()

    def add(self, place: str, *views: tuple[QWidget, str]) -> None:
        """Add a place, to the right of the others, with its views and their titles."""
        number, first = len(self._last), len(self._titles)
        self._last.append(first)
        for view, title in views:
            self.room.addWidget(view)
            self._titles.append(title)
            self._place_of.append(number)
        self._places.append(place)
        with QSignalBlocker(self.place_bar):
            self.place_bar.addTab(tr(place))
        if number == 0:
            self._offer(number)

    @property
    def views(self) -> list[QWidget]:
        """All views, by their numbers."""
        found = (self.room.widget(number) for number in range(self.room.count()))
        return [view for view in found if view is not None]

    @property
    def current(self) -> QWidget:
        """The view that is shown."""
        return self.room.currentWidget()

    @property
    def titles(self) -> dict[str, list[str]]:
        """The titles of each place's views."""
        return {
            name: [
                title for title, of in zip(self._titles, self._place_of, strict=True) if of == place
            ]
            for place, name in enumerate(self._places)
        }

    def title_of(self, view: QWidget) -> str:
        """Return the title of a view."""
        return self._titles[self.room.indexOf(view)]

    def titled(self, title: str) -> QWidget | None:
        """Return the view with a title; None where there is none."""
        return self.room.widget(self._titles.index(title)) if title in self._titles else None

    def show_view(self, view: QWidget) -> None:
        """Bring a view to the front."""
        self._show_number(self.room.indexOf(view))

    def turn(self, step: int) -> None:
        """Show the view so many further on, through all places and round at the ends."""
        self._show_number((self.room.currentIndex() + step) % self.room.count())

    def _show_place(self, place: int) -> None:
        self._show_number(self._last[place])

    def _show_tab(self, tab: int) -> None:
        self._show_number(self._place_of.index(self.place_bar.currentIndex()) + tab)

    def _show_number(self, number: int) -> None:
        if number == self.room.currentIndex():
            return
        place = self._place_of[number]
        self._last[place] = number
        with QSignalBlocker(self.place_bar), QSignalBlocker(self.view_bar):
            self.place_bar.setCurrentIndex(place)
            if place != self._place_of[self.room.currentIndex()]:
                self._offer(place)
            self.view_bar.setCurrentIndex(number - self._place_of.index(place))
        self.room.setCurrentIndex(number)
        self.changed.emit()

    def _offer(self, place: int) -> None:
        """Show the tabs of a place's views."""
        with QSignalBlocker(self.view_bar):
            while self.view_bar.count():
                self.view_bar.removeTab(0)
            for title, of in zip(self._titles, self._place_of, strict=True):
                if of == place:
                    self.view_bar.addTab(tr(title))


def _bar(name: str, accessible: str) -> QTabBar:
    bar = QTabBar()
    bar.setObjectName(name)
    bar.setAccessibleName(tr(accessible))
    bar.setDrawBase(False)
    bar.setExpanding(False)
    bar.setChangeCurrentOnDrag(True)  # a run of the history can be dragged into Compare
    return bar
