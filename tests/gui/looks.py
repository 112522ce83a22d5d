"""What can be wrong with how a window looks and how keys go through it.

The looks are generic: they find whatever is in a window, so that a new view is looked at too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from pyqtgraph import AxisItem
from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QAccessible, QImage, QPainter, QPalette, QPicture, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QGraphicsTextItem,
    QGraphicsView,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListView,
    QMainWindow,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QScrollBar,
    QSizeGrip,
    QSplitterHandle,
    QStyle,
    QStyleOptionComboBox,
    QTabBar,
    QTextEdit,
    QToolButton,
    QWidget,
)

from gpuexplorer.core import resources
from gpuexplorer.gui.widgets.banner import Banner
from gpuexplorer.gui.widgets.caption import Veil
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.gui.widgets.words import Remarks, Words

Pixels = NDArray[np.uint8]
LEAST_CONTRAST = 4.5
"""WCAG 2.2, 1.4.3: text against what is behind it; what is disabled is exempt."""
FINE = 3
"""Times as many pixels as the window has: strokes are wider than a pixel, and so of full colour."""
SLACK = 1
"""Pixels that may be lost in rounding."""
FEWEST = 5
"""Letters of a list's choice that are seen at least."""
MOST_STOPS = 200
WIDE, SMALL = 1280, 800
"""From these widths of a window on results have room beside their forms, and views at all."""
SHORT_AXIS = 130
"""Pixels: a logarithmic axis has two numbers, which may touch where it is shorter."""
CONTROLS = (
    QAbstractButton, QComboBox, QLineEdit, QAbstractSpinBox, QAbstractSlider, QTabBar,
    QAbstractItemView, QPlainTextEdit, QTextEdit,
)  # fmt: skip
"""What is there to be used: Tab leads to each."""
WHOLES = (QAbstractSpinBox, QComboBox, QLineEdit, QTabBar, QAbstractItemView)
"""Their parts have the keys with them."""


def settle() -> None:
    """Let layouts that wait for each other come to rest."""
    for _ in range(4):
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
        QApplication.processEvents()


def describe(widget: QWidget) -> str:
    """Return a widget's kind, where it is, and its words."""
    words = getattr(widget, "text", None)
    shown = words() if callable(words) else ""
    named: QWidget | None = widget
    while named is not None and not named.objectName():
        named = named.parentWidget()
    return f"{type(widget).__name__} in {named.objectName() if named else '?'} {shown!r:.60}"


def seen(root: QWidget) -> Iterator[QWidget]:
    """Yield the visible widgets of a window."""
    for widget in root.findChildren(QWidget):
        if widget.isVisible() and widget.window() is root and not widget.size().isEmpty():
            yield widget


# ---- cut


def cut(root: QWidget) -> Iterator[str]:
    """Say which words have no room, and what reaches out of what holds it."""
    for widget in seen(root):
        for lack in _lacks(widget):
            yield f"{describe(widget)}: {lack}"


def sideways(root: QWidget) -> Iterator[str]:
    """Say what is wider than its place, so that a part of it is out of sight.

    Text may be, a table beside a form in a small window, and a view in one that is smaller still.
    """
    small = root.width() < WIDE
    for widget in seen(root) if root.width() >= SMALL else ():
        if isinstance(widget, QAbstractScrollArea):
            table = small and isinstance(widget, QAbstractItemView)
            text = isinstance(widget, QPlainTextEdit | QTextEdit | QGraphicsView)
            if isinstance(widget, QListView) and widget.flow() == QListView.Flow.LeftToRight:
                continue  # a strip is scrolled along
            if widget.horizontalScrollBar().maximum() > 0 and not table and not text:
                yield f"{describe(widget)}: a part is out of sight at the right"


