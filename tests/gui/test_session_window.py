"""Session files in the window: save, open, go back, drop, close."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QLabel,
    QMenu,
    QMessageBox,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from gpuexplorer.core.sample import Reading
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.export_dialog import ExportDialog
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.session_archive import read_session
from gpuexplorer.gui.model.session_document import MAX_NOTES
from gpuexplorer.gui.session_dialogs import NotesDialog, SourcesDialog
from gpuexplorer.gui.worker import DeviceReading, Update
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.support.sessions import (
    SOURCE,
    change,
    members,
    rewrite,
    whole_file,
)


def test_a_saved_session_is_replayed_and_left_again(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    run = wait_measured(qtbot, window)
    window.pin()
    window.session.experiment.set_block((32, 4, 1))
    run = wait_measured(qtbot, window)
    window.sessions.set_notes("what I found")
    path = tmp_path / "bench.gpux"
    window.session.set_live(False)
    until(qtbot, lambda: run.over)
    window.sessions.write(path)
    until(qtbot, lambda: window.sessions.path == path)
    assert window.windowTitle().startswith("bench.gpux") and not window.isWindowModified()
    kept = run.summary
    assert kept is not None
    window.session.experiment.set_block((8, 8, 1))
    assert window.isWindowModified()
    window.session.set_live(True)
    later = wait_measured(qtbot, window)
    window.sessions.set_notes("something else")

    window.sessions.open(path)
    until(qtbot, lambda: window.banner.text.startswith("Opened bench.gpux"))
    shown = window.session.live_model.current
    assert shown is not None and shown.summary == kept and shown.origin == "bench.gpux"
    assert not window.session.live and not window.commands.live.isChecked()
    assert window.session.experiment.knobs.block == (32, 4, 1)
    assert window.sessions.notes == "what I found"
    assert "from file" in window.session.live_model.pins[0].label
    assert window.panels.caption.words.text().startswith("From file bench.gpux")
    assert shown.record is not None
    assert shown.record.prepared.device.name in find(window, "liveCaptionWords", QLabel).text()
    assert find(window, "headline", QLabel).text() == quantity(kept.median_s, "s")
    device, reading = window.session.latest_reading or ("", Reading(t_ns=1, source="test"))
    readings = len(window.session.live_model.readings)
    told = DeviceReading(device, time.monotonic(), reading, worked=False)
    window.listener.take(Update(readings=[told]))
    assert len(window.session.live_model.readings) == readings  # they are of this machine

    window.sessions.write(tmp_path / "copy.gpux")
    window.sessions.back()  # which the copy that is being written refuses
    assert window.session.live_model.current is shown
    until(qtbot, lambda: not window.sessions.busy)
    window.sessions.back()
    assert window.session.live_model.current is later
    assert window.session.experiment.knobs.block == (8, 8, 1)
    assert window.sessions.notes == "something else"
    assert "From file" not in window.panels.caption.words.text()
    again = wait_measured(qtbot, window)
    assert again is not later and again.origin == ""
    window.sessions.set_notes("what I found")
    window.session.experiment.set_block((32, 4, 1))


def cut_off(path: Path) -> None:
    path.write_bytes(whole_file()[:-40])


def with_a_part_that_is_no_text(path: Path) -> None:
    path.write_bytes(whole_file())
    rewrite(path, {**members(path), "parts/comparison.json": b'{"schema": "\xff"}'})
    change(path, lambda document: document.update(parts=["comparison"]))


@pytest.mark.parametrize("write", [cut_off, with_a_part_that_is_no_text])
def test_a_bad_file_leaves_the_window_as_it_was(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, write: Callable[[Path], None]
) -> None:
    window = open_window()
    wait_measured(qtbot, window)
    path = tmp_path / "bad.gpux"
    write(path)
    before = window.session.live_model.current, window.session.experiment.knobs
    window.sessions.open(path)
    until(qtbot, lambda: window.banner.kind == "bad")
    assert str(path) in window.banner.text and "damaged" in window.banner.text
    assert (window.session.live_model.current, window.session.experiment.knobs) == before
    assert window.session.live and window.sessions.path is None


def test_a_session_named_on_the_command_line_is_shown_and_nothing_is_measured(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    path = tmp_path / "bench.gpux"
    path.write_bytes(whole_file())
    window = open_window(str(path))
    until(qtbot, lambda: window.sessions.path == path)
    until(qtbot, lambda: window.session.experiment.devices is not None)
    run = window.session.live_model.current
    assert run is not None and run.origin == "bench.gpux" and not window.session.live
    assert window.panels.places.current is window.panels.roofline
    assert window.sessions.foreign_kernels() == {"mine": SOURCE}
    window.session.set_live(True)
    fresh = wait_measured(qtbot, window)
    assert fresh.origin == ""
    until(qtbot, lambda: "From file" not in window.panels.caption.words.text())


def test_why_a_named_file_is_refused_stays_in_sight_when_measuring_starts_by_itself(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    path = tmp_path / "bench.gpux"
    path.write_bytes(whole_file()[:-200])
    window = open_window(str(path))
    assert window.session.experiment.devices is None
    until(qtbot, lambda: str(path) in window.banner.text)
    wait_measured(qtbot, window)
    assert str(path) in window.banner.text and "damaged" in window.banner.text


def test_runs_of_a_gpu_are_replayed_where_there_is_none(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    def on_a_gpu(document: dict[str, Any]) -> None:
        document["knobs"]["device"] = "cuda:3"
        for run in document["runs"]:
            run["prepared"]["device"] |= {"id": "cuda:3", "name": "NVIDIA H200", "kind": "gpu"}
            run["prepared"]["config"]["device"] = "cuda:3"

    path = tmp_path / "gpu.gpux"
    path.write_bytes(whole_file())
    change(path, on_a_gpu)
    window = open_window()
    wait_measured(qtbot, window)
    window.sessions.open(path)
    until(qtbot, lambda: window.sessions.path == path)
    assert "NVIDIA H200" in window.banner.text
    assert "NVIDIA H200 (cuda:3)" in find(window, "liveCaptionWords", QLabel).text()
    assert "NVIDIA H200" in window.session.live_model.pins[0].label
    assert window.session.experiment.knobs.device == "auto" and not window.session.live
    window.session.set_live(True)
    assert wait_measured(qtbot, window).config.device != "cuda:3"


def test_a_bad_file_on_the_command_line_lets_measuring_begin(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window("--threads", "1", str(tmp_path / "none.gpux"))
    wait_measured(qtbot, window)
    assert window.sessions.path is None


def test_recent_files_are_offered_and_forgotten_when_they_fail(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    path = tmp_path / "bench.gpux"
    path.write_bytes(whole_file())
    window.sessions.open(path)
    until(qtbot, lambda: window.sessions.path == path)
    menu = find(window, "recentSessions", QMenu)
    menu.aboutToShow.emit()
    assert [a.text() for a in menu.actions()] == ["bench.gpux"]
    path.unlink()
    menu.actions()[0].trigger()
    until(qtbot, lambda: window.banner.kind == "bad")
    menu.aboutToShow.emit()
    assert [a.text() for a in menu.actions()] == ["None yet"]


def test_dropping_a_file_opens_it(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window()
    path = tmp_path / "bench.gpux"
    path.write_bytes(whole_file())
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier(0)
    enter = QDragEnterEvent(window.rect().center(), copy, data, left, none)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    drop = QDropEvent(window.rect().center().toPointF(), copy, data, left, none)
    QApplication.sendEvent(window, drop)
    until(qtbot, lambda: window.sessions.path == path)
    data.setUrls([QUrl.fromLocalFile("/tmp/picture.png")])
    other = QDragEnterEvent(window.rect().center(), copy, data, left, none)
    QApplication.sendEvent(window, other)
    assert not other.isAccepted()


def test_sources_of_a_file_are_text_and_run_only_from_a_folder_of_the_user_s(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    path = tmp_path / "bench.gpux"
    path.write_bytes(whole_file())
    window = open_window(str(path))
    until(qtbot, lambda: window.sessions.path == path)
    assert "mine" not in window.session.experiment.workloads
    window.dialogs.show_sources()
    dialog = find(window, "sourcesDialog", SourcesDialog)
    dialog.list.setCurrentRow(1)
    assert dialog.text.toPlainText() == SOURCE.files["mine.cu"] and dialog.text.isReadOnly()
    folder = tmp_path / "mine-to-read"
    folder.mkdir()
    dialog.save(folder)
    assert (folder / "mine" / "mine.cu").read_text() == SOURCE.files["mine.cu"]
    dialog.save(folder)
    assert "there already" in dialog.words.text()
    assert "mine" not in window.session.experiment.workloads
    dialog.close()


def test_closing_with_unsaved_changes_asks(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bench.gpux"
    path.write_bytes(whole_file())
    window = open_window(str(path))
    until(qtbot, lambda: window.sessions.path == path)
    window.sessions.set_notes("new")
    buttons = QMessageBox.StandardButton
    monkeypatch.setattr(QMessageBox, "question", lambda *_: buttons.Cancel)
    assert not window.close()
    monkeypatch.setattr(QMessageBox, "question", lambda *_: buttons.Save)
    assert window.close()
    assert read_session(path).document.notes == "new"


def test_a_window_that_closes_says_first_what_could_not_be_written(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, nowhere = open_window(), tmp_path / "nowhere" / "bench.gpux"
    wait_measured(qtbot, window)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(nowhere), ""))
    window.commands.save_session.trigger()
    assert not window.close()
    assert "bench.gpux: there is no such folder" in window.banner.text
    folder = tmp_path / "gone"
    folder.mkdir()
    window.commands.export.trigger()
    (dialog,) = window.findChildren(ExportDialog)
    dialog.path_box.setText(str(folder / "run.png"))
    folder.rmdir()
    dialog.export_button.click()
    assert not window.close()
    assert "run.png: there is no such folder" in window.banner.text
    assert window.close()


def test_notes_of_a_session_without_a_file_are_asked_about_before_they_go(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, path = open_window(), tmp_path / "notes.gpux"
    assert window.sessions.may_close(), "there is nothing to lose"
    window.sessions.set_notes("what I found")
    buttons = QMessageBox.StandardButton
    monkeypatch.setattr(QMessageBox, "question", lambda *_: buttons.Cancel)
    assert not window.close()
    monkeypatch.setattr(QMessageBox, "question", lambda *_: buttons.Save)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    assert not window.close(), "no file was chosen"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    assert window.close()
    assert read_session(path).document.notes == "what I found"


def test_another_file_over_unsaved_changes_asks(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "bench.gpux", tmp_path / "other.gpux"
    for one in (path, other):
        one.write_bytes(whole_file())
    window = open_window(str(path))
    until(qtbot, lambda: window.sessions.path == path)
    window.sessions.set_notes("new")
    window.settings.remember_session(other)
    window.menus.recent.aboutToShow.emit()
    (action,) = [a for a in window.menus.recent.actions() if a.text() == "other.gpux"]
    buttons = QMessageBox.StandardButton
    monkeypatch.setattr(QMessageBox, "question", lambda *_: buttons.Cancel)
    until(qtbot, lambda: window.session.experiment.devices is not None)
    action.trigger()
    assert not window.sessions.busy and window.sessions.notes == "new"
    monkeypatch.setattr(QMessageBox, "question", lambda *_: buttons.Save)
    action.trigger()
    until(qtbot, lambda: window.sessions.path == other)
    assert read_session(path).document.notes == "new"


def test_going_back_over_unsaved_changes_asks_and_can_be_asked_again(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    wait_measured(qtbot, window)
    path, buttons = tmp_path / "bench.gpux", QMessageBox.StandardButton
    path.write_bytes(whole_file())
    for answer, kept in ((buttons.Discard, "before"), (buttons.Save, "typed since")):
        window.sessions.open(path)
        until(qtbot, lambda: window.banner.text.startswith("Opened bench.gpux"))
        window.sessions.set_notes("before")
        window.sessions.write(path)
        until(qtbot, lambda: not window.sessions.busy)
        window.sessions.set_notes("typed since")
        monkeypatch.setattr(QMessageBox, "question", lambda *_: buttons.Cancel)
        press_back(qtbot, window)
        assert window.sessions.notes == "typed since" and window.sessions.title.startswith("bench")
        monkeypatch.setattr(QMessageBox, "question", lambda *_, answer=answer: answer)
        press_back(qtbot, window)
        assert window.sessions.notes == "" and window.sessions.title == "GPU Explorer"
        assert not window.banner.isVisible()
        assert read_session(path).document.notes == kept
        window.session.set_live(False)


def press_back(qtbot: QtBot, window: MainWindow) -> None:
    """Press the banner's button, once it is seen."""
    words = "Back to what was here"

    def seen() -> list[QPushButton]:
        buttons = window.banner.findChildren(QPushButton)
        return [one for one in buttons if one.isVisible() and one.text() == words]

    until(qtbot, lambda: bool(seen()))
    seen()[0].click()


