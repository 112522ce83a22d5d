"""The Compare tab: runs from the history, knobs and pins, measured in turns by a real engine."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.charts.comparison import comparison_chart
from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.compare import CompareModel
from gpuexplorer.gui.model.compare_file import MOST
from gpuexplorer.gui.panels.compare import RUNS_MIME
from gpuexplorer.gui.panels.compare_bench import CompareBench
from gpuexplorer.gui.panels.compare_table import CompareTable
from gpuexplorer.gui.plots.base import round_values
from gpuexplorer.gui.show.chart import ChartView
from gpuexplorer.gui.theme import theme
from gpuexplorer.history.store import Query, Store
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.support.results import made_config, made_result


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("GPUEXPLORER_DATA_DIR", str(folder))
    return folder


def open_compare(qtbot: QtBot, open_window: OpenWindow) -> tuple[MainWindow, CompareBench]:
    """Return the window with a small problem measured, and the view with nothing in it."""
    window = open_window()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.experiment.set_size("N", 64)
    wait_measured(qtbot, window)
    view = window.panels.compare
    assert not view.built
    window.panels.tabs.setCurrentWidget(view)
    until(qtbot, lambda: view.built)
    return window, view.bench


def click(window: MainWindow, name: str) -> None:
    find(window, name, QPushButton).click()


def press(qtbot: QtBot, widget: QWidget, key: Qt.Key) -> None:
    qtbot.keyClick(widget, key)  # type: ignore[no-untyped-call]


def test_knobs_and_pins_are_measured_in_turns_and_kept(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, bench = open_compare(qtbot, open_window)
    assert not bench.start.isEnabled()
    assert not find(window, "addPinsButton", QPushButton).isEnabled()
    window.pin()
    window.session.experiment.set_block((1, 64, 1))
    wait_measured(qtbot, window)
    click(window, "addPinsButton")
    assert bench.words.text() == "One more is needed."
    click(window, "addKnobsButton")
    click(window, "addKnobsButton")
    assert bench.words.text() == "That configuration is here already."
    assert not bench.export_button.isEnabled()
    assert bench.model.labels == ["naive · block 16×16", "naive · block 1×64"]
    click(window, "startCompareButton")
    assert (window.session.jobs.current is not None, window.session.live) == (True, False)
    until(qtbot, lambda: bench.words.text().startswith("Round"))
    table = find(window, "compareTable", CompareTable)
    assert not bench.add_knobs.isEnabled()
    until(qtbot, lambda: not bench.measuring)
    assert bench.words.text().startswith("All is clear after")
    assert window.session.live  # goes on as it was before
    result = bench.model.result
    assert result is not None and result.interleaved
    assert result.others[0].verdict == "slower"
    assert "slower" in table.item(1, 5).text()
    plot = find(window, "forestPlot", ChartView)
    assert [words.split()[-1] for words in plot.panels[0].words()] == ["reference", "slower"]
    assert plot.spec == comparison_chart(result), "the window shows what a file would"
    (_, left), (_, right) = (plot.place_of(key) or pytest.fail(key) for key in ("0", "1"))
    assert left.x() < right.x()
    ids = {one.run.id for one in result.contestants}

    def stored() -> bool:
        with Store.open_to_read() as store:
            return ids <= {row.id for row in store.find(Query())}

    until(qtbot, stored)
    with Store.open_to_read() as store:
        (group,) = store.groups("comparison")
        assert group.runs == 2
    other_reference_and_tolerance(bench, result)
    files_and_command(qtbot, window, bench, tmp_path, monkeypatch)
    more_rounds(qtbot, window, bench)


def other_reference_and_tolerance(bench: CompareBench, before: ComparisonResult) -> None:
    """Neither needs another measurement."""
    bench.table.cellClicked.emit(1, 0)
    after = bench.model.result
    assert after is not None and not bench.measuring
    assert (after.reference, after.contestants[0].verdict) == (1, "faster")
    assert (after.contestants[0].ratio or 0) == pytest.approx(1 / (before.others[0].ratio or 1))
    bench.same.setCurrentIndex(3)
    bench.same.activated.emit(3)
    assert bench.model.result is not None and bench.model.result.tolerance == 0.05
    bench.table.cellClicked.emit(0, 0)


def files_and_command(
    qtbot: QtBot,
    window: MainWindow,
    bench: CompareBench,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for suffix in ("json", "svg"):
        path = tmp_path / f"compared.{suffix}"
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, path=path: (str(path), ""))
        if suffix == "json":
            window.export(suffix)  # the window's own export is this view's while it is shown
        else:
            bench.export(suffix)
        until(qtbot, lambda: not bench.exporter.busy)
    written = msgspec.json.decode((tmp_path / "compared.json").read_bytes(), type=ComparisonResult)
    assert written == bench.model.result
    assert "block 1×64" in (tmp_path / "compared.svg").read_text()
    bench.copy.click()
    words = shlex.split(QApplication.clipboard().text())
    assert words[:2] == ["gpuexplorer", "compare"]
    assert words[2].startswith("naive:16x16,N=64")
    assert words[3].startswith("naive:1x64,N=64")
    assert words[-2:] == ["--same-within", "5%"]


def more_rounds(qtbot: QtBot, window: MainWindow, bench: CompareBench) -> None:
    before = bench.model.result
    assert before is not None
    assert bench.start.text() == "Continue"
    click(window, "startCompareButton")
    until(qtbot, lambda: not bench.measuring)
    more = bench.model.result
    assert more is not None and more.rounds > before.rounds
    assert {c.run.id for c in more.contestants}.isdisjoint(c.run.id for c in before.contestants)


def test_stopping_keeps_the_rounds_that_were_done(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, bench = open_compare(qtbot, open_window)
    click(window, "addKnobsButton")
    window.session.experiment.set_block((16, 15, 1))
    click(window, "addKnobsButton")
    click(window, "startCompareButton")
    comparing = bench.model.comparing
    assert comparing is not None
    until(qtbot, lambda: comparing.rounds >= 2)
    click(window, "cancelCompareButton")
    until(qtbot, lambda: not bench.measuring)
    result = bench.model.result
    assert result is not None and result.rounds >= 2
    assert window.session.live
    if result.stopped_by != "verdict":
        assert bench.words.text().startswith(f"Stopped after {result.rounds} rounds")


def test_the_window_closes_while_it_measures(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, bench = open_compare(qtbot, open_window)
    click(window, "addKnobsButton")
    window.session.experiment.set_block((16, 15, 1))
    click(window, "addKnobsButton")
    click(window, "startCompareButton")
    assert bench.measuring
    window.close()
    until(qtbot, lambda: not bench.measuring)  # and nothing is left running, as after every test


def test_the_rounds_are_kept_when_the_window_closes(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, bench = open_compare(qtbot, open_window)
    click(window, "addKnobsButton")
    window.session.experiment.set_block((16, 15, 1))
    click(window, "addKnobsButton")
    click(window, "startCompareButton")
    comparing = bench.model.comparing
    assert comparing is not None
    comparing.fixed_rounds = 1_000_000  # it goes on until the window closes
    until(qtbot, lambda: comparing.rounds >= 2)
    window.close()
    with Store.open() as store:
        (group,) = store.groups("comparison")
        assert group.finished and group.runs == 2
        assert group.document["rounds"] == comparing.rounds
        assert group.document["stopped_by"] == "user"


def test_runs_dropped_from_the_history_are_measured_again(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, bench = open_compare(qtbot, open_window)
    run = window.session.live_model.current
    assert run is not None and run.record is not None and run.prepared is not None
    threads = run.prepared.config.threads
    device = run.prepared.device
    stored = [
        msgspec.structs.replace(
            made_result(
                size={"N": 64}, grid=(4, 4, 1), threads=threads, device=device.id, block=block
            ),
            id=f"{block[0]:032x}",
        )
        for block in ((16, 16, 1), (8, 8, 1))
    ]
    with Store.open() as store:
        store.add_all(stored)
    data = QMimeData()
    data.setData(RUNS_MIME, "\n".join(one.id for one in stored).encode())
    view = window.panels.compare
    view.dropEvent(
        QDropEvent(
            QPointF(50, 50), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )  # fmt: skip
    until(qtbot, lambda: len(bench.model.candidates) == 2)
    assert [one.stored.id for one in bench.model.candidates if one.stored] == [s.id for s in stored]
    bench.budget.setCurrentIndex(0)
    click(window, "startCompareButton")
    comparing = bench.model.comparing
    assert comparing is not None
    until(qtbot, lambda: comparing.rounds >= 1)
    bench.stop()
    until(qtbot, lambda: not bench.measuring)
    result = bench.model.result
    assert result is not None
    assert result.contestants[0].stored_id == stored[0].id
    said = " ".join(result.contestants[0].warnings)
    assert "Since it was stored: the device differs" in said
    noted = bench.table.item(0, 6)
    assert noted is not None and "Since it was stored: the device differs" in noted.text()
    bench.clear()
    window.panels.tabs.setCurrentIndex(0)
    window.panels.history.acts.compare_asked.emit([one.id for one in stored])
    assert window.panels.tabs.currentWidget() is view
    until(qtbot, lambda: len(bench.model.candidates) == 2)
    bench.add_results([made_result(threads=(threads or 0) + 1, device=device.id)])
    click(window, "startCompareButton")
    assert not bench.measuring
    assert f"used {(threads or 0) + 1} CPU threads" in bench.words.text()


def test_rows_can_be_removed_and_restored_by_keys(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, bench = open_compare(qtbot, open_window)
    for block in ((16, 16, 1), (8, 8, 1), (4, 4, 1)):
        window.session.experiment.set_block(block)
        click(window, "addKnobsButton")
    bench.table.setFocus()
    bench.table.selectRow(1)
    bench.table.setCurrentCell(1, 1)
    press(qtbot, bench.table, Qt.Key.Key_R)
    assert bench.model.reference == 1
    press(qtbot, bench.table, Qt.Key.Key_Return)
    until(qtbot, lambda: window.session.experiment.knobs.block == (8, 8, 1))
    bench.table.setCurrentCell(0, 1)
    press(qtbot, bench.table, Qt.Key.Key_Delete)
    assert (len(bench.model.candidates), bench.model.reference) == (2, 0)
    theme().choose("dark")
    until(qtbot, lambda: theme().scheme == "dark")
    theme().choose("light")
    click(window, "clearCompareButton")
    assert bench.pages.currentIndex() == 0


def test_of_the_model_who_takes_part() -> None:
    model = CompareModel()
    for number in range(MOST):
        assert model.add(made_config(size={"N": 64 + number})) == ""
    assert "No more than" in model.add(made_config(size={"N": 1000}))
    model.refer_to(3)
    model.remove(1)
    assert model.reference == 2
    model.remove(2)
    assert model.reference == 0
    assert len(model.rows()) == MOST - 2
    assert all(shown.line.ratio is None for shown in model.rows())


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.9, 1.1, [0.9, 0.95, 1.0, 1.05, 1.1]),
        (0.97, 1.04, [0.98, 1.0, 1.02, 1.04]),
        (0.5, 3.0, [0.5, 1.0, 2.0]),
        (0.09, 30.0, [0.1, 1.0, 10.0]),
        (2.0, 2.0, [2.0]),
        (9.1e-13, 1.1e-12, [9.5e-13, 1e-12, 1.05e-12, 1.1e-12]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert round_values(low, high, 5) == pytest.approx(expected)
