"""A window that is killed while it measures loses the last seconds, not what it has measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from gpuexplorer.history.store import Group, Store
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until
from tests.support.cli import run_cli
from tests.support.killed import Growing, groups_at, to_be_killed, wait_for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")

DISPLAY = {"QT_QPA_PLATFORM": "offscreen"}
WINDOW = """
import sys
from PySide6.QtCore import QEventLoop, QTimer
from gpuexplorer.gui import app

application, window = app.create([])
session, panels = window.session, window.panels
experiment = session.experiment

def until(condition):
    loop, timer = QEventLoop(), QTimer()
    timer.timeout.connect(lambda: loop.quit() if condition() else None)
    timer.start(5)
    loop.exec()

until(lambda: experiment.devices is not None)
"""
COMPARISON = f"""{WINDOW}
experiment.set_size("N", 64)
panels.places.show_view(panels.compare)
until(lambda: panels.compare.comparing is not None)
view = panels.compare.comparing
view.add_present()
experiment.set_block((16, 15, 1))
view.add_present()
view.start()
view.model.comparing.fixed_rounds = 1_000_000  # whatever the verdict, it is killed before its end
application.exec()
"""
BLOCK_MAP = f"""{WINDOW}
from gpuexplorer.gui.widgets.late import LateView
experiment.set_size("N", 512)
tab = window.findChild(LateView, "blockMap")
panels.places.show_view(tab)
until(lambda: tab.view.model.current is not None and tab.view.head.start.isEnabled())
tab.view.start()
application.exec()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the windows of a test keep their runs."""
    return tmp_path / "data" / "history.sqlite"


def is_listed(qtbot: QtBot, open_window: OpenWindow, group: Group, ids: set[str]) -> None:
    """Look for a group's runs in the history of a window that is opened afterwards."""
    model = open_window().session.history_model
    until(qtbot, lambda: model.find(group.id) is not None)
    model.toggle(group.id)
    until(qtbot, lambda: all(model.find(run_id) is not None for run_id in ids))


def page_of(group: Group, name: str, tmp_path: Path) -> str:
    """Return the page that the history makes of a group."""
    done = run_cli("report", group.id[:8], name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return (tmp_path / name).read_text()


def test_a_comparison_is_kept_round_by_round(
    qtbot: QtBot, open_window: OpenWindow, path: Path, tmp_path: Path
) -> None:
    told, growing = tmp_path / "window.txt", Growing(path)
    with to_be_killed([sys.executable, "-c", COMPARISON], told, **DISPLAY) as child:
        wait_for(growing, child, told)
    group, ids = growing.check()
    page = page_of(group, "comparison.html", tmp_path)
    assert "Verdicts" in page and "<svg" in page
    is_listed(qtbot, open_window, group, ids)


def test_a_block_map_is_kept_cell_by_cell(
    qtbot: QtBot, open_window: OpenWindow, path: Path, tmp_path: Path
) -> None:
    told = tmp_path / "window.txt"

    def some() -> bool:
        return any(len(samples) >= 3 for _, samples in groups_at(path))

    with to_be_killed([sys.executable, "-c", BLOCK_MAP], told, **DISPLAY) as child:
        wait_for(some, child, told)
    [(group, samples)] = groups_at(path)
    assert (group.kind, group.finished) == ("block map", False)
    assert group.document["x"] and group.document["best"] is None
    with Store.open(path) as store:
        blocks = {store.get(run_id).config.block for run_id in samples}
    assert len(blocks) == len(samples), "each cell has one run"
    assert "<svg" in page_of(group, "map.html", tmp_path)
    is_listed(qtbot, open_window, group, set(samples))