def test_going_back_waits_for_a_job_and_is_offered_again(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    run = wait_measured(qtbot, window)
    path = tmp_path / "bench.gpux"
    path.write_bytes(whole_file())
    window.sessions.open(path)
    until(qtbot, lambda: window.banner.text.startswith("Opened bench.gpux"))
    job: Any = SimpleNamespace(doing="sweeping")
    window.session.jobs.current = job
    press_back(qtbot, window)
    assert "busy sweeping" in window.banner.text and window.sessions.path == path
    window.session.jobs.current = None
    press_back(qtbot, window)
    assert window.session.live_model.current is run and window.sessions.path is None


def test_another_file_over_unsaved_changes_asks_also_while_no_device_is_known(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, path = open_window(), tmp_path / "bench.gpux"
    path.write_bytes(whole_file())
    wait_measured(qtbot, window)
    window.sessions.set_notes("what I found")
    buttons = QMessageBox.StandardButton
    monkeypatch.setattr(QMessageBox, "question", lambda *_: buttons.Cancel)
    window.engine.restart()
    assert window.session.experiment.devices is None
    window.sessions.open_instead(path)
    assert not window.sessions.busy and window.sessions.notes == "what I found"


def test_a_file_that_is_chosen_before_any_device_is_known_is_not_measured_by_itself(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window, path = open_window(), tmp_path / "bench.gpux"
    path.write_bytes(whole_file())
    assert window.session.live_at_start and window.session.experiment.devices is None
    window.sessions.open_instead(path)
    until(qtbot, lambda: window.sessions.path == path)
    until(qtbot, lambda: window.session.experiment.devices is not None)
    assert not window.session.live
    assert "Nothing is measured until you press Live." in window.banner.text


def test_without_a_display_a_session_file_is_a_sentence(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in DISPLAYS}
    done = subprocess.run(
        [sys.executable, "-m", "gpuexplorer", str(tmp_path / "bench.gpux")],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3
    assert "bench.gpux" in done.stderr and "no display" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


def test_a_session_of_version_0_1_is_shown_whole(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    path = tmp_path / "session.gpux"
    path.write_bytes((Path(__file__).parents[1] / "written_by_0_1/session.gpux").read_bytes())
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.sessions.open(path)
    until(qtbot, lambda: window.banner.text.startswith("Opened session.gpux"))
    assert window.sessions.notes == "Written by version 0.1."
    live = window.session.live_model
    assert live.current is not None and live.current.config.size == {"N": 256}
    assert len(live.pins) == 1
    held = {name: part.held() for name, part in window.panels.parts.items()}
    assert {n for n, one in held.items() if one is not None} == {
        "sweep", "block-map", "comparison", "lab"
    }  # fmt: skip


def test_notes_that_are_longer_than_a_file_holds_say_so(qtbot: QtBot) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    dialog = NotesDialog(owner)
    taken: list[str] = []
    dialog.changed.connect(taken.append)
    dialog.edit.setPlainText("n" * MAX_NOTES)
    assert dialog.saved.text() == "Saved with the session file."
    dialog.edit.appendPlainText("more")
    assert taken[-1] == "n" * MAX_NOTES
    assert dialog.saved.text() == "The session file holds the first 200\u202f000 characters alone."
    dialog.show_notes("short")
    assert dialog.saved.text() == "Saved with the session file."
