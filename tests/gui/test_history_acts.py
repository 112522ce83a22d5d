"""What is done with runs of the history: stars, tags and notes, deleting, copying, comparing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from gpuexplorer.core.result import Origin
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.ghosts import Ghost
from gpuexplorer.gui.model.history_columns import (
    place_of,
    tip,
)
from gpuexplorer.gui.panels.history_model import dragged_runs
from gpuexplorer.gui.panels.history_notes import NotesDialog
from gpuexplorer.gui.widgets.snap_slider import SnapSlider
from gpuexplorer.history.model import Query
from gpuexplorer.history.store import Store
from tests.gui.driver import find, until, wait_measured
from tests.gui.history_bench import Bench, made_bench, numbers
from tests.support.history import numbered_run


@pytest.fixture
def bench(tmp_path: Path, qapp: QApplication, qtbot: QtBot) -> Iterator[Bench]:
    """Six runs of two workloads in a store, and the panel that shows them."""
    with made_bench(tmp_path, qapp, qtbot) as made:
        yield made


def test_a_star_makes_a_baseline_and_says_where_runs_differ(qtbot: QtBot, bench: Bench) -> None:
    with Store.open(bench.path) as store:
        slower = numbered_run(9, workload="matmul", size={"N": 128})
        changed = numbered_run(8, workload="matmul", size={"N": 128})
        store.add(slower)
        device = msgspec.structs.replace(changed.device, driver="another")
        store.add(msgspec.structs.replace(changed, device=device))
    until(qtbot, lambda: bench.model.rowCount() == 8)
    bench.choose(*numbers(1))
    bench.panel.table.setFocus()
    QTest.keyClick(bench.panel.table, Qt.Key.Key_S)
    until(qtbot, lambda: "★" in bench.shown("star"))
    by_id = dict(zip(bench.ids(), bench.shown("baseline"), strict=True))
    assert by_id[numbers(1)[0]] == "baseline"
    assert by_id[slower.id].startswith("5.00× slower (4.")
    assert by_id[changed.id].startswith("4.50× slower (4.")
    assert by_id[changed.id].endswith(") ⚠") and not by_id[slower.id].endswith("⚠")
    assert by_id[numbers(3)[0]] == ""
    place = bench.model.find(slower.id)
    assert place is not None
    index = bench.model.index(place, place_of("baseline"))
    assert f"{by_id[slower.id]} than its baseline" in index.data(Qt.ItemDataRole.ToolTipRole)
    until(qtbot, lambda: bench.model.baselines != {})
    bench.choose(*numbers(1))
    QTest.keyClick(bench.panel.table, Qt.Key.Key_S)
    until(qtbot, lambda: "★" not in bench.shown("star"))
    until(qtbot, lambda: set(bench.shown("baseline")) == {""})


def test_a_click_on_the_star_column_stars(qtbot: QtBot, bench: Bench) -> None:
    table = bench.panel.table
    place = table.visualRect(bench.model.index(2, place_of("star"))).center()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    until(qtbot, lambda: bench.shown("star")[2] == "★")


def test_deleted_runs_come_back(qtbot: QtBot, bench: Bench) -> None:
    table, bar = bench.panel.table, bench.panel.bar
    bench.choose(*numbers(4, 2))
    table.setFocus()
    QTest.keyClick(table, Qt.Key.Key_Delete)
    until(qtbot, lambda: bench.ids() == numbers(5, 3, 1, 0))
    until(qtbot, bar.undo.isVisible)
    assert bar.summary.text() == "2 runs deleted"
    bench.choose(*numbers(5))
    QTest.keyClick(table, Qt.Key.Key_Delete)
    until(qtbot, lambda: bench.ids() == numbers(3, 1, 0))
    QTest.keyClick(table, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    until(qtbot, lambda: bench.ids() == numbers(5, 3, 1, 0))
    until(qtbot, lambda: table.can_undo)
    bench.panel.acts.undo()
    until(qtbot, lambda: bench.ids() == numbers(5, 4, 3, 2, 1, 0))
    assert not table.can_undo


def test_of_rows_that_are_not_known_yet_the_chosen_ones_are_deleted_and_no_others(
    qtbot: QtBot, bench: Bench
) -> None:
    table, bar = bench.panel.table, bench.panel.bar
    with Store.open(bench.path) as store:
        store.add_all(numbered_run(i) for i in range(6, 400))
        store.star(numbers(7), True)
    until(qtbot, lambda: bench.model.rowCount() == 400)

    def left() -> list[str]:
        with Store.open(bench.path) as store:
            return [row.id for row in store.find(limit=1000)]

    table.setFocus()
    QTest.keyClick(table, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    assert bench.model.row(399) is None
    with qtbot.waitSignal(bench.panel.acts.message) as told:
        QTest.keyClick(table, Qt.Key.Key_Delete)
        with Store.open(bench.path) as store:
            store.add(numbered_run(400))
    assert told.args[0].endswith("choose them again.")
    assert left() == numbers(*range(400, -1, -1))

    QTest.keyClick(table, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(table, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert bench.model.row(200) is None
    with qtbot.waitSignal(bench.panel.acts.message) as told:
        QTest.keyClick(table, Qt.Key.Key_Delete)
        QTest.mouseClick(bar.starred, Qt.MouseButton.LeftButton)
    assert told.args[0].endswith("choose them again.")
    until(qtbot, lambda: bench.ids() == numbers(7))
    assert left() == numbers(*range(400, -1, -1))

    QTest.mouseClick(bar.starred, Qt.MouseButton.LeftButton)
    until(qtbot, lambda: bench.model.rowCount() == 401)
    QTest.keyClick(table, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    assert bench.model.row(400) is None
    QTest.keyClick(table, Qt.Key.Key_Delete)
    until(qtbot, bar.undo.isVisible)
    assert left() == numbers(*range(400, 0, -1))


def test_tags_and_notes_are_edited_and_found(qtbot: QtBot, bench: Bench) -> None:
    bench.choose(*numbers(3))
    bench.panel.table.setFocus()
    QTest.keyClick(bench.panel.table, Qt.Key.Key_F2)
    until(qtbot, lambda: bench.panel.findChild(NotesDialog) is not None)
    dialog = bench.panel.findChild(NotesDialog)
    assert dialog is not None
    dialog.tags.setText("thesis,  before the fix , thesis")
    dialog.note.setPlainText("the odd one")
    dialog.accept()
    until(qtbot, lambda: "before the fix, thesis" in bench.shown("tags"))
    assert "the odd one" in bench.shown("note")
    bench.model.show_view(type(bench.model.view)(Query(text="odd thesis")))
    until(qtbot, lambda: bench.ids() == numbers(3))


def test_notes_that_the_history_refuses_are_there_to_be_tried_again(
    qtbot: QtBot, bench: Bench
) -> None:
    def opened() -> NotesDialog | None:
        found = [d for d in bench.panel.findChildren(NotesDialog) if d.isVisible()]
        return found[0] if found else None

    bench.choose(*numbers(3))
    bench.panel.acts.ask("change")
    until(qtbot, lambda: opened() is not None)
    dialog = opened()
    assert dialog is not None
    dialog.tags.setText("thesis")
    dialog.note.setPlainText("the odd one")
    other = sqlite3.connect(bench.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with qtbot.waitSignal(bench.panel.acts.notice) as told:
        dialog.accept()
    assert told.args[0].kind == "bad"
    other.execute("ROLLBACK")
    other.close()
    until(qtbot, lambda: opened() is not None and opened() is not dialog)
    again = opened()
    assert again is not None
    assert (again.tags.text(), again.note.toPlainText()) == ("thesis", "the odd one")
    again.accept()
    until(qtbot, lambda: "thesis" in bench.shown("tags") and "the odd one" in bench.shown("note"))


def test_tags_of_several_runs_are_those_that_all_have(qtbot: QtBot, bench: Bench) -> None:
    with Store.open(bench.path) as store:
        store.tag(numbers(1, 2), "both")
        store.tag(numbers(1), "one")
        rows = [row for row in store.find() if row.tags]
    dialog = NotesDialog(rows, ["both", "one"], bench.panel)
    assert dialog.tags.text() == "both"
    assert dialog.new_note is None
    dialog.tags.setText("fresh")
    assert (dialog.added, dialog.removed) == (["fresh"], ["both"])
    dialog.tags.setText("x" * 61)
    dialog.accept()
    assert dialog.result() == 0
    dialog.tags.setText("x" * 60)
    dialog.accept()
    assert dialog.result() == 1


def test_a_run_is_copied_restored_exported_and_pinned(qtbot: QtBot, bench: Bench) -> None:
    acts = bench.panel.acts
    bench.choose(*numbers(1))
    bench.panel.table.setFocus()
    QApplication.clipboard().clear()
    QTest.keyClick(bench.panel.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    until(qtbot, lambda: "gpuexplorer run matmul" in QApplication.clipboard().text())
    acts.ask("script")
    until(qtbot, lambda: "gpuexplorer.run(" in QApplication.clipboard().text())
    with qtbot.waitSignal(acts.restore_asked) as restored:
        QTest.keyClick(bench.panel.table, Qt.Key.Key_Return)
    assert restored.args[0] == numbered_run(1, workload="matmul", size={"N": 128}).config
    with qtbot.waitSignal(acts.export_asked) as exported:
        acts.ask("export")
    record = exported.args[0]
    assert isinstance(record, RunRecord)
    with Store.open(bench.path) as store:
        kept = store.get(numbers(1)[0])
    assert record.result() == kept
    assert record.snapshot().result() == kept
    assert record.samples_s().tolist() == kept.samples_s
    with qtbot.waitSignal(acts.ghost_asked) as pinned:
        acts.ask("ghost")
    ghost = pinned.args[0]
    assert isinstance(ghost, Ghost)
    assert ghost.median_s == kept.timing.median_s
    assert ghost.samples_s.tolist() == kept.samples_s
    assert ghost.drawing.x[0] == 0.0
    assert sorted(ghost.drawing.y.tolist()) == sorted(kept.samples_s)


def test_several_runs_are_compared_the_oldest_first(qtbot: QtBot, bench: Bench) -> None:
    button = bench.panel.bar.compare
    bench.choose(*numbers(5))
    assert not button.isEnabled()
    bench.choose(*numbers(5, 1, 3))
    assert button.isEnabled()
    with qtbot.waitSignal(bench.panel.acts.compare_asked) as asked:
        button.click()
    assert asked.args[0] == numbers(1, 3, 5)


def test_stored_runs_are_compared_as_they_are_the_oldest_first(qtbot: QtBot, bench: Bench) -> None:
    button = bench.panel.bar.stored
    for chosen, possible in (((5,), False), ((5, 1), True)):
        bench.choose(*numbers(*chosen))
        assert button.isEnabled() is possible
    with qtbot.waitSignal(bench.panel.acts.stored_asked) as asked:
        button.click()
    assert asked.args[0] == numbers(1, 5)


def test_dragged_rows_carry_their_ids(bench: Bench) -> None:
    indexes = [bench.model.index(row, column) for row in (0, 2) for column in (1, 2)]
    data = bench.model.mimeData(indexes)
    assert data.formats() == ["application/x-gpuexplorer-runs"]
    assert dragged_runs(data) == numbers(5, 3)


def test_undo_in_the_table_is_not_the_knobs_undo(qtbot: QtBot, window: MainWindow) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(64)
    run = wait_measured(qtbot, window)
    find(window, "blockXSlider", SnapSlider).setValue(8)
    wait_measured(qtbot, window)
    assert run.record is not None
    run_id, model, table = run.record.id, window.session.history_model, window.history_table

    def place() -> int | None:
        at = model.find(run_id)
        row = model.row(at) if at is not None else None
        return at if row is not None and not row.running else None

    until(qtbot, lambda: place() is not None)
    table.choose([place() or 0])
    window.activateWindow()
    table.setFocus()
    until(qtbot, table.hasFocus)
    QTest.keyClick(table, Qt.Key.Key_Delete)
    until(qtbot, lambda: table.can_undo and model.find(run_id) is None)
    QTest.keyClick(table, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    until(qtbot, lambda: model.find(run_id) is not None)
    assert window.session.experiment.knobs.block == (8, 16, 1)
    QTest.keyClick(table, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    until(qtbot, lambda: window.session.experiment.knobs.block == (16, 16, 1))


def test_the_menu_acts_on_what_was_chosen_when_it_opened_or_on_nothing(
    qtbot: QtBot, bench: Bench
) -> None:
    table, model, acts = bench.panel.table, bench.model, bench.panel.acts
    with Store.open(bench.path) as store:
        store.add_all(numbered_run(i) for i in range(6, 400))
    until(qtbot, lambda: model.rowCount() == 400 and bench.ids()[:1] == numbers(399))

    def left() -> list[str]:
        with Store.open(bench.path) as store:
            return [row.id for row in store.find(limit=1000)]

    def act(menu: QMenu, name: str) -> None:
        action = menu.findChild(QAction, name)
        assert action is not None
        action.trigger()
        menu.deleteLater()

    bench.choose(*numbers(398))
    menu = acts.menu()
    model.show_view(replace(model.view, descending=False))
    until(qtbot, lambda: bench.ids()[:1] == numbers(0))
    assert not table.chosen_places() and table.currentIndex().isValid()
    act(menu, "history_delete")
    until(qtbot, bench.panel.bar.undo.isVisible)
    assert left() == numbers(399, *range(397, -1, -1))
    until(qtbot, lambda: model.rowCount() == 399)

    table.setFocus()
    QTest.keyClick(table, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(table, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert model.row(200) is None
    menu = acts.menu()
    model.show_view(replace(model.view, query=Query(workload="transpose")))
    until(qtbot, lambda: model.rowCount() < 399)
    with qtbot.waitSignal(acts.message) as told:
        act(menu, "history_delete")
    assert told.args[0].endswith("choose them again.")
    assert left() == numbers(399, *range(397, -1, -1))


def test_the_menu_names_every_key(window: MainWindow) -> None:
    menu = window.panels.history.acts.menu()
    assert isinstance(menu, QMenu)
    keys = {a.text(): a.shortcut() for a in menu.findChildren(QAction) if a.shortcut().toString()}
    assert QKeySequence("F2") in keys.values() and QKeySequence("Del") in keys.values()
    menu.deleteLater()


# ---- damaged rows


def damage(bench: Bench, statement: str) -> None:
    """Change the store behind the window's back, and have it look again."""
    with closing(sqlite3.connect(bench.path)) as connection, connection:
        connection.execute(statement)
        connection.execute("UPDATE gpuexplorer_store SET generation = generation + 1")


