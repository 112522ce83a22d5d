"""The main job, as a user does it: pick, run, watch, move a knob, pin, copy, restore."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QMenu, QSpinBox, QTableView, QToolButton
from pytestqt.qtbot import QtBot

from gpuexplorer.core.change import Change
from gpuexplorer.engine.cores import default_threads, usable_cores
from gpuexplorer.gui.engine import thread_choices
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.snap_slider import SnapSlider
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.gui.worker import Chunk, Update
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, measured, until, wait_measured

ROOT = Path(__file__).resolve().parents[2]
NAMES = (
    "deviceBox", "workloadBox", "variantBox", "sizeSlider", "blockXSlider", "blockYSlider",
    "blockZSlider", "precisionBox", "liveButton", "stopButton", "pinButton", "exportButton",
    "timingPlot", "trafficPlot", "historyTable", "insightPanel",
)  # fmt: skip


def test_everything_a_script_relies_on_is_there(window: MainWindow) -> None:
    for name in NAMES:
        find(window, name)


def test_it_measures_by_itself_and_answers_a_slider(qtbot: QtBot, window: MainWindow) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(128)
    run = wait_measured(qtbot, window)
    assert run.prepared is not None
    assert run.prepared.verified
    assert find(window, "liveButton", QToolButton).isChecked()
    with qtbot.waitSignal(window.timing.drawn, timeout=30_000):
        find(window, "blockXSlider", SnapSlider).setValue(32)
    again = wait_measured(qtbot, window)
    assert again.config.block == (32, 16, 1)
    assert again.label.startswith("32×16")
    assert [p.ticket for p in window.session.live_model.past][-1] == run.ticket
    until(qtbot, lambda: window.insight.headline.text() != "–")
    assert "Verified" in window.insight.verified.text()
    assert window.session.history[0].config.block in ((32, 16, 1), (16, 16, 1))


def test_a_knobs_answer_is_drawn_before_its_row_in_the_history(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_measured(qtbot, window)
    session, seen = window.session, list[str]()
    true_update = session.history_model.update

    def update(ticket: int, *figures: Any, **named: Any) -> None:
        seen.append(f"row {ticket}")
        true_update(ticket, *figures, **named)

    def draw(answer: bool) -> None:
        run = session.live_model.current
        if answer and run is not None:
            seen.append(f"answer {run.ticket}")

    monkeypatch.setattr(session.history_model, "update", update)
    session.frame.connect(draw)
    for threads in (32, 8, 64):
        find(window, "blockXSlider", SnapSlider).setValue(threads)
        ticket = wait_measured(qtbot, window).ticket
        answer, row = f"answer {ticket}", f"row {ticket}"
        until(qtbot, partial(seen.__contains__, row))
        assert seen.index(answer) < seen.index(row), "it would delay what the knob was moved for"


def test_a_knobs_answer_is_painted_in_the_event_that_brings_it(
    qtbot: QtBot, window: MainWindow
) -> None:
    window.show()
    wait_measured(qtbot, window)
    painted: list[int] = []
    answers: list[bool] = []

    def after(answer: bool) -> None:
        run = window.session.live_model.current
        if answer and run is not None:
            answers.append(painted[-1:] == [run.ticket])

    window.timing.drawn.connect(painted.append)
    window.session.frame.connect(after)  # behind what draws it
    for threads in (32, 8, 64):
        answers.clear()
        find(window, "blockXSlider", SnapSlider).setValue(threads)
        wait_measured(qtbot, window)
        until(qtbot, lambda: bool(answers))
        assert all(answers), "Qt would wait for more to change"


def test_a_row_that_waits_for_the_answer_does_not_outlive_the_window(
    qtbot: QtBot, window: MainWindow
) -> None:
    ticket = wait_measured(qtbot, window).ticket
    requests, waits = window.session.requests, window.listener._later
    answer = Update([(ticket, Chunk([np.array([0.5])], [np.array([1e-3])]))])
    requests.moved_at = time.perf_counter()
    window.listener.take(answer)
    assert waits.isActive()
    window.close()
    assert not waits.isActive()
    requests.moved_at = time.perf_counter()
    assert requests.is_answer(ticket)
    window.listener.take(answer)  # it was on its way
    assert not waits.isActive()


def test_arrow_keys_step_and_shift_steps_by_one(qtbot: QtBot, window: MainWindow) -> None:
    slider = find(window, "blockXSlider", SnapSlider)
    slider.setFocus()
    QTest.keyClick(slider, Qt.Key.Key_Right)
    assert slider.value() == 32
    QTest.keyClick(slider, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert slider.value() == 31
    QTest.keyClick(slider, Qt.Key.Key_Home)
    assert slider.value() == 1
    assert window.session.experiment.knobs.block == (1, 16, 1)


def test_a_drag_stops_at_the_border_and_a_link_makes_room(qtbot: QtBot, window: MainWindow) -> None:
    slider = find(window, "blockXSlider", SnapSlider)
    until(qtbot, lambda: window.session.experiment.devices is not None)
    limit = window.session.experiment.limits.max_threads_per_block
    end = QPoint(slider.width() - 2, 11)
    QTest.mousePress(slider, Qt.MouseButton.LeftButton, pos=end)
    QTest.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=end)
    assert slider.value() == limit // 16
    note = window.experiment_panel.note
    assert note.isVisible()
    assert "threads, and this device allows" in note.text()
    note.linkActivated.emit("remedy")
    assert slider.value() == min(limit, window.session.experiment.room.limit(0))
    assert not note.isVisible()
    window.commands.undo.trigger()
    assert slider.value() == limit // 16


def test_an_exact_value_can_be_typed(qtbot: QtBot, window: MainWindow) -> None:
    box = find(window, "sizeBox", QSpinBox)
    box.setFocus()
    box.selectAll()
    QTest.keyClicks(box, "111")
    QTest.keyClick(box, Qt.Key.Key_Return)
    run = wait_measured(qtbot, window)
    assert run.config.size == {"N": 111}


def test_space_and_escape_start_and_stop(qtbot: QtBot, window: MainWindow) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(64)
    wait_measured(qtbot, window)
    stop = find(window, "stopButton", QToolButton)
    QTest.mouseClick(stop, Qt.MouseButton.LeftButton)
    until(qtbot, lambda: window.session.activity.startswith("stopped"))
    run = window.session.live_model.current
    assert run is not None
    assert run.over
    assert not stop.isEnabled()
    kept = run.trace.total
    QTest.mouseClick(find(window, "liveButton", QToolButton), Qt.MouseButton.LeftButton)
    again = wait_measured(qtbot, window)
    assert again.ticket > run.ticket
    assert window.session.history.find(run.ticket) is not None
    row = window.session.history.find(run.ticket)
    assert row is not None
    assert window.session.history[row].sampled == kept


def test_a_pin_stays_as_a_ghost_until_it_is_removed(qtbot: QtBot, window: MainWindow) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(64)
    first = wait_measured(qtbot, window)
    QTest.mouseClick(find(window, "pinButton", QToolButton), Qt.MouseButton.LeftButton)
    assert window.pins.isVisible()
    find(window, "blockYSlider", SnapSlider).setValue(1)
    wait_measured(qtbot, window)
    (pin,) = window.session.live_model.pins
    assert pin.ticket == first.ticket
    assert pin.median_s > 0
    assert len(pin.samples_s) >= 10
    QTest.mouseClick(find(window, "unpinButton", QToolButton), Qt.MouseButton.LeftButton)
    assert not window.session.live_model.pins
    assert not window.pins.isVisible()


def test_transfers_fill_the_phases_of_every_sample(qtbot: QtBot, window: MainWindow) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(128)
    wait_measured(qtbot, window)
    window.experiment_panel.transfers.click()
    until(qtbot, lambda: bool((run := window.session.live_model.current) and run.phases_s))
    run = window.session.live_model.current
    assert run is not None
    assert set(run.phases_s) == {"allocate", "host_to_device", "kernel", "device_to_host", "free"}
    assert all(value > 0 for value in run.phases_s.values())
    until(qtbot, lambda: window.traffic.legend["upload"].value not in ("", "–"))
    assert window.traffic.legend["upload"].value.endswith("B/s")


def test_another_variant_and_another_workload(qtbot: QtBot, window: MainWindow) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(64)
    wait_measured(qtbot, window)
    box = find(window, "variantBox", QComboBox)
    box.setCurrentIndex(box.findData("uncoalesced"))
    assert wait_measured(qtbot, window).config.variant == "uncoalesced"
    assert "same arithmetic" in window.insight.teaches.text()
    box = find(window, "workloadBox", QComboBox)
    box.setCurrentIndex(box.findData("vector_add"))
    assert wait_measured(qtbot, window).config.workload == "vector_add"
    assert not find(window, "blockYSlider", SnapSlider).isVisible()


def test_cold_caches_and_other_inputs_are_measured_and_told(
    qtbot: QtBot, window: MainWindow
) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(64)
    wait_measured(qtbot, window, 1)
    caches, inputs = find(window, "cacheBox", QComboBox), find(window, "fillBox", QComboBox)
    caches.setCurrentIndex(caches.findData("cold"))
    inputs.setCurrentIndex(inputs.findData("zeros"))
    until(qtbot, lambda: (run := window.session.config) is not None and run.fill == "zeros")
    run = wait_measured(qtbot, window, 3)
    assert (run.config.cache, run.config.fill) == ("cold", "zeros")
    assert run.prepared is not None
    assert "cold: " in run.prepared.method and "read before each launch" in run.prepared.method
    window.experiment_panel.transfers.click()
    until(qtbot, lambda: (run := window.session.config) is not None and run.include_transfers)
    run = wait_measured(qtbot, window, 1)
    assert (run.config.cache, run.config.include_transfers) == ("hot", True)
    item = caches.model().index(caches.findData("cold"), 0)
    assert not item.flags() & Qt.ItemFlag.ItemIsEnabled


def test_the_history_sorts_and_restores_a_run(qtbot: QtBot, window: MainWindow) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(64)
    for x in (16, 8, 32):
        find(window, "blockXSlider", SnapSlider).setValue(x)
        wait_measured(qtbot, window)
    table = find(window, "historyTable", QTableView)
    until(qtbot, lambda: table.model().rowCount() >= 3)
    titles = [
        table.model().headerData(c, Qt.Orientation.Horizontal)
        for c in range(table.model().columnCount())
    ]
    column = titles.index("block")
    until(qtbot, lambda: {"8×16", "16×16", "32×16"} <= set(shown(table, column)))
    table.horizontalHeader().sectionClicked.emit(column)
    until(qtbot, lambda: shown(table, column)[:2] == ["8×16", "16×16"])
    widths = [int(text.partition("×")[0]) for text in shown(table, column)]
    assert widths == sorted(widths)
    table.doubleClicked.emit(table.model().index(0, column))
    until(qtbot, lambda: window.session.experiment.knobs.block == (8, 16, 1))


def shown(table: QTableView, column: int) -> list[str]:
    """Return what a column shows, row by row."""
    model = table.model()
    return [str(model.index(row, column).data()) for row in range(model.rowCount())]


def test_a_run_can_be_copied_as_command_and_script(qtbot: QtBot, window: MainWindow) -> None:
    wait_measured(qtbot, window, 1)
    QTest.mouseClick(window.insight.command_button, Qt.MouseButton.LeftButton)
    command = QApplication.clipboard().text()
    assert command.startswith("gpuexplorer run matmul")
    assert "--block 16x16" in command
    QTest.mouseClick(window.insight.script_button, Qt.MouseButton.LeftButton)
    compile(QApplication.clipboard().text(), "script", "exec")


def test_colours_change_everywhere_and_are_remembered(window: MainWindow) -> None:
    window.choices.choose_theme("dark")
    dark = window.grab().toImage().pixelColor(window.width() // 2, window.height() // 2)
    assert theme().scheme == "dark"
    window.choices.choose_theme("light")
    light = window.grab().toImage().pixelColor(window.width() // 2, window.height() // 2)
    assert dark.lightness() < 80 < 180 < light.lightness()
    assert Settings().theme == "light"


def test_the_last_experiment_is_there_again(qtbot: QtBot, open_window: OpenWindow) -> None:
    first = open_window()
    find(first, "sizeSlider", SnapSlider).setValue(64)
    find(first, "blockXSlider", SnapSlider).setValue(8)
    first.commands.live_at_start.setChecked(False)
    first.close()
    second = open_window()
    until(qtbot, lambda: second.session.experiment.devices is not None)
    assert second.session.experiment.knobs.size == {"N": 64}
    assert find(second, "blockXSlider", SnapSlider).value() == 8
    assert not second.session.live
    assert not find(second, "liveButton", QToolButton).isChecked()
    assert not second.commands.undo.isEnabled(), "knobs that this window never had are no step"


def test_help_opens_every_page(window: MainWindow) -> None:
    window.commands.help.trigger()
    help_window = window.dialogs.help
    assert help_window is not None
    for row in range(help_window.list.count()):
        help_window.list.setCurrentRow(row)
        assert len(help_window.browser.toPlainText()) > 400
    help_window.close()


def test_a_span_and_a_logarithmic_axis_can_be_chosen(qtbot: QtBot, window: MainWindow) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(64)
    wait_measured(qtbot, window, 50)
    window.timing.set_span(0.0)
    low, high = window.timing.x_range()
    assert low == 0.0
    assert high >= window.session.live_model.end_s
    for _ in range(2):
        before = window.timing.plot.log
        window.timing.log_button.click()
        assert window.timing.plot.log is not before
        top = window.timing.plot.box.viewRange()[1][1]
        assert (top < 0) is window.timing.plot.log  # a logarithm of less than a second


def test_heavy_libraries_stay_out_of_the_window_process(config_dir: Path) -> None:
    script = (
        "import sys\n"
        "from gpuexplorer.gui.app import create\n"
        "application, window = create([])\n"
        "window.first_paint.connect(application.quit)\n"
        "application.exec()\n"
        "heavy = {'torch', 'cupy', 'pyopencl', 'matplotlib', 'sqlalchemy', 'pynvml'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("words", [[], ["gpuexplorer"], ["--threads", "1"]])
def test_create_takes_arguments_with_and_without_a_name(
    open_window: OpenWindow, words: list[str]
) -> None:
    window = open_window(*words)
    assert window.isVisible()
    assert window.session.options.threads == (1 if "--threads" in words else None)


@pytest.mark.skipif(usable_cores() < 2, reason="there is one core to choose")
def test_another_number_of_cpu_threads_is_measured_copied_and_remembered(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window("--threads", "1")
    find(window, "sizeSlider", SnapSlider).setValue(64)
    first = wait_measured(qtbot, window)
    assert first.config.threads == 1
    menu = find(window, "threadsMenu", QMenu)
    names = [action.text() for action in menu.actions()]
    assert f"{default_threads()} (default)" in names
    assert len(names) == len(window.engine.thread_choices)
    assert [a.text() for a in menu.actions() if a.isChecked()] == [names[0]]
    assert all("twofold" in action.toolTip() for action in menu.actions())
    every = usable_cores()
    window.commands.threads[every].trigger()
    until(qtbot, lambda: (run := measured(window)) is not None and run.ticket != first.ticket)
    run = measured(window)
    assert run is not None
    assert run.config.threads == every
    assert run.label.endswith(f"{every} threads")
    assert window.commands.threads[every].isChecked()
    assert not window.commands.threads[1].isChecked()
    window.commands.copy_command.trigger()
    assert f"--threads {every}" in QApplication.clipboard().text()
    assert Settings().threads == every
    row = window.session.history.find(first.ticket)
    assert row is not None
    window.panels.history.acts.restore_asked.emit(window.session.history[row].config)
    until(qtbot, lambda: (run := measured(window)) is not None and run.config.threads == 1)
    assert window.commands.threads[1].isChecked()


def test_a_run_with_other_threads_is_restored_beside_a_job_without_them(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window("--threads", "1")
    find(window, "sizeSlider", SnapSlider).setValue(64)
    config = msgspec.structs.replace(
        wait_measured(qtbot, window).config, block=(8, 8, 1), threads=usable_cores()
    )
    session, pid = window.session, window.session.worker.engine_pid
    session.set_live(False)
    cancelled: list[str] = []
    job: Any = SimpleNamespace(
        doing="sweeping", waits_for_others=False, wait=lambda: None,
        cancel=lambda: cancelled.append("sweeping"),
    )  # fmt: skip
    session.jobs.current = job
    restored = partial(window.panels.history.acts.restore_asked.emit, config)
    advised = partial(window.apply, Change(block=(4, 8, 1), threads=config.threads))
    for take, block in ((restored, (8, 8, 1)), (advised, (4, 8, 1))):
        take()
        assert session.experiment.knobs.block == block
        assert (window.engine.threads, cancelled) == (1, [])
        session.notice.emit(None)  # as Live says when it begins a run beside a paused job
        assert "The number of CPU threads stays as it is" in window.banner.text
        assert "busy sweeping" in window.banner.text
        window.banner.dismiss()
    session.jobs.current = None
    restored()
    assert window.engine.threads == config.threads and not window.banner.text
    until(qtbot, lambda: session.worker.engine_pid not in (None, pid))


@pytest.mark.parametrize(
    ("cores", "present", "choices"),
    [
        (1, 1, [1]),
        (4, 3, [1, 2, 3, 4]),
        (2, 6, [1, 2, 6]),
        (48, 47, [1, 2, 4, 8, 16, 32, 47, 48]),
        (64, 5, [1, 2, 4, 5, 8, 16, 32, 63, 64]),
    ],
)
def test_every_core_can_be_chosen_and_a_long_list_is_thinned(
    cores: int, present: int, choices: list[int]
) -> None:
    assert thread_choices(cores, present) == choices


def test_no_words_move_the_window(qtbot: QtBot, window: MainWindow) -> None:
    """Words that change while a run goes on leave every widget where it is."""
    wait_measured(qtbot, window)
    window.session.set_live(False)
    until(qtbot, lambda: not window.session.live)
    QApplication.processEvents()
    for label in (find(window, "rateLabel"), find(window, "activityLabel")):
        assert window.status.rect().contains(label.geometry()), "cut off in the status bar"
    places = {w: w.geometry() for w in (window, window.timing.plot, window.traffic.plot)}
    labels = window.findChildren(Words)
    assert {"timingNote", "trafficNote", "telemetrySource", "activityLabel", "rateLabel"} <= {
        label.objectName() for label in labels
    }
    for label in labels:
        label.setText("a sentence that is far too long for this place, " * 20)
        assert label.text().startswith("a sentence")
    QApplication.processEvents()
    assert {w: w.geometry() for w in places} == places


def test_a_long_title_of_a_tunable_widens_no_knob(qtbot: QtBot, window: MainWindow) -> None:
    window.session.experiment.set_variant("tiled")
    QApplication.processEvents()
    panel = window.experiment_panel
    content = panel.widget()
    assert content is not None
    assert content.minimumSizeHint().width() <= panel.viewport().width()
    slider = find(window, "sizeSlider", SnapSlider)
    assert slider.mapTo(panel.viewport(), slider.rect().topRight()).x() < panel.viewport().width()
