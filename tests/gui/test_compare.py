"""The Compare tab: runs from the history, knobs and pins, measured in turns by a real engine."""

from __future__ import annotations

import csv
import shlex
import time
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QApplication, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.charts.comparison import comparison_chart
from gpuexplorer.charts.words import when_words
from gpuexplorer.core.compared import ComparisonEnd, ComparisonResult, comparison_json
from gpuexplorer.core.errors import InputError
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.compare import CompareModel, end_words
from gpuexplorer.gui.model.compare_file import MOST
from gpuexplorer.gui.panels.history_model import RUNS_MIME
from gpuexplorer.gui.show.chart import ChartView
from gpuexplorer.gui.show.table import SheetTable
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.views.compare import CompareView
from gpuexplorer.history.store import Query, Store
from gpuexplorer.results.comparison import sheet_of
from tests.gui.conftest import OpenWindow
from tests.gui.driver import export_to, find, until, wait_measured
from tests.support.exchange import made_comparison
from tests.support.results import made_config, made_result


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("GPUEXPLORER_DATA_DIR", str(folder))
    return folder


def open_compare(qtbot: QtBot, open_window: OpenWindow) -> tuple[MainWindow, CompareView]:
    """Return the window with a small problem measured, and the view with nothing in it."""
    window = open_window()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.experiment.set_size("N", 64)
    wait_measured(qtbot, window)
    tab = window.panels.compare
    assert tab.comparing is None
    window.panels.places.show_view(tab)
    until(qtbot, lambda: tab.view is not None and tab.view.isVisible())
    view = find(window, "compareView", CompareView)
    return window, view


def click(window: MainWindow, name: str) -> None:
    find(window, name, QPushButton).click()


def cell(view: CompareView, row: int, column: str) -> str:
    """Return the words of a cell by its column's name."""
    shown = view.result.table.shown
    return shown.rows[row].cells[column].text


def click_circle(qtbot: QtBot, view: CompareView, row: int) -> None:
    """Click the circle of a row, which makes it the reference."""
    table = view.result.table
    at = table.visualRect(table.model().index(row, 0)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=at)  # type: ignore[no-untyped-call]


def press(qtbot: QtBot, widget: QWidget, key: Qt.Key) -> None:
    qtbot.keyClick(widget, key)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("stopped_by", "words"),
    [
        ("user", "Stopped after 8 rounds; 1 of 1 cannot be told yet."),
        ("time", "The time was up after 8 rounds; 1 of 1 cannot be told yet."),
        ("rounds", "After 8 rounds 1 of 1 cannot be told."),
        ("verdict", "After 8 rounds 1 of 1 cannot be told."),  # of another reference
    ],
)
def test_what_ended_a_comparison_is_said(stopped_by: ComparisonEnd, words: str) -> None:
    result = made_comparison()
    first, second = result.contestants
    open_one = msgspec.structs.replace(second, verdict="can't tell")
    left = msgspec.structs.replace(result, stopped_by=stopped_by, contestants=[first, open_one])
    assert end_words(left) == words
    assert end_words(result).startswith("Every verdict is clear after 8 rounds")