def test_a_damaged_row_is_shown_as_such_and_the_others_as_ever(qtbot: QtBot, bench: Bench) -> None:
    told: list[object] = []
    bench.runs.troubled.connect(told.append)
    damage(bench, "UPDATE gpuexplorer_runs SET median_s = 'x', time_utc = 'noon' WHERE seq = 2")
    until(qtbot, lambda: "✗ unreadable" in bench.shown("result"))
    assert len(bench.ids()) == 6 and not told
    assert bench.shown("result").count("✗ unreadable") == 1
    assert "noon" in bench.shown("time")
    bench.choose(*numbers(1))
    row = bench.model.row(bench.ids().index(numbers(1)[0]))
    assert row is not None
    assert "damaged here: median_s cannot be read" in tip(row, "result", {}, stored=True)
    QTest.keyClick(bench.panel.table, Qt.Key.Key_Delete)
    until(qtbot, lambda: bench.ids() == numbers(5, 4, 3, 2, 0))


def test_a_run_that_cannot_be_read_is_told_and_the_others_are_copied(
    qtbot: QtBot, bench: Bench
) -> None:
    damage(bench, "UPDATE gpuexplorer_documents SET data = x'00' WHERE run = 2")
    bench.choose(*numbers(1, 3, 5))
    QApplication.clipboard().clear()
    with qtbot.waitSignal(bench.panel.acts.notice) as said:
        bench.panel.acts.ask("copy")
    assert f"run '{numbers(1)[0]}' in the history cannot be read" in said.args[0].text
    assert QApplication.clipboard().text().count("gpuexplorer run matmul") == 2


