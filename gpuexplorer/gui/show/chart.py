"""A chart on screen: the rows of panels of any ``ChartSpec``, with marks to point at and click."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QToolTip, QWidget

from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.charts.told import told
from gpuexplorer.core.language import tr
from gpuexplorer.gui.plain import plain_tip
from gpuexplorer.gui.show.legend import SIDE_PX, Entry, Head, entries_of
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.scroll_room import ScrollArea

if TYPE_CHECKING:
    from gpuexplorer.gui.show.panel import PanelView

LEAST_WIDTH = 150
"""Of a panel; a row that has no room for that goes on below."""
MOST_NAMED = 190
"""Such a width a panel gets for the names in its legend; longer ones are cut."""
GAP_PX = 4
MOST_TOLD = 40
"""Marks that the description for readers of the screen tells of."""


def _no_words(_key: str) -> str:
    return ""


class ChartView(ScrollArea):
    """Shows a chart; ``hovered`` carries the key of the mark under the pointer or None.

    ``chosen`` carries the key of a mark that was clicked. What can be zoomed is dragged and zoomed
    with the wheel, and a double click shows all again.
    """

    hovered = Signal(object)
    chosen = Signal(str)

    def __init__(self, name: str, title: str, words: Callable[[str], str] = _no_words) -> None:
        """``words`` says what is known of the mark of a key, for its tooltip."""
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(tr(title))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.spec: ChartSpec | None = None
        self._words = words
        self._page = QWidget()
        self._page.setAutoFillBackground(True)
        self._page.setBackgroundRole(self._page.palette().ColorRole.Base)
        self.legend = Head()
        self.legend.setParent(self._page)
        self.panels: list[PanelView] = []
        self._hovered: str | None = None
        self._current: str | None = None
        self.setWidget(self._page)

    # ---- what is shown

    def show_chart(self, spec: ChartSpec | None) -> None:
        """Draw a chart; None: nothing. Where it is like the one before, only values change."""
        if spec == self.spec:
            return
        self.spec = spec
        spec = told(spec) if spec is not None else None
        panels = [panel for row in spec.rows for panel in row] if spec is not None else []
        self._have(len(panels))
        entries = [entries_of(panel) for panel in panels]
        looks = {tuple((e.one.name, e.one.kind, e.one.colour, e.one.role) for e in found)
                 for found in entries}  # fmt: skip
        shared: tuple[Entry, ...] = entries[0] if len(panels) > 1 and len(looks) == 1 else ()
        self.legend.show_words("", "", shared)
        for view, panel, found in zip(self.panels, panels, entries, strict=True):
            view.show_panel(panel, () if shared else found)
        for view, left in zip(self.panels, [None, *self.panels], strict=False):
            view.share_y_with(left)
        self._arrange()

    def say_empty(self, words: str) -> None:
        """Say in every panel that nothing is drawn yet, and what to do; "" for no such words."""
        for view in self.panels:
            view.plot.say_empty(words)

    def set_current(self, key: str | None) -> None:
        """Mark what is measured now."""
        if key != self._current:
            self._current = key
            self._ring()

    @property
    def keys(self) -> list[str]:
        """The keys of all marks drawn."""
        return [key for view in self.panels for key in view.plot.marks.keys]

    def place_of(self, key: str) -> tuple[QWidget, QPoint] | None:
        """Return where a key's mark is: a viewport and a place in it; None when it is not drawn."""
        for view in self.panels:
            at = view.plot.place_of(key)
            if at is not None:
                return view.plot.viewport(), at
        return None

    def spoken(self) -> str:
        """Return what is known of the marks that are drawn, the first of them."""
        told = [words for key in self.keys[:MOST_TOLD] if (words := self._words(key))]
        return "; ".join(tr(words).replace("\n", ", ") for words in told)

    # ---- panels and their places

    def _have(self, number: int) -> None:
        """Have so many panels."""
        from gpuexplorer.gui.show.panel import PanelView

        while len(self.panels) > number:
            gone = self.panels.pop()
            gone.hide()
            gone.deleteLater()
        while len(self.panels) < number:
            view = PanelView()
            view.setParent(self._page)
            view.plot.hovered.connect(self._hover)
            view.plot.chosen.connect(self.chosen)
            view.plot.tip_wanted.connect(self._tell)
            self.panels.append(view)
            view.show()

    def _rows(self, width: int) -> list[list[PanelView]]:
        """Return the panels in rows that have room in so many pixels."""
        rows: list[list[PanelView]] = []
        views = iter(self.panels)
        for row in self.spec.rows if self.spec is not None else ():
            in_row = [next(views) for _ in row]
            least = max(LEAST_WIDTH, *(min(v.head.whole_width, MOST_NAMED) for v in in_row))
            scales = sum(map(_scale_px, in_row))
            across = max(1, min(len(row), (width - scales) // least))
            across = -(-len(row) // -(-len(row) // across))  # as many in each, as far as it goes
            rows += [in_row[i : i + across] for i in range(0, len(in_row), across)]
        return rows

    def _arrange(self) -> None:
        """Give every panel its place in the room there is."""
        spec, width = self.spec, self.viewport().width()
        if spec is None or width < 2:
            return
        top = self.legend.height_for(width)
        self.legend.setGeometry(0, 0, width, top)
        rows = self._rows(width)
        for row in rows:
            self._place_across(row, width)
        self._share_axis_widths(rows)
        least = [max(view.least_px for view in row) for row in rows]
        most = [max(view.most_px for view in row) for row in rows]
        room = max(self.viewport().height() - top, sum(least))
        heights = _shares([max(_height(v) for v in row) for row in rows], least, most, room)
        y = top
        for row, height in zip(rows, heights, strict=True):
            for view in row:
                view.setGeometry(view.x(), y, view.width(), height)
            y += height
        self._page.setMinimumHeight(top + sum(least))

    def _place_across(self, row: list[PanelView], width: int) -> None:
        """Give the panels of a row their widths; a colour scale takes none of its panel's."""
        scales = [_scale_px(view) for view in row]
        room = width - sum(scales) - GAP_PX * (len(row) - 1)
        whole = sum(view.panel.width for view in row if view.panel is not None)
        x = 0.0
        for view, scale in zip(row, scales, strict=True):
            assert view.panel is not None
            wide = room * view.panel.width / whole + scale
            view.setGeometry(int(x), view.y(), int(wide), view.height())
            x += wide + GAP_PX
        tallest = max(view.head.height_for(view.width() - 2 * SIDE_PX) for view in row)
        for view in row:
            view.head.set_least(tallest)  # so that their plots begin at one height

    @staticmethod
    def _share_axis_widths(rows: list[list[PanelView]]) -> None:
        """Let panels above each other share the width of their upright axis."""
        columns: dict[tuple[int, int], list[PanelView]] = {}
        for row in rows:
            for column, view in enumerate(row):
                columns.setdefault((column, len(row)), []).append(view)
        for views in columns.values():
            widest = max(view.axis_width_wanted() for view in views)
            for view in views:
                bare = view.panel is not None and view.panel.share_y
                view.set_axis_width(view.axis_width_wanted() if bare else widest)

    def sizeHint(self) -> QSize:
        """Return room for every panel."""
        return QSize(500, sum(view.least_px for view in self.panels) or 200)

    def minimumSizeHint(self) -> QSize:
        """Return the least room; what has none is scrolled to."""
        return QSize(200, 90)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the panels their places in the new room."""
        super().resizeEvent(event)
        self._arrange()

    # ---- pointing

    def _hover(self, key: str | None) -> None:
        if key != self._hovered:
            self._hovered = key
            self._ring()
            self.hovered.emit(key)

    def _ring(self) -> None:
        for view in self.panels:
            view.show_rings(self._hovered, self._current)

    def _tell(self, at: QPoint, key: str) -> None:
        QToolTip.showText(at, plain_tip(tr(self._words(key) if key else "")), self)


def _scale_px(view: PanelView) -> int:
    """Return the width of the colour scale beside a panel."""
    from gpuexplorer.gui.show.heat import SCALE_WIDTH

    return for_text(SCALE_WIDTH) if view.scale.isVisibleTo(view) else 0


def _height(view: PanelView) -> float:
    return view.panel.height if view.panel is not None else 1.0


def _shares(weights: list[float], least: list[int], most: list[int], room: int) -> list[int]:
    """Return heights of rows in a room after their weights, between their least and most."""
    found = [0.0] * len(weights)
    open_rows, left = set(range(len(weights))), float(room)
    while open_rows:
        whole = sum(weights[i] for i in open_rows)
        bound = {
            i: float(min(max(least[i], left * weights[i] / whole), max(most[i], least[i])))
            for i in open_rows
        }
        stuck = [i for i in open_rows if abs(bound[i] - left * weights[i] / whole) > 0.5]
        if not stuck:
            for i in open_rows:
                found[i] = bound[i]
            break
        over = sum(bound.values()) - left
        # First those that need more than their share, or those that take less, whichever decides.
        first = [i for i in stuck if (bound[i] > left * weights[i] / whole) == (over > 0)] or stuck
        for i in first:
            found[i] = bound[i]
            left -= bound[i]
            open_rows.discard(i)
        left = max(left, 0.0)
    return [int(height) for height in found]