def test_knobs_and_pins_are_measured_in_turns_and_kept(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, view = open_compare(qtbot, open_window)
    assert not view.head.start.isEnabled()
    assert not find(window, "addPinsButton", QPushButton).isEnabled()
    window.pin()
    window.session.experiment.set_block((1, 64, 1))
    wait_measured(qtbot, window)
    click(window, "addPinsButton")
    assert view.head.words.text() == "One more is needed."
    click(window, "addKnobsButton")
    click(window, "addKnobsButton")
    assert view.head.words.text() == "That configuration is here already."
    with pytest.raises(InputError, match="nothing was compared yet"):
        view.exported()
    assert view.model.labels == ["naive · block 16×16", "naive · block 1×64"]
    click(window, "compareStart")
    assert (window.session.jobs.current is not None, window.session.live) == (True, False)
    assert view.head.words.text().startswith("The first round")
    table = find(window, "compareTable", SheetTable)
    assert not view.bar.add_knobs.isEnabled()
    until(qtbot, lambda: not view.running)
    assert view.head.words.text().startswith("Every verdict is clear after")
    assert window.session.live  # goes on as it was before
    result = view.model.result
    assert result is not None and result.interleaved
    assert result.others[0].verdict == "slower"
    assert cell(view, 1, "verdict") == "slower" and table.isVisible()
    plot = find(window, "compareChart", ChartView)
    first, second = plot.panels[0].words()
    assert first == "reference" and "× slower (" in second, "the ratio has its interval"
    assert plot.spec == comparison_chart(result), "the window shows what a file would"
    assert view.result.sheet == sheet_of(result)
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
    other_reference_and_tolerance(qtbot, view, result)
    files_and_command(qtbot, window, view, tmp_path, monkeypatch)
    more_rounds(qtbot, window, view)


def other_reference_and_tolerance(
    qtbot: QtBot, view: CompareView, before: ComparisonResult
) -> None:
    """Neither needs another measurement."""
    click_circle(qtbot, view, 1)
    after = view.model.result
    assert after is not None and not view.running
    assert (after.reference, after.contestants[0].verdict) == (1, "faster")
    assert (after.contestants[0].ratio or 0) == pytest.approx(1 / (before.others[0].ratio or 1))
    view.bar.same.setCurrentIndex(3)
    view.bar.same.activated.emit(3)
    assert view.model.result is not None and view.model.result.tolerance == 0.05
    click_circle(qtbot, view, 0)


def files_and_command(
    qtbot: QtBot,
    window: MainWindow,
    view: CompareView,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for suffix in ("json", "svg", "csv"):
        path = tmp_path / f"compared.{suffix}"
        window.export(suffix)  # which is this view's while it is shown
        export_to(window, path)
        until(qtbot, lambda: not window.exporter.busy)
    written = msgspec.json.decode((tmp_path / "compared.json").read_bytes(), type=ComparisonResult)
    assert view.model.result is not None
    assert comparison_json(written) == comparison_json(view.model.result)
    assert "block 1×64" in (tmp_path / "compared.svg").read_text()
    with (tmp_path / "compared.csv").open() as stream:
        table = list(csv.DictReader(stream))
    assert [row["configuration"] for row in table] == view.model.labels
    other = written.contestants[1]
    figures = (other.run.timing.median_s, other.ratio, other.ci95_low, other.ci95_high)
    names = ("median_s", "ratio", "ci95_low", "ci95_high")
    assert tuple(float(table[1][name]) for name in names) == figures
    view.head.copy.click()
    words = shlex.split(QApplication.clipboard().text())
    assert words[:2] == ["gpuexplorer", "compare"]
    assert words[2].startswith("naive:16x16,N=64")
    assert words[3].startswith("naive:1x64,N=64")
    assert words[-2:] == ["--same-within", "5%"]


def more_rounds(qtbot: QtBot, window: MainWindow, view: CompareView) -> None:
    before = view.model.result
    assert before is not None
    starred, unmarked = (one.run.id for one in before.contestants)
    with Store.open() as store:
        store.star([starred], True)
    assert view.head.pause.text() == "Continue"
    click(window, "comparePause")
    until(qtbot, lambda: not view.running)
    more = view.model.result
    assert more is not None and more.rounds > before.rounds
    ids = {c.run.id for c in more.contestants}
    assert ids.isdisjoint({starred, unmarked})

    def listed() -> set[str]:
        with Store.open_to_read() as store:
            return {row.id for row in store.find(Query())} & {*ids, starred, unmarked}

    until(qtbot, lambda: listed() == {*ids, starred})


def test_stopping_keeps_the_rounds_that_were_done(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = open_compare(qtbot, open_window)
    click(window, "addKnobsButton")
    window.session.experiment.set_block((16, 15, 1))
    click(window, "addKnobsButton")
    click(window, "compareStart")
    comparing = view.model.comparing
    assert comparing is not None
    until(qtbot, lambda: comparing.rounds >= 2)
    click(window, "compareStop")
    until(qtbot, lambda: not view.running)
    result = view.model.result
    assert result is not None and result.rounds >= 2
    assert window.session.live
    if result.stopped_by != "verdict":
        assert view.head.words.text().startswith(f"Stopped after {result.rounds} rounds")


def test_a_comparison_waits_in_a_pause_that_is_no_part_of_its_time(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view = open_compare(qtbot, open_window)
    click(window, "addKnobsButton")
    window.session.experiment.set_block((16, 15, 1))
    click(window, "addKnobsButton")
    began = time.monotonic()
    click(window, "compareStart")
    job, comparing = window.session.jobs.current, view.model.comparing
    assert job is not None and comparing is not None
    comparing.fixed_rounds = 1_000_000  # it goes on until it is stopped
    until(qtbot, lambda: comparing.rounds >= 2)
    click(window, "comparePause")
    wait_measured(qtbot, window)
    rounds = comparing.rounds
    assert view.head.words.text().startswith(f"Paused after {rounds} round")
    assert not view.bar.clear.isEnabled() and view.head.pause.text() == "Continue"
    click(window, "comparePause")
    until(qtbot, lambda: comparing.rounds > rounds and view.model.spent_s > 0)
    spent_s = view.model.spent_s
    assert spent_s <= time.monotonic() - began - job.waited_s
    click(window, "compareStop")
    until(qtbot, lambda: not view.running)
    assert view.model.result is not None and view.model.result.rounds >= rounds


def test_no_comparison_starts_between_the_end_of_an_engine_and_the_devices_of_the_next(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view = open_compare(qtbot, open_window)
    click(window, "addKnobsButton")
    window.session.experiment.set_block((16, 15, 1))
    click(window, "addKnobsButton")
    assert view.head.start.isEnabled()
    window.session.restart(window.session.options)
    assert view.wanted() is None and not view.head.start.isEnabled()
    until(qtbot, view.head.start.isEnabled)


def test_it_is_measured_anew_beside_what_was_kept(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = open_compare(qtbot, open_window)
    click(window, "addKnobsButton")
    window.session.experiment.set_block((1, 64, 1))
    click(window, "addKnobsButton")
    found = []
    for words in ("Start", "Measure again"):
        assert view.head.start.text() == words
        click(window, "compareStart")
        until(qtbot, lambda: not view.running)
        found.append(view.model.result)
    first, second = found
    assert first is not None and second is not None and first.time_utc < second.time_utc

    def both() -> bool:
        with Store.open_to_read() as store:
            return len(store.groups("comparison")) == 2

    until(qtbot, both)


def test_the_window_closes_while_it_measures(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = open_compare(qtbot, open_window)
    click(window, "addKnobsButton")
    window.session.experiment.set_block((16, 15, 1))
    click(window, "addKnobsButton")
    click(window, "compareStart")
    assert view.running
    window.close()
    until(qtbot, lambda: not view.running)  # and nothing is left running, as after every test


def test_the_rounds_are_kept_when_the_window_closes(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = open_compare(qtbot, open_window)
    click(window, "addKnobsButton")
    window.session.experiment.set_block((16, 15, 1))
    click(window, "addKnobsButton")
    click(window, "compareStart")
    comparing = view.model.comparing
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
    window, view = open_compare(qtbot, open_window)
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
    tab = window.panels.compare
    tab.dropEvent(
        QDropEvent(
            QPointF(50, 50), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )  # fmt: skip
    until(qtbot, lambda: len(view.model.contestants) == 2)
    assert [one.stored.id for one in view.model.contestants if one.stored] == [s.id for s in stored]
    view.bar.budget.setCurrentIndex(0)
    click(window, "compareStart")
    comparing = view.model.comparing
    assert comparing is not None
    until(qtbot, lambda: comparing.rounds >= 1)
    view.stop()
    until(qtbot, lambda: not view.running)
    result = view.model.result
    assert result is not None
    assert result.contestants[0].stored_id == stored[0].id
    said = " ".join(result.contestants[0].warnings)
    assert "Since it was stored: the device differs" in said
    assert "Since it was stored: the device differs" in cell(view, 0, "warnings")
    view.clear()
    window.panels.places.show_view(window.panels.live)
    window.panels.history.acts.compare_asked.emit([one.id for one in stored])
    assert window.panels.places.current is tab
    until(qtbot, lambda: len(view.model.contestants) == 2)
    view.add_results([made_result(threads=(threads or 0) + 1, device=device.id)])
    click(window, "compareStart")
    assert not view.running
    assert f"used {(threads or 0) + 1} CPU threads" in view.head.words.text()


def test_two_days_of_one_configuration_are_compared_as_stored_and_reported(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = (
        msgspec.structs.replace(
            made_result(median_s=median_s), id=f"{day:032d}", time_utc=f"2026-11-{day}T12:00:00Z"
        )
        for day, median_s in ((21, 7.6e-3), (22, 9.5e-3))
    )
    with Store.open() as store:
        store.add_all([before, after])
    window = open_window()
    table, model = window.panels.history.table, window.session.history_model
    until(qtbot, lambda: model.rowCount() == 2 and model.row(1) is not None)
    table.setFocus()
    table.selectAll()
    find(window, "historyStored", QToolButton).click()
    view = find(window, "compareView", CompareView)
    until(qtbot, lambda: view.model.result is not None and view.isVisible())
    result = view.model.result
    assert result is not None and not result.interleaved
    samples = [list(one.run.samples_s) for one in result.contestants]
    assert samples == [before.samples_s, after.samples_s]
    assert cell(view, 0, "verdict") == "reference" and cell(view, 1, "verdict") == "slower"
    assert when_words(after.time_utc) in cell(view, 1, "configuration")
    assert "weaker evidence" in view.head.words.text()
    assert view.head.start.text() == "Measure again in turns"
    chart = find(window, "compareChart", ChartView)
    assert chart.spec == comparison_chart(result) and len(chart.panels) == 3
    view.refer_to(1)
    assert cell(view, 0, "verdict") == "faster" and cell(view, 1, "verdict") == "reference"
    page = tmp_path / "days.html"
    window.export("html")
    export_to(window, page)
    until(qtbot, page.exists)
    said = page.read_text()
    assert when_words(before.time_utc) in said and when_words(after.time_utc) in said


def test_rows_can_be_removed_and_restored_by_keys(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = open_compare(qtbot, open_window)
    for block in ((16, 16, 1), (8, 8, 1), (4, 4, 1)):
        window.session.experiment.set_block(block)
        click(window, "addKnobsButton")
    table = view.result.table
    table.setFocus()
    table.show_key("1")
    press(qtbot, table, Qt.Key.Key_R)
    assert view.model.reference == 1
    press(qtbot, table, Qt.Key.Key_Return)
    until(qtbot, lambda: window.session.experiment.knobs.block == (8, 8, 1))
    table.show_key("0")
    press(qtbot, table, Qt.Key.Key_Delete)
    assert (len(view.model.contestants), view.model.reference) == (2, 0)
    theme().choose("dark")
    until(qtbot, lambda: theme().scheme == "dark")
    theme().choose("light")
    click(window, "clearCompareButton")
    assert view.result.currentWidget() is view.result.empty


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
    assert len(model.lines()) == len(model.sheet().rows) == MOST - 2
    assert all(line.ratio is None for line in model.lines())


def test_its_buttons_take_a_second_line_in_a_narrow_window(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view = open_compare(qtbot, open_window)
    same, first = view.bar.same, view.bar.add_knobs

    def is_below() -> bool:
        return same.y() > first.geometry().bottom()

    view.add_present()
    view.clear()
    assert view.bar.back.isVisible()
    window.resize(1000, 650)
    until(qtbot, is_below)
    for widget in view.bar.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
        right = widget.mapTo(window.panels.places, widget.rect().topRight()).x()
        assert right < window.panels.places.width(), widget.objectName()
    window.resize(1600, 900)
    until(qtbot, lambda: not is_below())