def _lacks(widget: QWidget) -> Iterator[str]:
    parent = widget.parentWidget()
    if parent is not None and not isinstance(widget, QSplitterHandle | QScrollBar):
        held, place = parent.rect(), widget.geometry()
        area = parent.parentWidget()
        wide = place.left() < -SLACK or place.right() > held.right() + SLACK
        high = place.top() < -SLACK or place.bottom() > held.bottom() + SLACK
        if isinstance(area, QAbstractScrollArea) and area.viewport() is parent:
            never = Qt.ScrollBarPolicy.ScrollBarAlwaysOff
            wide = wide and area.horizontalScrollBarPolicy() == never
            high = high and area.verticalScrollBarPolicy() == never
        if wide or high:
            yield f"{_box(place)} reaches out of {_box(held)}"
    if isinstance(widget, Words):  # cuts itself, and its tip has the whole
        parent = widget.parentWidget()
        shares = parent is not None and parent.objectName() == "chip"  # a row with any number
        if (
            widget.window().width() >= WIDE
            and widget.cut
            and not (shares or isinstance(widget, Remarks))
        ):
            yield f"{widget.text()!r} is cut to {widget.fitting()!r}"
        return
    if isinstance(widget, QLabel):
        yield from _label(widget)
    elif isinstance(widget, QComboBox):
        yield from _list_box(widget)
    elif isinstance(widget, QPushButton | QToolButton | QCheckBox | QRadioButton):
        least = widget.minimumSizeHint()
        if widget.text() and _exceeds(least.width(), least.height(), widget):
            yield f"{least.width()}×{least.height()} wanted, {widget.width()}×{widget.height()}"
    elif isinstance(widget, QLineEdit):
        yield from _field(widget)
    elif isinstance(widget, QTabBar):
        yield from _tabs(widget)


def _exceeds(width: int, height: int, widget: QWidget) -> bool:
    return width > widget.width() + SLACK or height > widget.height() + SLACK


def _label(label: QLabel) -> Iterator[str]:
    if not label.text() or not label.pixmap().isNull():
        return
    if not label.wordWrap():
        least = label.minimumSizeHint()
        if _exceeds(least.width(), least.height(), label):
            yield f"{least.width()}×{least.height()} of words in {label.width()}×{label.height()}"
        return
    wanted = label.heightForWidth(label.width())
    if wanted > label.height() + SLACK:
        yield f"{wanted} px of words in {label.height()}"
    if "<" not in label.text():
        room, advance = label.contentsRect().width(), label.fontMetrics().horizontalAdvance
        longest = max(re.split(r"[\s\u200b]+|(?<=[\u3000-\uffef])", label.text()), key=advance)
        if advance(longest) > room + SLACK:
            yield f"the word {longest!r} of {advance(longest)} px in {room}"


def _field(field: QLineEdit) -> Iterator[str]:
    """What is typed may be longer than a field, but neither its hint nor a number."""
    number = isinstance(field.parentWidget(), QAbstractSpinBox)
    words = field.text() if number else field.placeholderText() if not field.text() else ""
    wanted, room = field.fontMetrics().horizontalAdvance(words), field.contentsRect().width()
    if wanted > room + SLACK and words not in field.toolTip():
        yield f"{words!r} of {wanted} px in {room}"


def _list_box(box: QComboBox) -> Iterator[str]:
    if isinstance(box, ListBox):  # what is cut stands in its tooltip
        wanted, room = box.words_px
        if wanted > room + SLACK and room < FEWEST * box.fontMetrics().averageCharWidth():
            yield f"{wanted} px of words in {room}"
        return
    option = QStyleOptionComboBox()
    box.initStyleOption(option)
    field = box.style().subControlRect(
        QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, box
    )
    wanted = box.fontMetrics().horizontalAdvance(box.currentText())
    if wanted > field.width() + SLACK and box.currentText() not in box.toolTip():
        yield f"{wanted} px of words in {field.width()}, and its tip does not have them"


