"""The history at the bottom of the window: what is kept, found, marked, deleted and used again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
import shiboken6
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from gpuexplorer.core.language import ENGLISH, tr, use
from gpuexplorer.core.statistics import summarize
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.history import History
from gpuexplorer.gui.model.history_columns import (
    COLUMNS,
    AgainstBaseline,
    against_baseline,
    baseline_key,
    local_time,
    place_of,
)
from gpuexplorer.gui.notice import Notice
from gpuexplorer.gui.panels.history import HistoryPanel
from gpuexplorer.gui.panels.history_model import HistoryModel
from gpuexplorer.gui.store_worker import StoreWorker
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.snap_slider import SnapSlider
from gpuexplorer.history.searching import IN_MONTHS
from gpuexplorer.history.store import Store
from gpuexplorer.search.stored import compare_runs
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.gui.history_bench import Bench, made_bench, numbers
from tests.support.history import made_batch, made_record, numbered_run


@pytest.fixture
def bench(tmp_path: Path, qapp: QApplication, qtbot: QtBot) -> Iterator[Bench]:
    """Six runs of two workloads in a store, and the panel that shows them."""
    with made_bench(tmp_path, qapp, qtbot) as made:
        yield made


def test_the_newest_run_is_on_top(bench: Bench) -> None:
    assert bench.ids() == numbers(5, 4, 3, 2, 1, 0)
    assert bench.panel.bar.summary.text() == "6 runs"
    assert bench.panel._empty.isHidden()
    assert bench.shown("workload")[:2] == ["matmul", "transpose"]


def test_a_time_says_no_more_than_needed(bench: Bench) -> None:
    row = bench.model.row(0)
    assert row is not None
    now = datetime.now().astimezone()

    def at(moment: datetime) -> str:
        there = msgspec.structs.replace(row, time_utc=moment.astimezone(UTC).isoformat())
        return local_time(there, short=True)

    assert at(now) == now.strftime("%H:%M:%S")
    assert at(now.replace(year=2019, month=5, day=7)) == "2019-05-07"
    other = now - timedelta(days=1) if now.day > 1 else now + timedelta(days=1)
    months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    assert at(other) == f"{other.day} {months[other.month - 1]} {other:%H:%M}"
    use("zh_CN")
    try:
        assert tr(at(other)) == f"{other.month}月{other.day}日 {other:%H:%M}"
        told = [tr(shown(30, "07:05")) for shown in IN_MONTHS]
    finally:
        use(ENGLISH)
    assert told == [f"{month}月30日 07:05" for month in range(1, 13)]


def test_a_run_beside_its_baseline_has_an_interval_or_cannot_be_told(bench: Bench) -> None:
    row = bench.model.row(0)
    assert row is not None

    def beside(median_s: float, error: float | None, other: float | None = 0.01) -> AgainstBaseline:
        run = msgspec.structs.replace(row, id="a", median_s=median_s, relative_error=error)
        base = msgspec.structs.replace(row, id="b", median_s=1e-3, relative_error=other)
        found = against_baseline(run, {baseline_key(run): base})
        assert found is not None
        return found

    assert beside(2e-3, 0.01).words == "2.00× slower (1.97–2.03)"
    assert (
        "is 2.00× slower (1.97–2.03) than its baseline, the starred" in beside(2e-3, 0.01).sentence
    )
    unclear = beside(1.018e-3, 0.05)
    assert unclear.words == "can't tell (0.967–1.071)"
    assert "cannot be told from its baseline (0.967–1.071), the starred run" in unclear.sentence
    assert beside(1.001e-3, 0.001, 0.001).words == "as fast (1.000–1.002)"
    for one in (beside(2e-3, None), beside(2e-3, 0.01, None), beside(2e-3, 1.2)):
        assert one.words == "2.00× slower" and one.found is None
        assert "is 2.00× slower than its baseline, the starred" in one.sentence


def test_the_interval_beside_a_baseline_is_that_of_the_stored_runs_compared(
    tmp_path: Path,
) -> None:
    runs = [numbered_run(0, samples=200), numbered_run(1, samples=200)]
    with Store.open(tmp_path / "two.sqlite") as store:
        store.add_all(runs)
        rows = store.find(descending=False)
    found = against_baseline(rows[1], {baseline_key(rows[1]): rows[0]})
    (_, other) = compare_runs(runs).contestants
    assert found is not None and found.found is not None
    for mine, theirs in ((found.found.ci95_low, other.ci95_low), (found.ratio, other.ratio)):
        assert mine == pytest.approx(theirs, rel=1e-3)


def test_typing_searches_and_escape_shows_all_again(qtbot: QtBot, bench: Bench) -> None:
    bar = bench.panel.bar
    bench.panel.activateWindow()
    QTest.keyClick(bench.panel.table, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    until(qtbot, bar.search.hasFocus)
    QTest.keyClicks(bar.search, "matmul n=128")
    until(qtbot, lambda: bench.ids() == numbers(1))
    assert bar.summary.text() == "1 run found"
    QTest.keyClick(bar.search, Qt.Key.Key_Escape)
    until(qtbot, lambda: len(bench.ids()) == 6)
    QTest.keyClicks(bar.search, "no such thing")
    until(qtbot, lambda: bench.model.rowCount() == 0 and bench.panel._empty.isVisible())
    assert "No run matches" in bench.panel._empty.text()


def test_quick_filters_show_some_runs_only(qtbot: QtBot, bench: Bench) -> None:
    boxes = bench.panel.bar.boxes
    until(qtbot, lambda: boxes["workload"].findData("transpose") > 0)
    boxes["workload"].setCurrentIndex(boxes["workload"].findData("transpose"))
    until(qtbot, lambda: bench.ids() == numbers(4, 2, 0))
    bench.panel.bar.clear()
    until(qtbot, lambda: len(bench.ids()) == 6)
    assert boxes["tag"].isHidden()
    with Store.open(bench.path) as store:
        store.tag(numbers(3), "thesis")
        store.star(numbers(2))
    until(qtbot, lambda: boxes["tag"].findData("thesis") > 0)
    boxes["tag"].setCurrentIndex(boxes["tag"].findData("thesis"))
    until(qtbot, lambda: bench.ids() == numbers(3))
    bench.panel.bar.clear()
    bench.panel.bar.starred.click()
    until(qtbot, lambda: bench.ids() == numbers(2))


def test_a_title_sorts_and_sorts_the_other_way_round(qtbot: QtBot, bench: Bench) -> None:
    header = bench.panel.table.horizontalHeader()
    median = place_of("median")
    header.sectionClicked.emit(median)
    until(qtbot, lambda: bench.ids() == numbers(0, 1, 2, 3, 4, 5))
    assert header.sortIndicatorSection() == median
    header.sectionClicked.emit(median)
    until(qtbot, lambda: bench.ids() == numbers(5, 4, 3, 2, 1, 0))
    header.sectionClicked.emit(place_of("tags"))  # nothing to sort by
    assert header.sortIndicatorSection() == median
    header.sectionClicked.emit(place_of("size"))
    until(qtbot, lambda: bench.ids() == numbers(0, 1, 2, 3, 4, 5))


def test_columns_are_chosen_and_kept(bench: Bench) -> None:
    table = bench.panel.table
    header = table.horizontalHeader()
    menu = table.column_layout.menu()
    actions = {action.text(): action for action in menu.actions()}
    assert len(COLUMNS) <= len(actions)
    assert not actions["id"].isChecked()
    actions["id"].trigger()
    actions["variant"].trigger()
    assert not header.isSectionHidden(place_of("id"))
    assert header.isSectionHidden(place_of("variant"))
    kept = bench.panel.columns()
    actions["As at first"].trigger()
    assert header.isSectionHidden(place_of("id"))
    bench.panel.restore_columns(kept)
    assert not header.isSectionHidden(place_of("id"))
    menu.close()


@pytest.mark.parametrize("chosen", [(), ("id",)])
def test_the_least_needed_columns_give_way_where_there_is_no_room(
    bench: Bench, chosen: tuple[str, ...]
) -> None:
    panel, table = bench.panel, bench.panel.table
    header = table.horizontalHeader()

    def shown(width: int) -> set[str]:
        panel.resize(width, 300)
        QApplication.processEvents()
        return {c.key for n, c in enumerate(COLUMNS) if not header.isSectionHidden(n)}

    usual = {column.key for column in COLUMNS if column.shown} | set(chosen)
    for key in chosen:
        table.column_layout.choose(place_of(key), True)
    assert shown(1900) == usual
    for width in (1280, 1000, 640):
        there = shown(width)
        assert table.horizontalScrollBar().maximum() == 0, width
        assert there < usual and {"star", "time", "workload", "median", *chosen} <= there
    menu = table.column_layout.menu()
    note = next(action for action in menu.actions() if action.text() == "note")
    assert note.isChecked() and "no room for it at this width" in note.toolTip()
    menu.close()
    kept = panel.columns()
    panel.restore_columns(kept)
    assert shown(640) == there
    assert shown(1900) == usual
    assert header.sectionSize(place_of("bandwidth")) == for_text(84)


def test_words_that_are_cut_stand_whole_in_the_tip(qtbot: QtBot, bench: Bench) -> None:
    table = bench.panel.table
    index = bench.model.index(0, place_of("workload"))
    assert table.cut_words(index) == ""
    table.setColumnWidth(place_of("workload"), 30)
    assert table.cut_words(index) == "matmul"
    at = table.visualRect(index).center()
    event = QHelpEvent(QEvent.Type.ToolTip, at, table.viewport().mapToGlobal(at))
    QApplication.sendEvent(table.viewport(), event)
    until(qtbot, lambda: QToolTip.text().startswith("matmul\n"))
    QToolTip.hideText()


def test_a_layout_of_an_older_program_leaves_out_columns_it_did_not_know(bench: Bench) -> None:
    header = bench.panel.table.horizontalHeader()
    header.setSectionHidden(place_of("switches"), False)
    bench.panel.restore_columns(header.saveState())  # which says nothing of how many it knew
    assert header.isSectionHidden(place_of("switches"))
    header.setSectionHidden(place_of("switches"), False)
    bench.panel.restore_columns(bench.panel.columns())
    assert not header.isSectionHidden(place_of("switches"))


def test_what_is_chosen_stays_chosen_when_runs_come_and_go(qtbot: QtBot, bench: Bench) -> None:
    bench.choose(*numbers(3, 2))
    with Store.open(bench.path) as store:
        store.add(numbered_run(20))
    until(qtbot, lambda: len(bench.ids()) == 7)
    assert bench.panel.table.chosen_places() == [3, 4]
    with Store.open(bench.path) as store:
        store.delete(numbers(5, 0))
    until(qtbot, lambda: len(bench.ids()) == 5)
    chosen = [bench.ids()[place] for place in bench.panel.table.chosen_places()]
    assert chosen == numbers(3, 2)


def test_a_long_list_is_read_where_it_is_looked_at(qtbot: QtBot, bench: Bench) -> None:
    with Store.open(bench.path) as store:
        store.add_all(numbered_run(i) for i in range(100, 1400))
    until(qtbot, lambda: bench.model.rowCount() == 1306)
    bench.panel.table.scrollToBottom()
    last = bench.model.rowCount() - 1
    until(qtbot, lambda: bench.model.row(last) is not None)
    assert bench.model.row(600) is None
    at = bench.panel.table.verticalScrollBar().value()
    with Store.open(bench.path) as store:
        store.add(numbered_run(2000))
    until(qtbot, lambda: bench.model.rowCount() == 1307)
    assert bench.panel.table.verticalScrollBar().value() >= at  # the same runs stay in sight
    found: list[str] = []
    bench.model.with_rows([650], lambda rows: found.extend(row.id for row in rows))
    until(qtbot, lambda: bool(found))
    with Store.open(bench.path) as store:
        assert found == [row.id for row in store.find(offset=650, limit=1)]


def test_a_run_that_goes_on_is_shown_with_its_latest_figures(qtbot: QtBot, bench: Bench) -> None:
    record = made_record()
    for second in range(3):
        batch = made_batch([(second + 1) * 1e-3] * 5, second * 10**9)
        record.add(batch)
        bench.model.sampled(record, [batch])
        bench.model.update(1, record, summarize(record.samples_s()), running=True)
        assert bench.model.rowCount() == 7
        assert bench.ids()[0] == record.id
    assert bench.shown("median")[0] == "2.00 ms"
    assert bench.shown("result")[0] == "● running"
    until(qtbot, lambda: bench.model.stored(bench.model.row(0)))  # type: ignore[arg-type]
    assert bench.shown("median")[0] == "2.00 ms"
    bench.choose(record.id)
    bench.panel.acts.ask("delete")  # not while it is going
    record.end("user")
    bench.model.update(1, record, summarize(record.samples_s()), running=False)
    bench.model.finish(1, record)
    with Store.open(bench.path) as store:
        until(qtbot, lambda: not store.find(limit=1)[0].running)
        assert store.get(record.id).samples_s == record.samples_s().tolist()
    until(qtbot, lambda: bench.shown("result")[0] == "✓ verified")
    assert bench.ids()[0] == record.id and len(bench.ids()) == 7


def test_a_panel_that_goes_while_it_is_seen_takes_its_model_along(
    tmp_path: Path, qapp: QApplication, qtbot: QtBot
) -> None:
    make_theme(qapp, "light")
    history, runs = History(), StoreWorker(lambda: Store.open_to_read(tmp_path / "none.sqlite"))
    model = HistoryModel(history, runs)
    panel = HistoryPanel(history, model, runs)
    panel.show()
    panel.close_down()
    assert panel.table.isVisible()
    with qtbot.captureExceptions() as errors:
        shiboken6.delete(panel)
    assert not errors and not shiboken6.isValid(model)


def test_trouble_is_said_once_and_its_end_too(
    qtbot: QtBot, tmp_path: Path, qapp: QApplication
) -> None:
    make_theme(qapp, "light")
    path = tmp_path / "history.sqlite"
    path.write_bytes(b"this is no database " * 500)
    history = History()
    runs = StoreWorker(lambda: Store.open_to_read(path))
    model = HistoryModel(history, runs)
    panel = HistoryPanel(history, model, runs)
    notices: list[Notice] = []
    panel.notice.connect(notices.append)
    panel.show()
    record = made_record([1e-3] * 10)
    model.update(1, record, summarize(record.samples_s()), running=False)
    model.finish(1, record)
    runs.start()
    until(qtbot, lambda: bool(notices) and "1 run waits" in panel.bar.summary.text())
    assert "damaged" in notices[0].text and "Measuring continues" in notices[0].text
    assert model.rowCount() == 1  # it is seen all the same
    tip = str(model.index(0, 1).data(Qt.ItemDataRole.ToolTipRole))
    assert "kept in memory" in tip
    path.unlink()
    until(qtbot, lambda: len(notices) == 2)
    assert "takes runs again" in notices[1].text
    until(qtbot, lambda: model.answered and model.rowCount() == 1)
    assert panel.bar.summary.text() == "1 run"
    panel.close_down()
    assert runs.close()
    with Store.open(path) as store:
        assert [row.id for row in store.find()] == [record.id]


# ---- in the window, with a real engine


def test_every_run_of_the_window_is_in_the_store_and_in_the_next_window(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    first = open_window()
    find(first, "sizeSlider", SnapSlider).setValue(64)
    wait_measured(qtbot, first)
    find(first, "blockXSlider", SnapSlider).setValue(8)
    run = wait_measured(qtbot, first)
    assert run.record is not None
    run_id = run.record.id
    until(qtbot, lambda: first.session.history_model.find(run_id) is not None)
    first.close()
    with Store.open(tmp_path / "data" / "history.sqlite") as store:
        row = store.find(limit=1)[0]
        assert (row.id, row.running, row.stopped_by) == (run_id, False, "user")
        assert store.get(run_id).samples_s == run.record.samples_s().tolist()
        assert all(not row.running for row in store.find())
    second = open_window()
    second.session.set_live(False)
    second.session.live_at_start = False
    model = second.session.history_model
    until(qtbot, lambda: model.find(run_id) is not None)
    second.session.experiment.set_block((32, 32, 1))
    second.history_table.choose([model.find(run_id) or 0])
    second.panels.history.acts.ask("restore")
    until(qtbot, lambda: second.session.experiment.knobs.block == (8, 16, 1))
    second.panels.history.acts.ask("ghost")
    until(qtbot, lambda: bool(second.session.live_model.pins))
    (pin,) = second.session.live_model.pins
    assert pin.record.id == run_id
    assert second.pins.isVisible()
    until(qtbot, lambda: second.session.experiment.devices is not None)


def test_trouble_with_the_history_stays_in_sight_while_knobs_move(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "history.sqlite").write_bytes(b"this is no database " * 500)
    window = open_window()
    until(qtbot, lambda: "damaged" in window.banner.text)
    find(window, "sizeSlider", SnapSlider).setValue(64)
    first = wait_measured(qtbot, window)
    find(window, "blockXSlider", SnapSlider).setValue(8)
    assert wait_measured(qtbot, window).ticket != first.ticket
    assert "damaged" in window.banner.text
    until(qtbot, lambda: window.session.history_model.rowCount() >= 2)
    window.session.notice.emit(Notice("info", "something else"))
    window.session.notice.emit(None)
    assert window.banner.text == ""


def test_two_windows_share_one_history(qtbot: QtBot, open_window: OpenWindow) -> None:
    first, second = open_window(), open_window()
    find(first, "sizeSlider", SnapSlider).setValue(64)
    run = wait_measured(qtbot, first)
    assert run.record is not None
    run_id = run.record.id
    first.session.set_live(False)
    model = second.session.history_model
    until(qtbot, lambda: (at := model.find(run_id)) is not None and not model.row(at).running)  # type: ignore[union-attr]
    place = model.find(run_id)
    assert place is not None
    second.history_table.choose([place])
    second.panels.history.acts.ask("star")
    there = first.session.history_model

    def starred() -> bool:
        at = there.find(run_id)
        row = there.row(at) if at is not None else None
        return row is not None and row.starred

    until(qtbot, starred)


def test_a_hidden_table_asks_for_nothing_more(qtbot: QtBot, window: MainWindow) -> None:
    model = window.session.history_model
    until(qtbot, lambda: model.answered)
    model.refresh()
    window.hide()
    assert not model._asking.isActive(), "its answer would come to a table that may be gone"
    window.show()
    assert model._asking.isActive(), "what it missed is asked for once it is seen again"