@pytest.mark.parametrize(("wanted", "ours"), [("copy", "gpuexplorer run"), ("script", "run(")])
def test_a_run_of_another_program_is_not_copied_as_one_of_ours(
    qtbot: QtBot, bench: Bench, wanted: str, ours: str
) -> None:
    """It has the name of a workload of ours, whose kernel is another one."""
    origin = Origin(program="NVBench", file="bench.json", what="matmul")
    foreign = [numbered_run(n, workload="matmul", origin=origin) for n in (7, 8)]
    with Store.open(bench.path) as store:
        store.add_all(foreign)
    until(qtbot, lambda: bench.model.rowCount() == 8)
    acts, clipboard = bench.panel.acts, QApplication.clipboard()
    clipboard.setText("before")
    bench.choose(foreign[0].id)
    with qtbot.waitSignal(acts.message) as said:
        acts.ask(wanted)
    assert said.args == ["Another program measured this: GPU Explorer cannot measure it again."]
    assert clipboard.text() == "before"
    with qtbot.waitSignal(acts.message) as said, qtbot.assertNotEmitted(acts.restore_asked):
        acts.ask("restore")
    assert said.args == ["Another program measured this: GPU Explorer cannot measure it again."]
    if wanted == "script":
        return  # of one run alone
    bench.choose(*numbers(1), *(run.id for run in foreign))
    with qtbot.waitSignal(acts.message) as said:
        acts.ask(wanted)
    assert said.args == [
        "The command line is on the clipboard. 2 runs of other programs are left out."
    ]
    assert clipboard.text().count(ours) == 1


@pytest.mark.parametrize(("wanted", "agreed"), [("copy", "--yes"), ("script", "allow_long=True")])
def test_a_run_of_long_launches_is_copied_with_the_agreement_to_them(
    qtbot: QtBot, bench: Bench, wanted: str, agreed: str
) -> None:
    long = numbered_run(4999, workload="matmul")
    with Store.open(bench.path) as store:
        store.add(long)
    until(qtbot, lambda: bench.model.rowCount() == 7)
    for run_id, is_long in ((numbers(1)[0], False), (long.id, True)):
        bench.choose(run_id)
        with qtbot.waitSignal(bench.panel.acts.message):
            bench.panel.acts.ask(wanted)
        assert (agreed in QApplication.clipboard().text()) == is_long
