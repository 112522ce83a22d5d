"""The line above the history: in a narrow window what is needed least gives way."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.panels.history_bar import HistoryBar
from gpuexplorer.gui.theme import make_theme
from tests.gui import looks

FILTERS = ("workload", "device", "tag")


@pytest.fixture
def room(qapp: QApplication, qtbot: QtBot) -> QWidget:
    """A window that lets a bar be as narrow as it likes."""
    make_theme(qapp, "light")
    made = QWidget()
    qtbot.addWidget(made)
    made.resize(1280, 200)
    return made


@pytest.fixture
def bar(room: QWidget) -> HistoryBar:
    made = HistoryBar()
    made.setParent(room)
    room.show()
    made.offer({name: ["mine"] for name in FILTERS})
    made.offer_undo("3 runs deleted")
    return made


def shown(bar: HistoryBar, width: int) -> set[str]:
    """Return which filters are seen at a width, at which nothing may lie over anything else."""
    bar.resize(width, bar.sizeHint().height())
    looks.settle()
    assert not list(looks.overlaps(bar)) and not list(looks.cut(bar)), width
    assert bar.width() == width and bar.compare.isVisible() and bar.undo.isVisible()
    return {name for name, box in bar.boxes.items() if box.isVisible()}


@pytest.mark.parametrize("used", FILTERS)
def test_nothing_lies_over_anything_else_and_a_filter_in_use_goes_last(
    bar: HistoryBar, used: str
) -> None:
    assert shown(bar, 1280) == set(FILTERS)
    seen = [shown(bar, width) for width in range(1280, 600, -40)]
    assert all(later <= earlier for earlier, later in pairwise(seen))
    assert seen[-1] == set() and len({len(one) for one in seen}) == 4, "one after another"
    box = bar.boxes[used]
    box.setCurrentIndex(1)
    assert shown(bar, 640) == {used}
    bar.clear()
    assert shown(bar, 640) == set()
    assert shown(bar, 1280) == set(FILTERS) and bar.stored.isVisible()