def _tabs(bar: QTabBar) -> Iterator[str]:
    held = bar.rect().adjusted(-SLACK, -SLACK, SLACK, SLACK)
    for tab in range(bar.count()):
        place, wanted = bar.tabRect(tab), bar.fontMetrics().horizontalAdvance(bar.tabText(tab))
        if not held.contains(place) or wanted > place.width():
            yield f"the tab {bar.tabText(tab)} of {wanted} px at {_box(place)} is cut"


def _box(place: QRect) -> str:
    return f"{place.x()},{place.y()} {place.width()}×{place.height()}"


# ---- overlaps


def overlaps(root: QWidget) -> Iterator[str]:
    """Say which widgets of one parent lie over each other; a message lies over the views."""
    children: dict[QWidget, list[QWidget]] = {}
    for widget in seen(root):
        parent = widget.parentWidget()
        by_design = (Banner, Veil, QSplitterHandle, QSizeGrip, QHeaderView, QScrollBar)
        whole = (QMainWindow, QComboBox, QAbstractItemView)
        if parent is not None and not isinstance(widget, by_design):
            if not isinstance(parent, whole):
                children.setdefault(parent, []).append(widget)
    for together in children.values():
        for one, other in combinations(together, 2):
            shared = one.geometry().intersected(other.geometry())
            if shared.width() > SLACK and shared.height() > SLACK:
                yield f"{describe(one)} and {describe(other)} share {_box(shared)}"


def crowded(root: QWidget) -> Iterator[str]:
    """Say which words of a plot lie over each other, but at an axis with no room for two."""
    for view in seen(root):
        if not isinstance(view, QGraphicsView):
            continue
        items = [item for item in view.items() if item.isVisible()]
        free = {
            item.toPlainText(): item.sceneBoundingRect()
            for item in items
            if isinstance(item, QGraphicsTextItem)
        }
        for words in (free, *(_at_axis(item) for item in items if isinstance(item, AxisItem))):
            for (one, place), (other, second) in combinations(words.items(), 2):
                shared = place & second
                if shared.width() > SLACK and shared.height() > SLACK:
                    yield f"{describe(view)}: {one!r} and {other!r} lie over each other"


def _at_axis(axis: AxisItem) -> dict[str, QRectF]:
    """Return the words at an axis, and where they stand."""
    picture = QPicture()
    painter = QPainter(picture)
    painter.setFont(axis.font())
    specs = axis.generateDrawSpecs(painter)
    painter.end()
    short = axis.geometry().width() < SHORT_AXIS and axis.orientation in ("bottom", "top")
    return {words: place for place, _, words in specs[2]} if specs and not short else {}


# ---- left over of other colours

GROUNDS = ("window", "panel", "raised")
ROLES = (
    QPalette.ColorRole.Window, QPalette.ColorRole.Base, QPalette.ColorRole.Button,
    QPalette.ColorRole.Text, QPalette.ColorRole.WindowText,
)  # fmt: skip
PATCH_PX = 6
"""A square of so many pixels is no stroke of a word."""


def left_over(root: QWidget, other: str) -> Iterator[str]:
    """Say what still has the grounds of the ``other`` scheme: pixels that are seen, and widgets."""
    colours = tomllib.loads(resources.text("themes", f"{other}.toml"))
    grounds = {colours[name]: name for name in GROUNDS}
    image = root.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    flat = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1) & 0xFFFFFF
    for colour, name in grounds.items():
        patch = flat[:, : image.width()] == int(colour[1:], 16)
        for _ in range(PATCH_PX - 1):
            patch = patch[:-1] & patch[1:]
            patch = patch[:, :-1] & patch[:, 1:]
        rows, columns = np.nonzero(patch)
        if len(rows):
            place = f"{columns.min()}, {rows.min()} to {columns.max()}, {rows.max()}"
            yield f"the {other} {name} at {place}"
    old = {*grounds, colours["text"]}
    for widget in root.findChildren(QWidget):
        for role in ROLES:
            if widget.palette().color(role).name() in old:
                yield f"{describe(widget)}: {role.name} of the {other} scheme"


# ---- contrast


