"""A window that is killed while it measures loses the last seconds, not what it has measured."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from gpuexplorer.history.errors import StoreReadOnly
from gpuexplorer.history.store import Group, Query, Store
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until
from tests.support.cli import cli_environment, run_cli

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")

PATIENCE_S = 120.0
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
panels.tabs.setCurrentWidget(panels.compare)
until(lambda: panels.compare.built)
bench = panels.compare.bench
bench.add_present()
experiment.set_block((16, 15, 1))
bench.add_present()
bench.begin()
bench.model.comparing.fixed_rounds = 1_000_000  # whatever the verdict, it is killed before its end
application.exec()
"""
BLOCK_MAP = f"""{WINDOW}
from gpuexplorer.gui.widgets.late import LateView
experiment.set_size("N", 512)
tab = window.findChild(LateView, "blockMap")
panels.tabs.setCurrentWidget(tab)
until(lambda: tab.view.model.current is not None and tab.view.start.isEnabled())
tab.view.start.click()
application.exec()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the windows of a test keep their runs."""
    return tmp_path / "data" / "history.sqlite"


def groups_at(path: Path) -> list[tuple[Group, dict[str, int]]]:
    """Return the groups of a store with the number of samples of each of their runs."""
    if not path.exists():
        return []
    with suppress(StoreReadOnly), Store.open(path, read_only=True) as store:
        return [
            (group, {row.id: row.samples for row in store.find(Query(group=group.id))})
            for group in store.groups()
        ]
    return []  # the window has begun to make it


@contextmanager
def window_that(program: str, told: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a window of its own; it is killed with SIGKILL at the end."""
    display = {"QT_QPA_PLATFORM": "offscreen"}
    with told.open("wb") as stream:
        child = subprocess.Popen(
            [sys.executable, "-c", program], env=cli_environment(**display), stderr=stream
        )
    try:
        yield child
    finally:
        child.send_signal(signal.SIGKILL)
        assert child.wait(30) == -signal.SIGKILL, told.read_text()


def wait_for(condition: Callable[[], bool], child: subprocess.Popen[bytes], told: Path) -> None:
    """Wait until a window has written what is asked for."""
    limit = time.monotonic() + PATIENCE_S
    while not condition():
        assert child.poll() is None, told.read_text()
        assert time.monotonic() < limit, f"nothing of it was kept in {PATIENCE_S:.0f} s"
        time.sleep(0.05)


def is_listed(qtbot: QtBot, open_window: OpenWindow, ids: set[str]) -> None:
    """Look for runs in the history of a window that is opened afterwards."""
    model = open_window().session.history_model
    until(qtbot, lambda: all(model.find(run_id) is not None for run_id in ids))


def page_of(group: Group, name: str, tmp_path: Path) -> str:
    """Return the page that the history makes of a group."""
    done = run_cli("report", group.id[:8], name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return (tmp_path / name).read_text()


def test_a_comparison_is_kept_round_by_round(
    qtbot: QtBot, open_window: OpenWindow, path: Path, tmp_path: Path
) -> None:
    told = tmp_path / "window.txt"
    grown: list[dict[str, int]] = []

    def went_on() -> bool:
        """Whether both were stored, and once more with more samples."""
        for group, samples in groups_at(path):
            if group.kind == "comparison" and len(samples) == 2:
                if not grown or all(samples[run] > grown[-1].get(run, 0) for run in samples):
                    grown.append(samples)
        return len(grown) >= 2

    with window_that(COMPARISON, told) as child:
        wait_for(went_on, child, told)
    [(group, samples)] = groups_at(path)
    assert not group.finished
    assert samples.keys() == grown[0].keys(), "a run that goes on is the same run"
    assert {one["run"] for one in group.document["contestants"]} == samples.keys()
    with Store.open(path) as store:
        for run_id, number in samples.items():
            run = store.get(run_id)
            assert len(run.samples_s) == run.timing.samples == number
    page = page_of(group, "comparison.html", tmp_path)
    assert "Verdicts" in page and "<svg" in page
    is_listed(qtbot, open_window, set(samples))


def test_a_block_map_is_kept_cell_by_cell(
    qtbot: QtBot, open_window: OpenWindow, path: Path, tmp_path: Path
) -> None:
    told = tmp_path / "window.txt"

    def some() -> bool:
        return any(len(samples) >= 3 for _, samples in groups_at(path))

    with window_that(BLOCK_MAP, told) as child:
        wait_for(some, child, told)
    [(group, samples)] = groups_at(path)
    assert (group.kind, group.finished) == ("block map", False)
    assert group.document["x"] and group.document["best"] is None
    with Store.open(path) as store:
        blocks = {store.get(run_id).config.block for run_id in samples}
    assert len(blocks) == len(samples), "each cell has one run"
    assert "<svg" in page_of(group, "map.html", tmp_path)
    is_listed(qtbot, open_window, set(samples))
