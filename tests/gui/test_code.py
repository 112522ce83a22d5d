"""A kernel's source in the window: edited, measured as it is typed, and never lost."""

from __future__ import annotations

import errno
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import msgspec
import psutil
import pytest
from PySide6 import QtGui
from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QColor,
    QKeySequence,
    QPixmap,
    QShortcut,
    QTextCursor,
    QTextDocumentFragment,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QMessageBox,
    QPushButton,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.exchange.files import write_error
from gpuexplorer.gui.code import drafts
from gpuexplorer.gui.code.messages import LineMessage, line_messages
from gpuexplorer.gui.code.pane import CodePane
from gpuexplorer.gui.code.versions import VersionStrip
from gpuexplorer.gui.code.view import CodeView
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.versions_file import HeldVersions
from gpuexplorer.gui.plain import plain_tip
from gpuexplorer.gui.theme import make_theme, theme
from gpuexplorer.search.versions import Version
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.loader import keep_manifest, load, shipped_folder
from gpuexplorer.workloads.workload import MANIFEST_NAME, Workload
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until
from tests.support.exchange import made_comparison
from tests.support.own_kernels import TEXTBOOK

LINE = "float sum = 0.0f;"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A textbook's file with its manifest."""
    made = tmp_path / "mine.cu"
    made.write_text(TEXTBOOK, encoding="utf-8")
    keep_manifest(made, Answers(reference={"": "A @ B"}, sizes={"N": 64}))
    return made


@pytest.fixture
def bench(qtbot: QtBot, open_window: OpenWindow, path: Path) -> Callable[[], MainWindow]:
    """Return a function that opens a window at the file's source, Live on."""

    def opened() -> MainWindow:
        window = open_window("--kernels", str(path))
        window.session.live_at_start = False
        until(qtbot, lambda: window.session.experiment.devices is not None)
        window.session.experiment.set_workload("mine")
        window.panels.places.show_view(window.panels.kernel)
        until(qtbot, lambda: "matrixMul" in window.panels.kernel.source.toPlainText())
        window.session.set_live(True)
        return window

    return opened


def measured(window: MainWindow) -> bool:
    """Whether the source as it is now is verified, and has samples."""
    run = window.session.live_model.current
    prepared = run.prepared if run is not None and run.trace.total else None
    return (
        prepared is not None
        and prepared.verified
        and prepared.environment.source_sha256 == window.session.experiment.workload.sha256
    )


def replace_line(view: CodeView, old: str, new: str) -> None:
    """Select a piece of the text, and type another one."""
    cursor = view.document().find(old)
    assert not cursor.isNull()
    view.setTextCursor(cursor)
    view.setFocus()
    QTest.keyClicks(view, new)


