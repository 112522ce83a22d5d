"""Nothing moves under the pointer, the columns keep their widths, and the charts their room."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import shiboken6
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QScrollBar,
    QSizePolicy,
    QTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from gpuexplorer import gui
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.notice import Notice
from gpuexplorer.gui.widgets.late import LateView
from gpuexplorer.gui.widgets.scroll_room import MOST_TURNS, ScrollArea, keep_room
from gpuexplorer.gui.widgets.words import Words
from tests.gui import looks
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured

SMALL = (1000, 650)
MOVING = re.compile(r"Q\w*Animation\w*|QTimeLine|QMovie|setRange\(0, 0\)|UI_Animate\w+|UI_Fade\w+")
"""What would move by itself: animations, and a bar that runs to and fro."""
WORDS = "One launch would take about 12 s on this device. You can stop it at any time."


def places(window: MainWindow) -> dict[str, QRect]:
    """Return where the charts and what stands beside them lie in the window."""
    QApplication.processEvents()
    insight, panels = window.insight, window.panels
    widgets: dict[str, QWidget] = {
        "tabs": panels.places.row, "timing": window.timing.plot, "traffic": window.traffic,
        "strip": window.strip, "history": panels.history, "headline": insight.headline,
        "figures": insight.figures, "method": insight.method, "phases": insight.phases,
        "copy": insight.command_button,
    }  # fmt: skip
    return {n: QRect(w.mapTo(window, QPoint(0, 0)), w.size()) for n, w in widgets.items()}


def resize(qtbot: QtBot, window: MainWindow, size: tuple[int, int]) -> None:
    window.resize(*size)
    QApplication.processEvents()
    assert window.size().toTuple() == size, window.minimumSizeHint()
    QApplication.processEvents()


def test_what_comes_and_goes_moves_no_chart_and_no_figure(qtbot: QtBot, window: MainWindow) -> None:
    until(qtbot, lambda: window.session.experiment.devices is not None)
    resize(qtbot, window, (1280, 800))  # both columns are shown, however small the screen is
    window.session.experiment.set_size("N", 64)
    run = wait_measured(qtbot, window)
    window.session.set_live(False)
    before = places(window)
    window.pin()
    assert places(window) == before, "a pin was added"
    assert find(window, "chip").isVisible()
    window.show_notice(Notice("warning", WORDS, (("Run it anyway", None),), "a\nb\nc"))
    assert window.banner.isVisible()
    assert places(window) == before, "a notice appeared"
    window.banner.findChildren(QPushButton)[0].click()
    assert places(window) == before, "its details unfolded"
    window.insight.notes.show_sentences(["the times are noisy: the median is known to 28 %"])
    window.insight.suspect.show_sentences(["the figure beats what this device was measured to do"])
    window.insight.advice.cards[0].show()
    assert window.insight.notes.isVisible()
    assert places(window) == before, "notes and advice appeared"
    run.origin = "bench.gpux"
    window.panels.follow_run(run, window.session.config)
    assert window.panels.caption.words.text().startswith("From file bench.gpux")
    assert places(window) == before, "the words on a file's run appeared"
    run.origin = ""
    window.session.experiment.set_size("N", 128)
    until(qtbot, lambda: window.panels.caption.moved)
    assert places(window) == before, "the words on knobs that moved on appeared"
    find(window, "bannerClose", QToolButton).click()
    window.unpin(window.session.live_model.pins[0].number)
    assert places(window) == before, "all were taken away again"


def test_the_status_line_is_whole_where_it_fits_and_never_widens_the_window(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    least = window.minimumSizeHint().width()
    assert window.session.engine_state != "ready"
    resize(qtbot, window, (1280, 800))
    labels = [find(window, name, Words) for name in ("engineLabel", "deviceLabel")]

    def whole(label: Words) -> bool:
        return label.contentsRect().width() >= label.fontMetrics().horizontalAdvance(label.text())

    until(qtbot, lambda: labels[1].text().endswith("(opencl:0)") and all(map(whole, labels)))
    assert labels[0].text() == "engine ready"
    window.session.options = replace(window.session.options, python="long" * 60)
    window.session.set_state("ready")
    QApplication.processEvents()
    assert "longlong" in find(window, "engineLabel", Words).text()
    assert window.minimumSizeHint().width() == least


def scrolls(widget: QWidget) -> bool:
    """Return whether it can be moved from under a card."""
    around = widget.parentWidget()
    while around is not None and not isinstance(around, QScrollArea):
        around = around.parentWidget()
    return around is not None and around.verticalScrollBar().maximum() > 0


def controls(room: QWidget) -> Iterator[tuple[str, QRect]]:
    """Yield what is seen to be used in a view, and its place in the window."""
    for widget in room.findChildren(QWidget):
        seen = widget.visibleRegion().boundingRect()
        used = isinstance(widget, looks.CONTROLS) and not isinstance(widget, QScrollBar)
        large = isinstance(widget, QAbstractItemView | QPlainTextEdit | QTextEdit)
        if used and not large and not scrolls(widget) and not seen.isEmpty():
            place = QRect(widget.mapTo(room.window(), seen.topLeft()), seen.size())
            yield looks.describe(widget), place


def test_a_notice_lies_over_the_view_and_never_over_the_tabs_and_controls(
    qtbot: QtBot, window: MainWindow
) -> None:
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.set_live(False)
    panels = window.panels
    window.show_notice(Notice("info", WORDS, (("Choose another block", None),), "more"))
    for size in ((1280, 800), SMALL, (1600, 900)):
        resize(qtbot, window, size)
        for view in panels.places.views:
            panels.places.show_view(view)
            looks.settle()
            card = window.banner
            inside = panels.places.room.geometry()
            assert inside.contains(card.geometry()), (size, panels.places.title_of(view))
            at = QRect(card.mapTo(window, QPoint(0, 0)), card.size())
            covered = [one for one, place in controls(panels.places.room) if place.intersects(at)]
            assert not covered, (size, panels.places.title_of(view), covered)
            for button in card.findChildren(QPushButton):
                if button.isVisible():
                    place = button.mapTo(window, button.rect().center())
                    assert card.rect().contains(button.mapTo(card, button.rect().bottomRight()))
                    assert window.childAt(place) is button
    QTest.mouseClick(find(window, "bannerClose", QToolButton), Qt.MouseButton.LeftButton)
    assert not window.banner.isVisible() and window.banner.text == ""


def test_the_columns_keep_their_widths_whichever_view_is_shown(
    qtbot: QtBot, window: MainWindow
) -> None:
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.set_live(False)
    resize(qtbot, window, SMALL)
    places, widths = window.panels.places, window.panels.across.sizes()
    for view in places.views:
        places.show_view(view)
        QApplication.processEvents()
        name = places.title_of(view)
        if isinstance(view, LateView):
            assert view.view is not None, "it is made once it is shown"
        assert view.minimumSizeHint().width() <= 480, name
        assert window.size().toTuple() == SMALL, name
        assert window.panels.across.sizes() == widths, name


def test_everything_has_a_place_in_a_small_window(qtbot: QtBot, window: MainWindow) -> None:
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.set_live(False)
    resize(qtbot, window, SMALL)
    places = window.panels.places
    for view in places.views:
        places.show_view(view)
        QApplication.processEvents()
        for bar in (places.place_bar, places.view_bar):
            for tab in range(bar.count()):
                assert bar.rect().contains(bar.tabRect(tab)), f"{bar.tabText(tab)} is cut"
    places.show_view(window.panels.live)
    QApplication.processEvents()
    for box in (window.device_box, find(window, "exportButton"), window.strip, window.status):
        assert box.isVisible()
        assert window.rect().contains(QRect(box.mapTo(window, QPoint(0, 0)), box.size()))
    charts = window.timing.height(), window.traffic.height()
    assert max(charts) == window.timing.height() >= 220


def test_the_history_gives_way_in_a_low_window(qtbot: QtBot, window: MainWindow) -> None:
    history = window.panels.history
    assert history.isVisible()
    height = history.height()
    resize(qtbot, window, (1280, 759))
    assert not history.isVisible()
    resize(qtbot, window, (1280, 800))
    assert history.isVisible() and history.height() == height


def test_what_the_user_chose_of_the_history_wins(
    qtbot: QtBot, window: MainWindow, open_window: OpenWindow
) -> None:
    history = window.panels.history
    shown = next(
        a for a in window.findChildren(type(window.commands.live)) if a.text() == "History"
    )
    resize(qtbot, window, SMALL)
    shown.trigger()
    assert history.isVisible()
    resize(qtbot, window, (1000, 660))
    assert history.isVisible(), "the user wanted it"
    again = open_window()
    again.resize(*SMALL)
    again.show()
    until(qtbot, again.isVisible)
    assert again.panels.history.isVisible(), "the next window remembers"
    shown.trigger()
    resize(qtbot, window, (1280, 800))
    assert history.isVisible(), "what the height gives was chosen: it decides again"
    shown.trigger()
    resize(qtbot, window, (1280, 900))
    assert not history.isVisible(), "the user wanted it away"


def test_searching_brings_a_folded_history_back(qtbot: QtBot, window: MainWindow) -> None:
    until(qtbot, window.isActiveWindow)
    resize(qtbot, window, SMALL)
    assert not window.panels.history.isVisible()
    QTest.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert window.panels.history.isVisible()
    assert window.panels.history.bar.search.hasFocus()


def test_a_bar_follows_what_there_is_to_scroll_whatever_python_has_let_go(qtbot: QtBot) -> None:
    area = QScrollArea()
    qtbot.addWidget(area)
    keep_room(area)
    area.resize(200, 100)
    label = QLabel("\n".join(["long"] * 50))
    area.setWidget(label)
    area.show()
    until(qtbot, area.verticalScrollBar().isEnabled)
    label.setText("short")
    label.adjustSize()
    until(qtbot, lambda: not area.verticalScrollBar().isEnabled())
    shiboken6.invalidate(area.verticalScrollBar())  # as when what held it was collected
    label.setText("\n".join(["long"] * 50))
    label.adjustSize()
    until(qtbot, lambda: area.verticalScrollBar().maximum() > 0)


class Sentences(QWidget):
    """Takes more lines above a width, as words do that leave out a sentence where it is narrow."""

    def __init__(self) -> None:
        super().__init__()
        self.high, self.above_px = 20, 1 << 20
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(10, self.high)

    def resizeEvent(self, event: QResizeEvent) -> None:
        wanted = 60 if self.width() > self.above_px else 20
        if wanted != self.high:
            self.high = wanted
            self.updateGeometry()


def test_a_bar_that_makes_itself_needless_stays_and_ends_no_stack(qtbot: QtBot) -> None:
    area, content, sentences, rest = ScrollArea(), QWidget(), Sentences(), QWidget()
    qtbot.addWidget(area)
    column = QVBoxLayout(content)
    column.setContentsMargins(0, 0, 0, 0)
    column.addWidget(sentences)
    column.addWidget(rest)
    rest.setMinimumHeight(500)
    area.setWidget(content)
    area.resize(300, 400)
    area.show()
    bar = area.verticalScrollBar()
    until(qtbot, bar.isVisible)
    most = area.maximumViewportSize()
    sentences.above_px = (area.viewport().width() + most.width()) // 2
    rest.setMinimumHeight(most.height() - column.spacing() - 30)  # which fits where it is narrow
    for _ in range(MOST_TURNS):
        QApplication.sendEvent(area, QEvent(QEvent.Type.StyleChange))
        QApplication.processEvents()
    assert bar.isVisible()
    assert content.width() == area.viewport().width() < most.width()
    sentences.above_px = 1 << 20
    area.resize(310, 900)
    until(qtbot, lambda: not bar.isVisible())


def test_nothing_moves_by_itself_but_what_follows_measuring() -> None:
    """So that reduced motion needs no setting, which the help says."""
    folder = Path(gui.__file__).parent
    found = {
        f"{path.relative_to(folder)}: {hit}"
        for path in folder.rglob("*.py")
        for hit in MOVING.findall(path.read_text(encoding="utf-8"))
    }
    assert not found
    assert MOVING.search("bar.setRange(0, 0)") and MOVING.search("QPropertyAnimation(self)")
