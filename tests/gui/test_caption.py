"""Every result names what it was measured with, and is dim once the knobs have moved on."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QToolButton
from pytestqt.qtbot import QtBot

from gpuexplorer.charts.build import run_chart
from gpuexplorer.charts.words import config_words
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.widgets.caption import CaptionLine, Veil
from gpuexplorer.workloads.workload import Workload
from tests.gui.driver import find, until, wait_measured


def small_naive(qtbot: QtBot, window: MainWindow) -> None:
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.experiment.set_size("N", 64)


def veiled(line: CaptionLine) -> bool:
    """Whether what a line is the caption of is dim."""
    return any(not veil.isHidden() for veil in line._veils)


def click_back(window: MainWindow, name: str) -> None:
    QApplication.processEvents()
    button = find(window, f"{name}CaptionBack", QToolButton)
    assert button.isVisible()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def edit_matmul(window: MainWindow) -> Workload:
    """Have another source of the matrix product, as an edit or a reload does; return the last."""
    experiment = window.session.experiment
    last = experiment.workloads["matmul"]
    files = {name: f"{text}\n// edited\n" for name, text in last.source.files.items()}
    other = Workload(msgspec.structs.replace(last.source, files=files))
    experiment.set_workloads({**experiment.workloads, "matmul": other})
    return last


def take_back(window: MainWindow, workload: Workload) -> None:
    experiment = window.session.experiment
    experiment.set_workloads({**experiment.workloads, workload.name: workload})


SOURCE = "Measured with another source of matmul than the present one"


def test_headline_and_plots_name_their_run_and_dim_once_the_knobs_have_moved_on(
    qtbot: QtBot, window: MainWindow
) -> None:
    small_naive(qtbot, window)
    run = wait_measured(qtbot, window)
    words = config_words(run.config)
    lines = window.panels.caption, window.insight.caption
    until(qtbot, lambda: all(line.words.text() == words for line in lines))
    assert run.record is not None
    assert run_chart(run.record.result()).subtitle.splitlines()[0] == words, "as a picture says it"
    assert not any(veiled(line) for line in lines)

    window.session.set_live(False)
    window.session.experiment.set_size("N", 128)
    until(qtbot, lambda: all(line.moved for line in lines))
    assert all(veiled(line) for line in lines)
    said = find(window, "liveCaptionWords", QLabel).text()
    assert "N = 64; the knobs now say N = 128" in said
    assert "N = 64" in find(window, "headlineCaptionWords", QLabel).text()

    click_back(window, "live")
    assert window.session.experiment.knobs.size == {"N": 64}
    assert not any(line.moved or veiled(line) for line in lines)
    assert find(window, "liveCaptionWords", QLabel).text() == words


def test_headline_and_plots_are_dim_once_the_source_is_another(
    qtbot: QtBot, window: MainWindow
) -> None:
    small_naive(qtbot, window)
    run = wait_measured(qtbot, window)
    window.session.set_live(False)
    lines = window.panels.caption, window.insight.caption
    until(qtbot, lambda: all(line.words.text() == config_words(run.config) for line in lines))
    before = edit_matmul(window)
    until(qtbot, lambda: all(line.words.text() == SOURCE for line in lines))
    assert all(line.moved and veiled(line) for line in lines)
    assert not find(window, "liveCaptionBack", QToolButton).isVisible(), "no knob has moved"
    window.session.experiment.set_size("N", 128)
    until(qtbot, lambda: "the knobs now say N = 128" in lines[0].words.text())
    click_back(window, "live")
    take_back(window, before)
    until(qtbot, lambda: not any(line.moved or veiled(line) for line in lines))


def test_a_knob_whose_answer_comes_at_once_dims_nothing(qtbot: QtBot, window: MainWindow) -> None:
    small_naive(qtbot, window)
    wait_measured(qtbot, window)
    line = window.panels.caption
    line.follow(None)
    assert not line.moved and not veiled(line), "it waits a moment"
    line.follow(window.session.config)
    assert not line._settle.isActive(), "nothing will come of it"
    assert not line.moved and not veiled(line)


def test_a_sweep_names_what_its_runs_share_and_dims_once_the_knobs_have_moved_on(
    qtbot: QtBot, window: MainWindow
) -> None:
    small_naive(qtbot, window)
    wait_measured(qtbot, window)
    window.panels.places.show_view(window.panels.sweep)
    view = window.panels.sweep.sweeping
    assert view is not None
    view.form.samples.setValue(3)
    until(qtbot, lambda: view.preview is not None)
    view.start()
    until(qtbot, lambda: view.model.state == "done", 120_000)
    line = view.result.caption
    until(qtbot, lambda: "matmul · naive" in line.words.text())
    assert "block" not in line.words.text(), "which is what the sweep varies"
    chart = view.model.held
    assert chart is not None and not veiled(line)
    found = view.model.snapshot()
    assert found is not None
    assert found.chart(view._chosen_figure).subtitle.splitlines()[0] == line.words.text()

    window.session.experiment.set_block((8, 4, 1))
    window.session.experiment.set_precision("fp64")
    until(qtbot, lambda: line.moved)
    assert veiled(line) and "fp32; the knobs now say fp64" in line.words.text()
    click_back(window, "sweep")
    assert window.session.experiment.knobs.precision == "fp32"
    until(qtbot, lambda: not line.moved and not veiled(line))

    before = edit_matmul(window)
    until(qtbot, lambda: line.words.text() == SOURCE)
    assert veiled(line) and not find(window, "sweepCaptionBack", QToolButton).isVisible()
    take_back(window, before)
    until(qtbot, lambda: not line.moved and not veiled(line))


def test_what_is_dim_stays_covered_as_it_grows(qtbot: QtBot, window: MainWindow) -> None:
    small_naive(qtbot, window)
    wait_measured(qtbot, window)
    window.session.set_live(False)
    window.session.experiment.set_size("N", 128)
    until(qtbot, lambda: window.panels.caption.moved)
    plots = window.panels.plots
    (veil,) = window.panels.caption._veils
    assert isinstance(veil, Veil) and veil.geometry() == plots.geometry()
    window.resize(window.width() + 120, window.height() + 60)
    until(qtbot, lambda: veil.geometry() == plots.geometry())
    assert veil.testAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
