"""What goes wrong, and how the window says so: nothing is lost, nothing blocks, nothing remains."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from gpuexplorer.core.sample_block import unpacked
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import EngineLost
from gpuexplorer.engine.errors import error_of_loss
from gpuexplorer.gui.export import exported_runs
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.trace import sample_times_s
from gpuexplorer.gui.widgets.snap_slider import SnapSlider
from gpuexplorer.gui.worker import Chunk, Update
from tests.gui.conftest import OpenWindow, process_exists
from tests.gui.driver import find, until, wait_measured
from tests.support import kernels


def press(window: MainWindow, words: str) -> None:
    """Press a button of the banner."""
    buttons = [b for b in window.banner.findChildren(QPushButton) if b.text() == words]
    assert buttons, f"no button '{words}' in: {window.banner.text}"
    buttons[0].click()


def open_kernel(qtbot: QtBot, open_window: OpenWindow, folder: Path) -> MainWindow:
    """Open the window, let it find its devices, then open a kernels folder."""
    window = open_window()
    wait_measured(qtbot, window, 1)
    window.kernels.open(folder)
    return window


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_killed_engine_is_replaced_and_its_samples_kept(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(64)
    run = wait_measured(qtbot, window, 50)
    pid = window.session.worker.engine_pid
    assert pid is not None
    psutil.Process(pid).send_signal(signal.SIGKILL)
    until(qtbot, lambda: run.over)
    kept = run.trace.total
    assert kept >= 50
    assert "SIGKILL" in window.banner.text
    assert "samples it delivered are kept" in window.banner.text
    row = window.session.history.find(run.ticket)
    assert row is not None
    assert window.session.history[row].sampled == kept
    record = run.record
    assert record is not None
    window.exporter.write(exported_runs([record]), tmp_path / "kept.json")
    again = wait_measured(qtbot, window)
    assert again.ticket != run.ticket
    assert window.session.worker.engine_pid != pid
    until(qtbot, lambda: (tmp_path / "kept.json").is_file() and not window.exporter.busy)


def test_a_run_whose_result_changed_later_is_not_kept_as_verified(
    qtbot: QtBot, window: MainWindow
) -> None:
    run = wait_measured(qtbot, window, 50)
    assert run.record is not None and run.record.prepared.verified
    window.listener.take_run_event(
        run, protocol.Failed(generation=1, kind="wrong-result", what="the result changes")
    )
    assert run.over and "the result changes" in window.banner.text.lower()
    kept = run.record.result()
    assert (kept.timing.stopped_by, kept.verified) == ("failed", False)


@pytest.mark.alone
def test_a_long_launch_is_announced_run_and_stopped(qtbot: QtBot, window: MainWindow) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(64)
    wait_measured(qtbot, window)
    experiment = window.session.experiment
    window.session.set_live(False)
    experiment.set_size("N", 2048)
    experiment.set_axis(0, 1)
    experiment.set_axis(1, 1)
    window.session.set_live(True)
    until(qtbot, lambda: "One launch would take about" in window.banner.text)
    assert window.session.live and window.session.config is not None
    window.banner.dismiss()
    smaller = msgspec.structs.replace(window.session.config, size={"N": 64})
    window.session.run_long(smaller)  # what was agreed to of another is not agreed to of this
    assert not window.banner.isVisible()
    until(qtbot, lambda: "One launch would take about" in window.banner.text)
    press(window, "Run it anyway")
    until(qtbot, lambda: window.session.activity == "running once to verify")
    began = time.monotonic()
    window.commands.stop.trigger()
    until(qtbot, lambda: window.session.activity.startswith("stopped"))
    until(qtbot, lambda: window.session.engine_state == "ready")
    assert time.monotonic() - began < 6
    experiment.set_size("N", 64)
    window.session.set_live(True)
    wait_measured(qtbot, window)


def test_another_block_can_be_chosen_instead(qtbot: QtBot, window: MainWindow) -> None:
    wait_measured(qtbot, window, 1)
    experiment = window.session.experiment
    experiment.set_axis(0, 1)
    experiment.set_axis(1, 1)
    experiment.set_size("N", 2048)
    until(qtbot, lambda: "One launch would take about" in window.banner.text)
    press(window, "Choose another block")
    assert not window.banner.isVisible()
    experiment.set_size("N", 64)
    wait_measured(qtbot, window)
    assert not window.banner.isVisible()


def test_a_kernel_that_does_not_compile_shows_the_compilers_words(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    folder = kernels.write_vector(tmp_path, kernels.BROKEN_BODY)
    window = open_kernel(qtbot, open_window, folder)
    until(qtbot, lambda: window.banner.kind == "bad")
    assert "kernel.cu" in window.banner.text + window.banner.detail
    assert "nothing_of_that_name" in window.banner.detail
    (folder / "kernel.cu").write_text(
        kernels.TWICE.format(body=kernels.RIGHT_BODY), encoding="utf-8"
    )
    until(qtbot, window.isActiveWindow)
    QTest.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_F5)
    assert wait_measured(qtbot, window).config.workload == "vector"
    assert not window.banner.isVisible()


def test_reading_kernels_again_clears_an_old_error_while_nothing_measures(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    folder = kernels.write_vector(tmp_path)
    window = open_kernel(qtbot, open_window, folder)
    window.session.set_live(False)
    manifest = (folder / "workload.toml").read_text(encoding="utf-8")
    (folder / "workload.toml").write_text("not a manifest", encoding="utf-8")
    window.commands.reload_kernels.trigger()
    assert window.banner.kind == "bad"
    (folder / "workload.toml").write_text(manifest, encoding="utf-8")
    window.commands.reload_kernels.trigger()
    assert not window.banner.isVisible()
    assert not window.session.live


def test_a_wrong_result_is_never_timed(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_kernel(qtbot, open_window, kernels.write_vector(tmp_path, kernels.WRONG_BODY))
    until(qtbot, lambda: window.banner.kind == "bad")
    run = window.session.live_model.current
    assert run is not None
    assert run.config.workload == "vector"
    assert run.trace.total == 0


def test_a_kernel_that_never_ends_ends_only_its_engine(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_kernel(qtbot, open_window, kernels.write_vector(tmp_path, kernels.ENDLESS_BODY))
    until(qtbot, lambda: "may never finish" in window.banner.text, 90_000)
    assert "Run it anyway" in [b.text() for b in window.banner.findChildren(QPushButton)]
    until(qtbot, lambda: window.session.engine_state == "ready")
    window.session.experiment.set_workload("vector_add")
    wait_measured(qtbot, window)


def test_a_kernel_that_writes_far_outside_leaves_the_window_alone(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_kernel(
        qtbot, open_window, kernels.write_vector(tmp_path, kernels.FAR_OUT_OF_BOUNDS_BODY)
    )
    until(qtbot, lambda: window.banner.kind == "bad")
    until(qtbot, lambda: window.session.engine_state == "ready")
    window.session.experiment.set_workload("vector_add")
    wait_measured(qtbot, window)


def test_a_bad_kernels_folder_is_named_and_changes_nothing(
    window: MainWindow, tmp_path: Path
) -> None:
    before = dict(window.session.experiment.workloads)
    window.kernels.open(tmp_path / "nowhere")
    assert "no such folder" in window.banner.text
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "workload.toml").write_text("format = 1\nnme = 'x'\n", encoding="utf-8")
    window.kernels.open(broken)
    assert "unknown key 'nme'" in window.banner.text
    assert window.session.experiment.workloads == before
    assert window.settings.kernel_folders == []


def test_an_interpreter_that_is_none_is_said_and_can_be_undone(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    wait_measured(qtbot, window, 1)
    window.engine.use_python(str(tmp_path / "no-python"))
    until(qtbot, lambda: window.session.engine_state == "lost")
    assert "no-python" in window.banner.text
    window.engine.use_python(None)
    until(qtbot, lambda: window.session.engine_state == "ready")
    window.session.set_live(True)
    wait_measured(qtbot, window, 1)


@pytest.mark.alone
def test_closing_in_mid_run_leaves_no_process(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    wait_measured(qtbot, window, 1)
    pid = window.session.worker.engine_pid
    assert pid is not None
    began = time.monotonic()
    window.close()
    assert time.monotonic() - began < 5
    assert not process_exists(pid)


def test_a_job_that_ends_with_its_engine_leaves_the_way_out_in_sight(
    qtbot: QtBot, window: MainWindow
) -> None:
    wait_measured(qtbot, window, 1)
    session = window.session
    session.set_live(False)
    job: Any = SimpleNamespace(
        wait=lambda: None,
        not_done="",
        done="",
        waits_for_others=False,
        ended=SimpleNamespace(emit=lambda outcome: None),
    )
    session.jobs.current = job
    lost = EngineLost(0, "start", "there is not enough memory", None, False)
    window.listener._engine_lost(0, lost)
    session.jobs._take_back(error_of_loss(lost))
    press(window, "Try again")
    until(qtbot, lambda: session.engine_state == "ready")


def test_samples_that_were_lost_on_their_way_are_told(qtbot: QtBot, window: MainWindow) -> None:
    window.show()
    run = wait_measured(qtbot, window)
    record = run.record
    assert record is not None and record.dropped == 0
    batch = unpacked(record.batches[-1])
    chunk = Chunk([sample_times_s(batch, 0)], [batch.durations_s], [batch], dropped=9)
    window.listener.take(Update(items=[(run.ticket, chunk)]))
    note = find(window, "timingNote", QLabel)
    until(qtbot, lambda: "9 samples were lost" in note.text())
    window.session.set_live(False)
    until(qtbot, lambda: run.over)
    assert record.result().timing.dropped == 9
