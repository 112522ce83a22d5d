"""A sweep and a tuning of the window on a cluster's workers, through the forms that they have."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from gpuexplorer.cluster.agenda import Lane, Now
from gpuexplorer.cluster.connection import connect
from gpuexplorer.cluster.standing import SHOWN, live_words, standing_words
from gpuexplorer.gui.cluster_job import look_at
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.views.cluster_choice import ClusterChoice
from gpuexplorer.gui.views.tune import TuneView
from gpuexplorer.history.store import Query, Store
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.support.clusters import cluster_up
from tests.support.results import made_config

PATIENCE_MS = 120_000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster with one worker; its engine and Dask's threads, which stay, are there by now."""
    folder = tmp_path_factory.mktemp("cluster")
    with cluster_up(folder, "--local", "1", GPUEXPLORER_NICE="5") as up:  # as windows ask here
        up.wait_for("1 worker")
        look_at(str(folder))
        with connect(up.place) as client:
            called = threading.Event()
            future = client.submit(int, 1, resources={"GPU": 1})
            future.add_done_callback(lambda _: called.set())
            assert called.wait(PATIENCE_MS / 1000)
        yield folder


def choose(qtbot: QtBot, choice: ClusterChoice, where: Path) -> None:
    """Type where the cluster is and press the button, as a user does."""
    choice.where.clear()
    QTest.keyClicks(choice.where, str(where))
    assert choice.look_button.isVisible() and not choice.device.isVisible()
    QTest.mouseClick(choice.look_button, Qt.MouseButton.LeftButton)
    until(qtbot, choice.look_button.isEnabled, PATIENCE_MS)


def test_a_sweep_is_measured_by_the_workers_and_each_says_how_much(
    qtbot: QtBot, open_window: OpenWindow, cluster: Path
) -> None:
    window = open_window()
    window.session.experiment.set_size("N", 32)
    wait_measured(qtbot, window, 5)
    window.panels.places.show_view(window.panels.sweep)
    until(qtbot, lambda: window.panels.sweep.sweeping is not None)
    view = window.panels.sweep.sweeping
    assert view is not None
    until(qtbot, lambda: view.preview is not None)
    words = find(window, "sweepClusterWords", QLabel)

    QTest.keyClicks(view.form.cluster.where, str(cluster))
    until(qtbot, lambda: "press Find its workers" in find(window, "sweepTotal", QLabel).text())
    assert not view.head.start.isEnabled()
    choose(qtbot, view.form.cluster, cluster / "none.toml")
    assert "none.toml" in words.text() and not view.form.cluster.device.isVisible()

    choose(qtbot, view.form.cluster, cluster)
    assert words.text() == "1 worker has this hardware."
    assert str(view.form.cluster.device.currentData()) == "opencl:0"
    for name, row in view.form.rows.items():
        row.tick.setChecked(name == "block.x")
    row = view.form.rows["block.x"]
    row.text.clear()
    QTest.keyClicks(row.text, "1,2,4,8")
    until(qtbot, lambda: view.preview is not None and view.preview.wanted.space.count == 4)
    until(qtbot, view.head.start.isEnabled)
    view.copy_command()
    assert f"--cluster {cluster}" in QApplication.clipboard().text()
    view.start()
    until(qtbot, lambda: view.model.state == "done", PATIENCE_MS)
    until(qtbot, lambda: words.text().endswith(": 4 measured"))
    until(qtbot, lambda: window.session.jobs.current is None)
    with Store.open() as store:
        (group,) = store.groups("sweep")
        assert group.finished and store.count(Query(group=group.id)) == 4


def test_a_tuning_is_raced_by_the_workers_and_can_be_cancelled(
    qtbot: QtBot, open_window: OpenWindow, cluster: Path
) -> None:
    window = open_window()
    window.session.experiment.set_size("N", 32)
    wait_measured(qtbot, window, 5)
    view = tuning_of(qtbot, window)
    choose(qtbot, view.form.cluster, cluster)
    unit = view.form.unit_box
    unit.setCurrentIndex(unit.findData("evaluations"))
    view.form.amount_box.setValue(6)
    until(qtbot, lambda: view.preview is not None and view.head.start.isEnabled())
    view.copy_command()
    assert f"--cluster {cluster}" in QApplication.clipboard().text()
    view.start()
    until(qtbot, lambda: view.model.state == "done", PATIENCE_MS)
    tried = view.model.snapshot()
    assert tried is not None and tried.tuning is not None
    assert len(tried.tuning.cards) == 1 and tried.tuning.chosen is not None

    unit.setCurrentIndex(unit.findData("seconds"))
    view.form.amount_box.setValue(600)
    until(qtbot, lambda: view.preview is not None and view.head.start.isEnabled())
    view.start()
    until(qtbot, lambda: tries(view) > 3, PATIENCE_MS)
    QTest.mouseClick(view.cancel_button, Qt.MouseButton.LeftButton)
    until(qtbot, lambda: window.session.jobs.current is None, PATIENCE_MS)
    wait_measured(qtbot, window, 5)


def tries(view: TuneView) -> int:
    tried = view.model.snapshot()
    return len(tried.evaluations) if tried is not None else 0


def tuning_of(qtbot: QtBot, window: MainWindow) -> TuneView:
    window.panels.places.show_view(window.panels.tune)
    until(qtbot, lambda: window.panels.tune.tuning is not None)
    view = window.panels.tune.tuning
    assert view is not None
    until(qtbot, lambda: view.isVisible() and view.preview is not None)
    return view


def test_the_slow_workers_come_first_and_of_many_some_are_told() -> None:
    lanes = [Lane(f"a{n}", f"box{n // 2}", {}, measured=n) for n in range(SHOWN + 3)]
    lanes[5].slow = True
    lanes[1].now = Now(made_config(block=(16, 8, 1)), 1, 1.5e-3)
    assert live_words(lanes) == "box0 (2): 16×8, 1 sample, 1.50 ms"
    lines = standing_words(lanes)
    assert lines[0] == "box2 (1): slow, measures nothing until it is not"
    assert lines[1] == "box0 (1): 0 measured" and lines[2] == (
        "box0 (2): 1 measured; now 16×8, 1 sample, 1.50 ms"
    )
    assert len(lines) == SHOWN + 1 and lines[-1] == "and 3 more workers"