def test_what_is_typed_is_measured_and_saved_when_asked(
    qtbot: QtBot, bench: Callable[[], MainWindow], path: Path
) -> None:
    window = bench()
    pane = window.panels.kernel.code
    until(qtbot, lambda: measured(window))
    before = window.session.experiment.workload.sha256
    save = find(window, "codeSave", QPushButton)
    assert not save.isEnabled() and not pane.view.isReadOnly()
    replace_line(pane.view, LINE, "float sum = 0;")
    assert save.isEnabled() and "edited, not saved" in pane.title.text()
    until(qtbot, lambda: window.session.experiment.workload.sha256 != before and measured(window))
    assert path.read_text(encoding="utf-8") == TEXTBOOK
    kept = drafts.find_draft(path)
    assert kept is not None and kept.text == TEXTBOOK.replace(LINE, "float sum = 0;", 1)
    QTest.keyClick(pane.view, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert path.read_text(encoding="utf-8") == kept.text
    assert drafts.find_draft(path) is None and not save.isEnabled()
    QTest.keyClick(pane.view, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    until(qtbot, lambda: window.session.experiment.workload.sha256 == before and measured(window))
    find(window, "codeRevert", QPushButton).click()
    assert "float sum = 0;" in pane.view.toPlainText() and not save.isEnabled()


def test_what_revert_takes_away_is_undone_by_one_step(
    qtbot: QtBot, bench: Callable[[], MainWindow], path: Path
) -> None:
    window = bench()
    window.session.set_live(False)
    pane = window.panels.kernel.code
    view, edits = pane.view, TEXTBOOK.replace(LINE, "float sum = 0;", 1)
    replace_line(view, LINE, "float sum = 0;")
    until(qtbot, lambda: drafts.find_draft(path) is not None)
    line, scrolled = view.textCursor().blockNumber(), view.verticalScrollBar().value()
    find(window, "codeRevert", QPushButton).click()
    assert view.text == TEXTBOOK and not pane.save_button.isEnabled()
    assert (view.textCursor().blockNumber(), view.verticalScrollBar().value()) == (line, scrolled)
    assert drafts.find_draft(path) is None
    view.undo()
    assert view.text == edits and pane.save_button.isEnabled()
    until(qtbot, lambda: (kept := drafts.find_draft(path)) is not None and kept.text == edits)
    view.redo()
    until(qtbot, lambda: drafts.find_draft(path) is None)
    assert view.text == TEXTBOOK and not pane.save_button.isEnabled()
    path.write_text(edits, encoding="utf-8")  # what another program saves comes the same way
    until(qtbot, lambda: view.text == edits)
    view.undo()
    assert view.text == TEXTBOOK and pane.save_button.isEnabled()


def test_after_a_button_took_edits_or_saved_them_ctrl_z_is_the_texts_and_not_the_knobs(
    qtbot: QtBot, bench: Callable[[], MainWindow], path: Path
) -> None:
    window = bench()
    window.session.set_live(False)
    view, knobs = window.panels.kernel.code.view, window.session.experiment.knobs
    replace_line(view, LINE, "float sum = 0;")
    edits = view.text
    until(qtbot, lambda: drafts.find_draft(path) is not None)

    def click(button: QPushButton) -> None:
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    def undo() -> None:
        control = Qt.KeyboardModifier.ControlModifier
        QTest.keyClick(window.focusWidget(), Qt.Key.Key_Z, control)

    click(find(window, "codeRevert", QPushButton))
    assert view.text == TEXTBOOK
    undo()
    assert (view.text, window.session.experiment.knobs) == (edits, knobs)
    click(find(window, "codeSave", QPushButton))
    assert path.read_text(encoding="utf-8") == edits
    undo()
    assert view.text != edits and window.session.experiment.knobs == knobs
    view.redo()
    replace_line(view, "k = 0;", "k = 1;")
    other = TEXTBOOK.replace("k = 0", "k = 0 + 0")
    until(qtbot, lambda: drafts.find_draft(path) is not None)
    edits = view.text
    path.write_text(other, encoding="utf-8")
    until(qtbot, lambda: "was saved by another program" in window.banner.text)
    click(next(b for b in window.banner.findChildren(QPushButton) if b.text() == "Take the file"))
    until(qtbot, lambda: view.text == other)
    undo()
    assert (view.text, window.session.experiment.knobs) == (edits, knobs)


def test_edits_that_a_file_replaced_while_another_was_shown_are_undone_by_one_step(
    qtbot: QtBot, bench: Callable[[], MainWindow], path: Path
) -> None:
    """They were gone once another kernel was chosen."""
    window = bench()
    window.session.set_live(False)
    pane, experiment = window.panels.kernel.code, window.session.experiment
    view, edits = pane.view, TEXTBOOK.replace(LINE, "float sum = 0;", 1)
    other = TEXTBOOK.replace("k = 0", "k = 0 + 0")
    replace_line(view, LINE, "float sum = 0;")
    until(qtbot, lambda: drafts.find_draft(path) is not None)
    until(qtbot, lambda: window.kernels.watches(path))
    path.write_text(other, encoding="utf-8")
    until(qtbot, lambda: "was saved by another program" in window.banner.text)
    experiment.set_workload("vector_add")
    until(qtbot, lambda: "float sum" not in view.text)
    take = next(b for b in window.banner.findChildren(QPushButton) if b.text() == "Take the file")
    take.click()
    assert drafts.find_draft(path) is None
    experiment.set_workload("mine")
    until(qtbot, lambda: view.text == other)
    assert not pane.save_button.isEnabled()
    view.undo()
    assert view.text == edits and pane.save_button.isEnabled()
    until(qtbot, lambda: (kept := drafts.find_draft(path)) is not None and kept.text == edits)
    view.redo()
    until(qtbot, lambda: drafts.find_draft(path) is None)
    experiment.set_workload("vector_add")
    until(qtbot, lambda: "float sum" not in view.text)
    experiment.set_workload("mine")
    until(qtbot, lambda: view.text == other)
    assert not view.document().isUndoAvailable()


def test_versions_stand_in_a_strip_and_each_can_be_taken_up_again(
    qtbot: QtBot, bench: Callable[[], MainWindow]
) -> None:
    window = bench()
    pane = window.panels.kernel.code
    strip, editing = pane.strip, window.panels.kernel.editing
    until(qtbot, lambda: measured(window))
    assert not strip.isVisible()

    def versions() -> list[Version]:
        return editing.bench.of(window.session.experiment.workload)

    slow = "for (int j = 0; j < 2000; j++) { sum += A[j]; sum -= A[j]; }"
    replace_line(pane.view, LINE, f"{LINE} {slow}")
    until(qtbot, lambda: strip.list.count() == 2)
    assert strip.isVisible()
    first, second = versions()
    assert first.run is not None and second.run is not None and second.before == 1
    assert second.comparison is not None and second.comparison.verdict == "slower"
    assert "slower" in strip.list.item(1).text() and "Verified" in strip.list.item(1).toolTip()
    replace_line(pane.view, slow, "oops;")
    until(qtbot, lambda: strip.list.count() == 3)
    assert versions()[2].run is None and "did not run" in strip.list.item(2).text()
    until(qtbot, lambda: bool(pane.view.messages))

    strip.list.setCurrentRow(0)
    find(window, "versionDifferences", QPushButton).click()
    shown = find(window, "differencesText", QTextBrowser)
    assert "+" in shown.toPlainText() and "oops;" in shown.toPlainText()
    shown.window().close()
    find(window, "versionRestore", QPushButton).click()
    assert pane.view.toPlainText() == TEXTBOOK
    until(qtbot, lambda: strip.list.count() == 4 and measured(window))
    assert versions()[3].before == 2 and versions()[3].run is not None
    pane.view.undo()
    assert "oops;" in pane.view.toPlainText()
    ids = {v.run.id for v in versions() if v.run is not None}
    until(qtbot, lambda: all(window.session.runs.kept(i) for i in ids))


@pytest.mark.skipif(sys.platform == "win32", reason="SIGABRT ends no engine there")
def test_a_crash_and_a_hang_lose_no_text_and_no_version(
    qtbot: QtBot, bench: Callable[[], MainWindow], path: Path
) -> None:
    window = bench()
    pane, editing = window.panels.kernel.code, window.panels.kernel.editing
    session = window.session
    until(qtbot, lambda: measured(window))

    def versions() -> list[Version]:
        return editing.bench.of(session.experiment.workload)

    def hangs() -> bool:
        run = session.jobs.current._receiver if session.jobs.current is not None else None
        return run is not None and run.stage == "predict" and "volatile" in pane.view.text

    replace_line(pane.view, LINE, "float sum = 0;")
    until(qtbot, lambda: len(versions()) == 2 and measured(window))
    loop = "volatile int on = 1; while (on) on = N > 0; float sum = 0;"
    replace_line(pane.view, "float sum = 0;", loop)
    until(qtbot, hangs)
    assert session.worker.engine_pid is not None
    # as a kernel that writes anywhere may have its library do
    psutil.Process(session.worker.engine_pid).send_signal(signal.SIGABRT)
    until(qtbot, lambda: len(versions()) == 3)
    assert versions()[2].run is None and "SIGABRT" in str(versions()[2].error)
    assert loop in pane.view.text
    until(qtbot, lambda: session.activity == "predicting a launch's time")  # it hangs again
    kept = drafts.find_draft(path)
    assert kept is not None and kept.text == pane.view.text
    replace_line(pane.view, loop, "float sum = 0.f;")
    until(qtbot, lambda: measured(window) and session.jobs.current is None)
    assert [v.run is not None for v in versions()] == [True, True, False, True]
    kept = drafts.find_draft(path)
    assert kept is not None and kept.text == pane.view.text == TEXTBOOK.replace(
        LINE, "float sum = 0.f;", 1
    )


def test_versions_go_into_session_files_with_their_registers(
    qtbot: QtBot, bench: Callable[[], MainWindow], tmp_path: Path
) -> None:
    window = bench()
    window.session.set_live(False)
    pane, editing = window.panels.kernel.code, window.panels.kernel.editing
    workload, run = window.session.experiment.workload, made_comparison().contestants[0].run
    run = msgspec.structs.replace(
        run, config=msgspec.structs.replace(run.config, variant="matrixMul"),
        resources=msgspec.structs.replace(run.resources, registers_per_thread=None),
    )  # fmt: skip
    old = workload.source.files["mine.cu"].replace(LINE, "float sum = 3;")
    files = {**workload.source.files, "mine.cu": old}
    before = Workload(msgspec.structs.replace(workload.source, files=files))
    made = (Version(1, before, "", run), Version(2, workload, "", error=WorkFailed("no <b>")))
    editing.show_held((HeldVersions("mine", made, (None, None), workload.source.origin),))
    strip = pane.strip.list
    assert strip.count() == 2 and "register" not in strip.item(0).text()
    strip.setCurrentRow(0)
    editing.bench.tell_registers(before.sha256, "matrixMul", "sm_90", 40)
    assert "40 registers" in strip.item(0).text() and strip.currentRow() == 0
    assert "40 registers a thread on sm_90" in strip.item(0).toolTip()
    window.sessions.write(tmp_path / "a.gpux")
    until(qtbot, lambda: window.sessions.path is not None)
    editing.show_held(None)
    assert strip.count() == 0
    window.sessions.open(tmp_path / "a.gpux")
    until(qtbot, lambda: strip.count() == 2)
    first, second = editing.bench.of(workload)
    assert first.foreign and str(second.error) == "no <b>"
    assert "40 registers" in strip.item(0).text()
    strip.setCurrentRow(0)
    find(window, "versionRestore", QPushButton).click()
    assert "float sum = 3;" in pane.view.text
    pane.revert()


def test_a_version_that_is_edited_on_gives_way_to_the_next(
    qtbot: QtBot, bench: Callable[[], MainWindow]
) -> None:
    window = bench()
    pane, editing = window.panels.kernel.code, window.panels.kernel.editing
    until(qtbot, lambda: measured(window))
    for zeros in ("0.00f", "0.000f", "0.0000f"):
        replace_line(pane.view, f"{zeros[:-2]}f", zeros)
        editing.take()
    until(qtbot, lambda: measured(window) and window.session.jobs.current is None)
    last = editing.bench.of(window.session.experiment.workload)[-1]
    assert last.workload.sha256 == window.session.experiment.workload.sha256
    assert last.run is not None


def test_a_version_that_waits_is_measured_with_the_knobs_of_when_it_was_asked_for(
    qtbot: QtBot, bench: Callable[[], MainWindow]
) -> None:
    window = bench()
    pane, editing = window.panels.kernel.code, window.panels.kernel.editing
    experiment, jobs = window.session.experiment, window.session.jobs
    until(qtbot, lambda: measured(window))
    for zeros in ("0.00f", "0.000f"):
        replace_line(pane.view, f"{zeros[:-2]}f", zeros)
        editing.take()
    mine, block = experiment.workload, experiment.knobs.block
    assert jobs.current is not None and block is not None and block[0] != 8
    experiment.set_axis(0, 8)
    experiment.set_workload("vector_add")

    def last() -> Version:
        return editing.bench.of(mine)[-1]

    until(qtbot, lambda: jobs.current is None and last().workload.sha256 == mine.sha256)
    run = last().run
    assert run is not None and run.config.block == block


def test_a_version_of_several_sources_is_taken_up_again_and_compared_as_a_whole(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(shipped_folder() / "vector_add", folder)
    manifest = folder / MANIFEST_NAME
    told = manifest.read_text(encoding="utf-8").replace('"vector_add"', '"mine"', 1)
    manifest.write_text(told, encoding="utf-8")
    (folder / "beside.h").write_text("// new\n", encoding="utf-8")
    window = open_window("--kernels", str(folder))
    window.session.live_at_start = False
    until(qtbot, lambda: window.session.experiment.devices is not None)
    experiment = window.session.experiment
    experiment.set_workload("mine")
    window.panels.places.show_view(window.panels.kernel)
    pane, editing = window.panels.kernel.code, window.panels.kernel.editing
    present = experiment.workload.source
    until(qtbot, lambda: pane.view.text == present.files["direct.cu"])
    shown = ("direct.cu", "grid_stride.cu")
    old = {**present.files, "beside.h": "// old\n"} | {
        name: f"// {name}\n{present.files[name]}" for name in shown
    }
    before = Workload(msgspec.structs.replace(present, files=old))
    failed = WorkFailed("no")
    made = (
        Version(1, before, "", error=failed),
        Version(2, experiment.workload, "", error=failed),
    )
    editing.show_held((HeldVersions("mine", made, (None, None), present.origin),))
    pane.strip.list.setCurrentRow(0)
    find(window, "versionDifferences", QPushButton).click()
    dialog = find(window, "differencesText", QTextBrowser)
    changes = dialog.toPlainText()
    assert all(f"-// {name}" in changes for name in shown) and "-// old" in changes
    assert "the present text: grid_stride.cu" in changes and "shares.cu" not in changes
    dialog.window().close()

    find(window, "versionRestore", QPushButton).click()
    now = experiment.workload.source.files
    assert pane.view.text == now["direct.cu"] and now == {**old, "beside.h": "// new\n"}
    assert "is back in grid_stride.cu as well" in window.banner.text
    assert "another text of beside.h, which stays as it is" in window.banner.text
    kept = drafts.find_draft(folder / "grid_stride.cu")
    assert kept is not None and kept.text == old["grid_stride.cu"]
    pane.view.undo()
    editing.take()
    assert experiment.workload.source.files["direct.cu"] == present.files["direct.cu"]
    experiment.set_variant("grid_stride")
    until(qtbot, lambda: pane.view.text == old["grid_stride.cu"])
    pane.view.undo()
    editing.take()
    assert experiment.workload.source.files == present.files


def test_what_does_not_compile_is_marked_on_its_line_until_it_does(
    qtbot: QtBot, bench: Callable[[], MainWindow]
) -> None:
    window = bench()
    view = window.panels.kernel.source
    until(qtbot, lambda: measured(window))
    number = TEXTBOOK[: TEXTBOOK.index("sum += A")].count("\n") + 1
    replace_line(view, "sum += A", "oops += A")
    typed = view.textCursor().position()
    until(qtbot, lambda: any(m.line == number and "oops" in m.words for m in view.messages))
    assert view.textCursor().position() == typed
    view.undo()
    until(qtbot, lambda: measured(window) and not view.messages)


def test_marks_go_with_the_text_that_they_are_of_also_while_nothing_measures(
    qtbot: QtBot, bench: Callable[[], MainWindow]
) -> None:
    window = bench()
    panel, session = window.panels.kernel, window.session
    view, right = panel.source, session.experiment.workload
    until(qtbot, lambda: measured(window))
    replace_line(view, "sum += A", "oops += A")
    until(qtbot, lambda: session.failure is not None and bool(view.messages))
    session.stop()
    wrong = session.experiment.workload
    view.undo()
    panel.editing.take()
    assert session.experiment.workload.sha256 == right.sha256
    until(qtbot, lambda: not view.messages and bool(panel.kernels))
    assert session.failure_of(wrong) is not None and session.failure_of(right) is None


def test_edits_outlive_the_window(
    qtbot: QtBot, bench: Callable[[], MainWindow], path: Path
) -> None:
    first = bench()
    replace_line(first.panels.kernel.source, LINE, "float sum = 7;")
    first.close()  # within the pause after the last key
    assert path.read_text(encoding="utf-8") == TEXTBOOK
    again = bench()
    until(qtbot, lambda: "float sum = 7;" in again.panels.kernel.source.toPlainText())
    assert "edited, not saved" in again.panels.kernel.code.title.text()
    find(again, "codeRevert", QPushButton).click()
    until(qtbot, lambda: LINE in again.panels.kernel.source.toPlainText() and measured(again))


def test_a_full_disk_loses_no_edits(
    qtbot: QtBot, bench: Callable[[], MainWindow], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, buttons = bench(), QMessageBox.StandardButton
    view, editing = window.panels.kernel.source, window.panels.kernel.editing
    asked: list[str] = []
    replies = [buttons.Cancel, buttons.Save, buttons.Save]

    def full(path: Path, **_: bool) -> NoReturn:
        raise write_error(path, OSError(errno.ENOSPC, ""))

    def question(*words: object) -> QMessageBox.StandardButton:
        asked.append(str(words[2]))
        return replies.pop(0)

    monkeypatch.setattr(QMessageBox, "question", question)
    until(qtbot, lambda: measured(window))
    with monkeypatch.context() as data, monkeypatch.context() as disk:
        data.setattr(drafts, "atomic_file", full)
        disk.setattr("gpuexplorer.gui.code.editing.atomic_file", full)
        replace_line(view, LINE, "float sum = 0;")
        until(qtbot, lambda: "the disk is full" in window.banner.text)
        until(qtbot, lambda: measured(window) and window.session.jobs.current is None)
        assert not window.close(), "it was cancelled"
        assert not window.close(), "it could not be saved"
        assert path.read_text(encoding="utf-8") == TEXTBOOK and "float sum = 0;" in view.text
        disk.undo()
        assert editing.may_close() and path.read_text(encoding="utf-8") == view.text
        assert len(asked) == 3 and "mine.cu are not saved" in asked[0]
        replace_line(view, "float sum = 0;", LINE)
        until(qtbot, lambda: "the disk is full" in window.banner.text)
    assert editing.may_close() and not replies, "there is room again, so nothing is asked"
    kept = drafts.find_draft(path)
    assert kept is not None and kept.text == view.text == TEXTBOOK


def test_a_draft_that_cannot_be_taken_away_ends_no_save_and_comes_back_over_no_other_text(
    qtbot: QtBot, bench: Callable[[], MainWindow], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = bench()
    window.session.set_live(False)
    pane = window.panels.kernel.code
    replace_line(pane.view, LINE, "float sum = 0;")
    until(qtbot, lambda: drafts.find_draft(path) is not None)
    unlink = Path.unlink

    def read_only(place: Path, missing_ok: bool = False) -> None:
        if place.parent.name == drafts.FOLDER:
            raise PermissionError(errno.EACCES, "")
        unlink(place, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", read_only)
    pane.save()
    saved = path.read_text(encoding="utf-8")
    assert saved == pane.view.text and "float sum = 0;" in saved
    assert not pane.save_button.isEnabled() and "edited" not in pane.title.text()
    assert "permission denied" in window.banner.text
    assert drafts.find_draft(path) is not None
    path.write_text(TEXTBOOK, encoding="utf-8")
    until(qtbot, lambda: pane.view.text == TEXTBOOK)
    assert not pane.save_button.isEnabled()
    path.write_text(saved, encoding="utf-8")
    window.close()

    again = bench()  # the draft is what the file holds
    again.panels.kernel.editing.restore()
    pane = again.panels.kernel.code
    assert pane.view.text == saved and not pane.save_button.isEnabled()


def test_a_file_that_another_program_saves_takes_no_edits_away(
    qtbot: QtBot, bench: Callable[[], MainWindow], path: Path
) -> None:
    window = bench()
    view, other = window.panels.kernel.source, TEXTBOOK.replace("k = 0", "k = 0 + 0")
    replace_line(view, LINE, "float sum = 0;")
    until(qtbot, lambda: drafts.find_draft(path) is not None)
    until(qtbot, lambda: window.kernels.watches(path))
    path.write_text(other, encoding="utf-8")
    until(qtbot, lambda: "was saved by another program" in window.banner.text)
    assert "float sum = 0;" in view.toPlainText()
    take = next(b for b in window.banner.findChildren(QPushButton) if b.text() == "Take the file")
    take.click()
    until(qtbot, lambda: view.toPlainText() == other)
    assert drafts.find_draft(path) is None
    until(qtbot, lambda: measured(window))

    window.kernels.stop()  # what nobody watches is looked at when it is saved
    pane = window.panels.kernel.code
    replace_line(view, LINE, "float sum = 0;")
    until(qtbot, lambda: drafts.find_draft(path) is not None)
    path.write_bytes(b"\xef\xbb\xbf" + TEXTBOOK.replace("\n", "\r\n").encode())
    pane.save()
    assert "save once more to replace what it wrote" in window.banner.text
    assert path.read_bytes().count(b"\r\n") == TEXTBOOK.count("\n")
    pane.save()
    assert path.read_bytes().startswith(b"\xef\xbb\xbf#include")
    assert path.read_bytes() == b"\xef\xbb\xbf" + view.text.replace("\n", "\r\n").encode()
    path.rename(path.with_name("moved.cu"))
    replace_line(view, "float sum = 0;", "float sum = 5;")
    until(qtbot, lambda: (kept := drafts.find_draft(path)) is not None and "= 5;" in kept.text)
    path.with_name("moved.cu").rename(path)
    window.panels.kernel.refresh()
    view.selectAll()
    view.cut()
    window.panels.kernel.refresh()
    assert view.text == "" and pane.save_button.isEnabled()


def test_a_file_that_is_taken_away_takes_nothing_that_is_typed_and_is_saved_anew(
    qtbot: QtBot, bench: Callable[[], MainWindow], path: Path
) -> None:
    window = bench()
    window.session.set_live(False)
    pane = window.panels.kernel.code
    replace_line(pane.view, LINE, "float sum = 0;")
    until(qtbot, lambda: drafts.find_draft(path) is not None)
    path.unlink()
    QTest.keyClicks(pane.view, " // mine")
    until(qtbot, lambda: (kept := drafts.find_draft(path)) is not None and "// mine" in kept.text)
    until(qtbot, lambda: "cannot be read" in window.banner.text)
    assert "float sum = 0; // mine" in pane.view.text
    QTest.keyClicks(pane.view, ", too")
    assert find(window, "codeSave", QPushButton).isEnabled()
    QTest.keyClick(pane.view, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert path.read_text(encoding="utf-8") == TEXTBOOK.replace(
        LINE, "float sum = 0; // mine, too", 1
    )
    until(qtbot, lambda: window.kernels.watches(path))
    path.write_text(TEXTBOOK, encoding="utf-8")
    until(qtbot, lambda: pane.view.text == TEXTBOOK)


def test_what_another_program_saved_is_asked_about_until_one_of_both_is_chosen(
    qtbot: QtBot, bench: Callable[[], MainWindow], path: Path
) -> None:
    window = bench()
    view, other = window.panels.kernel.source, TEXTBOOK.replace("k = 0", "k = 0 + 0")
    until(qtbot, lambda: measured(window))
    replace_line(view, LINE, "float sum = 0;")
    until(qtbot, lambda: drafts.find_draft(path) is not None)
    path.write_text(other, encoding="utf-8")
    manifest = path.with_suffix(".toml")  # another file changes with it, so that it is run again
    told = manifest.read_text(encoding="utf-8").replace("default = 64", "default = 96")
    before = window.session.experiment.workload.sha256
    manifest.write_text(told, encoding="utf-8")
    until(qtbot, lambda: window.session.experiment.workload.sha256 != before and measured(window))
    assert "Your edits here are kept" in window.banner.text
    window.session.experiment.set_size("N", 32)
    until(qtbot, lambda: measured(window))
    assert "Your edits here are kept" in window.banner.text
    replace_line(view, "float sum = 0;", "float sum = 0.f;")
    until(qtbot, lambda: (kept := drafts.find_draft(path)) is not None and "0.f" in kept.text)
    window.close()

    again = bench()
    until(qtbot, lambda: "Your edits here are kept" in again.banner.text)
    pane = again.panels.kernel.code
    assert "float sum = 0.f;" in pane.view.text
    pane.save()
    assert path.read_text(encoding="utf-8") == other
    assert "Nothing is written yet" in again.banner.text
    pane.save()
    assert path.read_text(encoding="utf-8") == pane.view.text
    assert again.banner.text == "" and not pane.save_button.isEnabled()


def test_what_is_saved_while_another_kernel_is_chosen_is_read_when_its_turn_comes(
    qtbot: QtBot, bench: Callable[[], MainWindow], path: Path
) -> None:
    window = bench()
    window.session.set_live(False)
    until(qtbot, lambda: window.kernels.watches(path))
    window.session.experiment.set_workload("vector_add")
    until(qtbot, lambda: not window.kernels.watches(path))
    path.write_text(TEXTBOOK.replace("k = 0", "k = 0 + 0"), encoding="utf-8")
    window.session.experiment.set_workload("mine")
    until(qtbot, lambda: "k = 0 + 0" in window.panels.kernel.source.toPlainText())


def test_a_shipped_source_is_read_alone(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.panels.places.show_view(window.panels.kernel)
    pane = window.panels.kernel.code
    until(qtbot, lambda: "matrixMul" in pane.view.toPlainText())
    assert pane.view.isReadOnly() and not pane.save_button.isVisible()


# ---- the widget by itself


@pytest.fixture
def view(qtbot: QtBot, qapp: QApplication) -> CodeView:
    make_theme(qapp, "light")
    made = CodeView("code", "Code")
    qtbot.addWidget(made)
    made.set_editable(True)
    made.resize(600, 300)
    made.show()
    return made


def select(view: CodeView, first: int, last: int) -> None:
    cursor = QTextCursor(view.document().findBlockByNumber(first))
    end = view.document().findBlockByNumber(last)
    cursor.setPosition(end.position() + end.length() - 1, QTextCursor.MoveMode.KeepAnchor)
    view.setTextCursor(cursor)


def test_keys_indent_and_toggle_remarks(view: CodeView) -> None:
    view.show_text("void f()\n{\n    a;\n\n      b;\n}\n")
    select(view, 2, 4)
    QTest.keyClick(view, Qt.Key.Key_Slash, Qt.KeyboardModifier.ControlModifier)
    assert view.toPlainText() == "void f()\n{\n    // a;\n\n    //   b;\n}\n"
    QTest.keyClick(view, Qt.Key.Key_Slash, Qt.KeyboardModifier.ControlModifier)
    assert view.toPlainText() == "void f()\n{\n    a;\n\n      b;\n}\n"
    select(view, 2, 4)
    QTest.keyClick(view, Qt.Key.Key_Tab)
    assert view.toPlainText() == "void f()\n{\n        a;\n\n          b;\n}\n"
    QTest.keyClick(view, Qt.Key.Key_Backtab)
    QTest.keyClick(view, Qt.Key.Key_Backtab)
    assert view.toPlainText() == "void f()\n{\na;\n\n  b;\n}\n"
    view.undo()
    assert "\n    a;" in view.toPlainText()
    view.moveCursor(QTextCursor.MoveOperation.Start)
    view.moveCursor(QTextCursor.MoveOperation.Down)
    view.moveCursor(QTextCursor.MoveOperation.EndOfLine)
    QTest.keyClick(view, Qt.Key.Key_Return)
    QTest.keyClicks(view, "c;")
    assert "{\n    c;\n    a;" in view.toPlainText()


def test_keys_alone_get_out_of_a_source(qtbot: QtBot, qapp: object) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    view, after = CodeView("source", "Source"), QPushButton("after")
    column = QVBoxLayout(window)
    column.addWidget(view)
    column.addWidget(after)
    stopped: list[bool] = []
    stop = QShortcut(QKeySequence("Esc"), window)
    stop.activated.connect(lambda: stopped.append(True))
    window.show()
    until(qtbot, window.isActiveWindow)
    view.set_editable(True)
    view.show_text("int a;")
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Tab)
    assert view.text == "    int a;"
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert not stopped, "the first Esc is the source's"
    QTest.keyClick(view, Qt.Key.Key_Tab)
    assert after.hasFocus() and view.text == "    int a;"
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Right)
    QTest.keyClick(view, Qt.Key.Key_Tab)
    assert view.hasFocus() and view.text.count(" ") > 5


def test_another_theme_is_no_edit(qtbot: QtBot, view: CodeView) -> None:
    view.show_text("int a; // as it was")
    edits: list[str] = []
    view.edited.connect(lambda: edits.append(view.text))
    before = theme().choice
    try:
        for choice in ("dark", "light"):
            theme().choose(choice)
            QApplication.processEvents()
    finally:
        theme().choose(before)
    assert edits == []
    QTest.keyClicks(view, "x")
    assert len(edits) == 1


def test_a_text_with_blanks_that_do_not_break_stays_as_it_is(view: CodeView) -> None:
    text = "// 5\u00a0ms\nint a;\n"
    view.show_text(text)
    view.moveCursor(QTextCursor.MoveOperation.End)
    view.show_text(text)
    assert view.text == text and view.textCursor().atEnd()


def test_what_a_compiler_says_is_shown_as_it_is(qtbot: QtBot, qapp: object) -> None:
    said = "mine.cu:3: no <b>operator</b>\nfor a <i> && b"
    strip = VersionStrip()
    qtbot.addWidget(strip)
    workload = load()["matmul"]
    strip.show_versions([Version(n, workload, "", error=WorkFailed(said)) for n in (1, 2)])
    tip = strip.list.item(0).toolTip()
    assert QtGui.Qt.mightBeRichText(said) and "<b>" not in tip
    assert QTextDocumentFragment.fromHtml(tip).toPlainText() == said
    assert plain_tip("a < b") == "a < b"


def test_brackets_find_each_other_outside_of_remarks(view: CodeView) -> None:
    view.show_text("f(a[1], /* ) */ (2));")
    pairs = {1: 19, 3: 5, 16: 18}
    for opening, closing in pairs.items():
        for at in (opening, closing):
            cursor = view.textCursor()
            cursor.setPosition(at + 1)
            view.setTextCursor(cursor)
            marked = {s.cursor.selectionStart() for s in view.extraSelections()}
            assert marked == {opening, closing}


@pytest.mark.parametrize("scale", [1.0, 1.5, 2.0])
def test_underscores_of_a_marked_line_are_seen_as_those_of_any_other(
    view: CodeView, scale: float
) -> None:
    view.show_text("__global__ void f()\n\n__global__ void f()\n\n")
    view.mark_line(0)
    text = view.viewport()
    drawn = QPixmap(text.size() * scale)
    drawn.setDevicePixelRatio(scale)
    text.render(drawn)
    image = drawn.toImage()
    high = view.blockBoundingRect(view.document().firstBlock()).height() * scale
    margin = view.document().documentMargin() * scale
    column = round(margin + view.fontMetrics().horizontalAdvance("_") * scale * 0.5)
    beside = image.width() - 5

    def inked(line: int) -> list[int]:
        """Return how much the letter's rows differ from what is beside the text."""
        first, rows = round(margin + line * high), range(round(high * 1.5))
        return [
            abs(image.pixelColor(column, y).lightness() - image.pixelColor(beside, y).lightness())
            for y in range(first, first + len(rows))
        ]

    assert image.pixelColor(beside, round(margin + high / 2)) == theme().q("selection")
    assert scale != 1.0 or max(inked(2)) > 100, "an underscore is as dark as a letter"
    assert sum(inked(0)) > 0.7 * sum(inked(2)) > 0, "it is not cut where its line ends"


def test_words_are_found_from_place_to_place(qtbot: QtBot, view: CodeView) -> None:
    from gpuexplorer.gui.code.find import FindBar

    bar = FindBar(view)
    qtbot.addWidget(bar)
    view.show_text("sum = a;\nSum += b;\nreturn sum;\n")
    bar.begin()
    words = bar.findChild(QLineEdit, "findWords")
    assert words is not None
    QTest.keyClicks(words, "sum")
    assert bar.found.text() == "3 places"
    lines = []
    for _ in range(4):
        lines.append(view.textCursor().blockNumber())
        bar.go_on()
    assert lines == [0, 1, 2, 0]
    bar.go_back()
    assert view.textCursor().blockNumber() == 0
    bar.go_back()
    assert view.textCursor().blockNumber() == 2
    bar.dismiss()
    assert not bar.isVisible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_code_is_readable_in_both_themes(view: CodeView, scheme: str) -> None:
    theme().choose("light" if scheme == "light" else "dark")
    view.show_text('#include <x>\n// a\n__global__ int k = 0x1f; /* b\nc */ "d" threadIdx.x\n')
    back = theme().q("panel")
    colours: set[str] = set()
    block = view.document().firstBlock()
    while block.isValid():
        layout = block.layout()
        colours |= {f.format.foreground().color().name() for f in layout.formats()}
        block = block.next()
    assert len(colours) == 5
    assert min(contrast(QColor(name), back) for name in colours) >= 4.5


def contrast(a: QColor, b: QColor) -> float:
    """WCAG 2's contrast of two colours."""

    def luminance(colour: QColor) -> float:
        parts = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
            for c in (colour.redF(), colour.greenF(), colour.blueF())
        ]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_messages_of_both_compilers_are_read() -> None:
    log = (
        "k.cu:3:7: error: use of undeclared identifier 'x'\n    3 | x = 1;\n"
        "k.cu:4:1: warning: unused variable\nk.cu:9:1: note: declared here\n"
        'k.cu(12): error: identifier "y" is undefined\nk.cu(13): warning #177-D: unused\n'
    )
    assert line_messages(log) == [
        LineMessage("k.cu", 3, "use of undeclared identifier 'x'", True, 7),
        LineMessage("k.cu", 4, "unused variable", False, 1),
        LineMessage("k.cu", 12, 'identifier "y" is undefined', True),
        LineMessage("k.cu", 13, "unused", False),
    ]


def test_a_pane_says_what_its_text_is(qtbot: QtBot, bench: Callable[[], MainWindow]) -> None:
    window = bench()
    pane = window.panels.kernel.code
    assert isinstance(pane, CodePane)
    until(qtbot, lambda: pane.title.text() == "mine.cu · matrixMul")
    window.session.experiment.set_variant("tiled")
    until(qtbot, lambda: pane.title.text() == "mine.cu · tiled")
    line = pane.view.entry_line
    assert line is not None and "void tiled" in pane.view.toPlainText().splitlines()[line]
