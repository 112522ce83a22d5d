"""Walks through a window: every size for what is cut, every key for what is not reached.

Text that is drawn twice as large leaves a window half as many of its own pixels: View, Text size
enlarges everything, so that a window of 1280 × 800 at 200 % is one of 640 × 400.

``make test`` looks at each view and dialog at the least size and one other, and in one theme, in
turns; ``make test-long`` at all sizes and in both themes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QApplication, QDialog, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.theme import Choice
from tests.gui import looks
from tests.gui.driver import until, wait_measured

SESSION = Path(__file__).parents[1] / "written_by_0_1/session.gpux"
SIZES = ((1000, 650), (1280, 800), (1920, 1080))
TEXT = (1.0, 1.5, 2.0)
LEAST = QSize(640, 400)
"""What the window fits at least: 1280 × 800 at 200 %. 1000 × 650 at 200 % would be less."""
THEMES: tuple[Choice, ...] = ("light", "dark")
each_or_every = pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.long)], ids=["in turns", "every"]
)


def every_size() -> Iterator[tuple[str, QSize]]:
    """Yield every size in the window's own pixels, and its words; the least comes last."""
    for width, height in SIZES:
        for text in TEXT:
            size = QSize(round(width / text), round(height / text))
            if size.width() >= LEAST.width() and size.height() >= LEAST.height():
                yield f"{width} × {height} at {text:.0%}", size


def sizes_in_turn(number: int) -> list[tuple[str, QSize]]:
    """Return the least size and another one, by the number of what has them."""
    *others, least = sorted(every_size(), key=lambda one: -one[1].width())
    return [others[number % len(others)], least]


def walk_sizes(
    root: QWidget, what: str, sizes: Iterable[tuple[str, QSize]], *, exact: bool
) -> Iterator[str]:
    """Say what is cut or overlaps at each size; an ``exact`` window has it, a dialog has less."""
    usual = root.size()
    for words, size in sizes:
        for _ in range(2):  # panels that fold away let it be smaller
            root.resize(size if exact else usual.boundedTo(size))
            looks.settle()
        if root.width() > size.width() or root.height() > size.height():
            yield f"{what}, {words}: {root.width()} × {root.height()} is larger"
        for look in (looks.cut, looks.overlaps, looks.sideways, looks.crowded):
            for found in look(root):
                yield f"{what}, {words}: {found}"
    root.resize(usual)
    looks.settle()


def walk_keys(root: QWidget, first: QWidget, seen: dict[QWidget, None], what: str) -> Iterator[str]:
    """Say which controls Tab does not reach, and of those that are new what is not told of them."""
    around = list(looks.stops(first))
    for lack in looks.unreached(root, around):
        yield f"{what}: {lack}"
    for stop in around:
        if stop in seen:
            continue
        seen[stop] = None
        stop.setFocus(Qt.FocusReason.TabFocusReason)
        QApplication.processEvents()
        if looks.nameless(stop):
            yield f"{what}: {looks.describe(stop)} has no name"
        if not looks.shows_focus(stop):
            yield f"{what}: {looks.describe(stop)} looks as without the keys"


def in_turn(views: Sequence[QWidget], turn: int, *, every: bool) -> Sequence[QWidget]:
    """Return the views that are looked at in one of the themes."""
    return views if every else views[turn :: len(THEMES)]


def fill(qtbot: QtBot, window: MainWindow) -> MainWindow:
    """Put something into each view of a window: runs, ghosts, the results of a session."""
    until(qtbot, lambda: window.session.experiment.devices is not None)
    wait_measured(qtbot, window)
    window.session.set_live(False)
    window.sessions.open(SESSION)
    until(qtbot, lambda: window.sessions.path == SESSION)
    window.banner.dismiss()
    last = window.session.experiment.knobs.block
    assert last is not None
    window.session.set_live(True)
    for block in ((64, 4, 1), (4, 64, 1), last):  # ghosts, and words where each of them begins
        window.session.experiment.set_block(block)
        wait_measured(qtbot, window)
        window.pin()
    window.session.set_live(False)
    window.sessions.path = None  # which it would ask about when it is closed
    places = window.panels.places
    for view in places.views:  # each is made when it is first shown
        places.show_view(view)
        looks.settle()
    places.show_view(window.panels.kernel)
    until(qtbot, lambda: bool(window.panels.kernel.kernels))
    until(qtbot, window.isActiveWindow)
    return window


def dialogs(qtbot: QtBot, window: MainWindow) -> Iterator[QDialog]:
    """Open one dialog after another, and close it again."""
    window.panels.places.show_view(window.panels.live)
    for command in ("help", "export", "self_test", "doctor", "about", "session_notes", "engines"):
        before = {id(one) for one in window.findChildren(QDialog) if one.isVisible()}
        getattr(window.commands, command).trigger()
        opened = [
            one for one in window.findChildren(QDialog)
            if one.isVisible() and id(one) not in before
        ]  # fmt: skip
        assert len(opened) == 1, command
        (dialog,) = opened
        dialog.activateWindow()
        until(qtbot, dialog.isActiveWindow)
        until(qtbot, lambda: window.session.jobs.current is None)
        looks.settle()
        yield dialog
        dialog.close()
        assert not dialog.isVisible(), command
        window.activateWindow()
        until(qtbot, window.isActiveWindow)