def faint(root: QWidget) -> Iterator[str]:
    """Say which words do not stand out from what is behind them, by the pixels of the window."""
    pixels = drawn(root)
    plain = _without_veils(root, pixels)
    for what, place in _worded(root):
        if contrast(plain, place) is None:
            continue  # the lines of a veil are no words
        ratio = contrast(pixels, place)
        if ratio is not None and ratio < LEAST_CONTRAST:
            yield f"{what}: contrast {ratio:.2f}"


def _without_veils(root: QWidget, pixels: Pixels) -> Pixels:
    """Return the pixels of the window with every result as it is when the knobs are its own."""
    veils = [one for one in seen(root) if isinstance(one, Veil)]
    for veil in veils:
        veil.hide()
    found = drawn(root) if veils else pixels
    for veil in veils:
        veil.show()
    return found


def drawn(root: QWidget) -> Pixels:
    """Return the window's pixels, finer than on the screen: rows, columns, and three colours."""
    picture = QPixmap(root.size() * FINE)
    picture.setDevicePixelRatio(FINE)
    root.render(picture)
    image = picture.toImage().convertToFormat(QImage.Format.Format_RGB888)
    flat = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return flat[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def contrast(pixels: Pixels, place: QRect) -> float | None:
    """Return the contrast of words in a place: of its commonest colour and the farthest from it.

    None where the place is of one colour, so that nothing stands there. By WCAG 2.2.
    """
    top, left = max(0, place.top() * FINE), max(0, place.left() * FINE)
    part = pixels[top : (place.bottom() + 1) * FINE, left : (place.right() + 1) * FINE]
    packed = part.astype(np.uint32) @ np.array([65536, 256, 1], np.uint32)
    colours, counts = np.unique(packed, return_counts=True)
    if len(colours) < 2:
        return None
    light, behind = luminance(colours), luminance(colours[[counts.argmax()]])[0]
    ratios = (np.maximum(light, behind) + 0.05) / (np.minimum(light, behind) + 0.05)
    return float(ratios.max())


def luminance(colours: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Return the relative luminance of colours 0xRRGGBB, by WCAG 2.2."""
    parts = np.stack([(colours >> shift) & 255 for shift in (16, 8, 0)], axis=-1) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.2126, 0.7152, 0.0722]))


def _worded(root: QWidget) -> Iterator[tuple[str, QRect]]:
    """Yield every place with words: what it is, and where it is seen in the window."""
    for widget in seen(root):
        if not widget.isEnabled():
            continue
        for what, place in _places(widget):
            there = QRect(widget.mapTo(root, place.topLeft()), place.size()) & _shown(widget, root)
            if there.width() > 3 and there.height() > 3:
                yield f"{describe(widget)} {what}", there


def _shown(widget: QWidget, root: QWidget) -> QRect:
    """Return the part of the window where a widget is seen, whatever of it is scrolled away."""
    shown = root.rect()
    up: QWidget | None = widget
    while up is not None and up is not root:
        shown &= QRect(up.mapTo(root, QPoint(0, 0)), up.size())
        up = up.parentWidget()
    return shown


def _places(widget: QWidget) -> Iterator[tuple[str, QRect]]:
    inner = widget.rect().adjusted(2, 2, -2, -2)  # without the frame
    if isinstance(widget, QLabel | QAbstractButton):
        if any(letter.isalnum() for letter in widget.text()):  # else it is a sign: 3 would do
            yield "", inner
    elif isinstance(widget, QLineEdit):
        if widget.text() or widget.placeholderText():
            yield "", widget.rect().adjusted(6, 4, -6, -4)  # without its round corners either
    elif isinstance(widget, QComboBox | QPlainTextEdit | QTextEdit):
        yield "", inner
    elif isinstance(widget, QTabBar):
        for tab in range(widget.count()):
            yield widget.tabText(tab), widget.tabRect(tab).adjusted(4, 4, -4, -4)
    elif isinstance(widget, QHeaderView):
        yield from _sections(widget)
    elif isinstance(widget, QGraphicsView):
        for item in widget.items():
            axis = isinstance(item, AxisItem) and item.style["showValues"]
            if (axis or isinstance(item, QGraphicsTextItem)) and item.isVisible():
                shape = item.mapToScene(item.boundingRect()).boundingRect()
                yield type(item).__name__, widget.mapFromScene(shape).boundingRect()
    elif isinstance(view := widget.parentWidget(), QAbstractItemView) and view.viewport() is widget:
        yield from _cells(view)


def _sections(header: QHeaderView) -> Iterator[tuple[str, QRect]]:
    across = header.orientation() == Qt.Orientation.Horizontal
    for section in range(header.count()):
        at, size = header.sectionViewportPosition(section), header.sectionSize(section)
        words = header.model().headerData(section, header.orientation())
        if words and not header.isSectionHidden(section):
            place = QRect(at, 0, size, header.height()) if across else QRect(
                0, at, header.width(), size
            )  # fmt: skip
            yield f"the head of {words}", place.adjusted(2, 2, -2, -2)


def _cells(view: QAbstractItemView) -> Iterator[tuple[str, QRect]]:
    model, root = view.model(), view.rootIndex()
    for row in range(model.rowCount(root)):
        for column in range(1 if isinstance(view, QListView) else model.columnCount(root)):
            index = model.index(row, column, root)
            place = view.visualRect(index)
            enabled = index.flags() & Qt.ItemFlag.ItemIsEnabled
            if enabled and index.data() and view.viewport().rect().intersects(place):
                yield f"row {row}, column {column}", place


# ---- keys


def stops(first: QWidget) -> Iterator[QWidget]:
    """Yield what Tab leads to, once around."""
    first.setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(MOST_STOPS):
        stop = QApplication.focusWidget()
        assert stop is not None
        yield stop
        if isinstance(stop, QPlainTextEdit | QTextEdit):
            if not (stop.isReadOnly() or stop.tabChangesFocus()):  # Tab is typed, as in a source
                QTest.keyClick(stop, Qt.Key.Key_Escape)
        QTest.keyClick(stop, Qt.Key.Key_Tab)
        if QApplication.focusWidget() is first:
            return
    raise AssertionError("Tab does not come around")


def unreached(root: QWidget, reached: Collection[QWidget]) -> Iterator[str]:
    """Say which controls that can be used Tab does not lead to."""
    held = {id(widget) for widget in reached}
    for widget in seen(root):
        inner = isinstance(widget.parentWidget(), WHOLES)
        if not isinstance(widget, CONTROLS) or not widget.isEnabled() or inner:
            continue
        if isinstance(widget, QHeaderView | QScrollBar) or id(widget) in held:
            continue
        if widget.focusProxy() is not None and id(widget.focusProxy()) in held:
            continue  # its keys are another's, which has them
        if not any(id(other) in held for other in _one_of(widget)):
            yield f"{describe(widget)}: Tab does not lead there"


def _one_of(widget: QWidget) -> list[QAbstractButton]:
    """Return the buttons of which one at a time is chosen: arrows lead from that to the others."""
    if not isinstance(widget, QAbstractButton):
        return []
    groups = [group for group in (widget.group(),) if group is not None]
    if groups:
        return groups[0].buttons() if groups[0].exclusive() else []
    parent = widget.parentWidget()
    if parent is None or not widget.autoExclusive():
        return []
    return [one for one in parent.findChildren(QAbstractButton) if one.autoExclusive()]


def nameless(widget: QWidget) -> bool:
    """Return whether a screen reader has no name for a widget."""
    return not QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)


def shows_focus(widget: QWidget) -> bool:
    """Return whether a widget looks different with the keys and without them."""
    focused = widget.grab().toImage()
    widget.clearFocus()
    QApplication.processEvents()
    plain = widget.grab().toImage()
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    QApplication.processEvents()
    return bool(focused != plain)
