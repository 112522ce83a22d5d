"""A plot with nothing in it says what fills it; a logarithmic axis always has two figures."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtGui import QPainter, QPicture
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, series
from gpuexplorer.core.config import RunConfig
from gpuexplorer.gui.model.live import Live
from gpuexplorer.gui.plots.base import LOG_REACH, UNDER_WAY, Plot
from gpuexplorer.gui.plots.timing import NOTHING_TIMED, TimingPlot
from gpuexplorer.gui.plots.traffic import NOT_KNOWN, NOTHING_MOVED, TrafficPlot
from gpuexplorer.gui.show.chart import ChartView
from gpuexplorer.gui.theme import make_theme
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until, wait_measured

CONFIG = RunConfig(
    workload="matmul", variant="naive", size={"N": 64}, device="opencl:0", precision="fp32"
)


@pytest.fixture(autouse=True)
def colours(qapp: QApplication) -> None:
    make_theme(qapp, "light")


def words_at(plot: Plot) -> tuple[list[str], list[str]]:
    """Return the words that are painted at the axes along and upright."""
    painted = []
    for axis in (plot.x_axis, plot.y_axis):
        picture = QPicture()
        painter = QPainter(picture)  # as the axis does
        painter.setFont(axis.font())
        _, _, texts = axis.generateDrawSpecs(painter)
        painter.end()
        painted.append([words for _, _, words in texts])
    return painted[0], painted[1]


def test_empty_plots_say_what_fills_them(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    window.session.live_at_start = False
    window.show()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    panels = window.panels
    live = (panels.timing.plot, panels.traffic.plot)
    for plot in live:
        assert "Live, or Space" in plot.empty_words
        assert words_at(plot) == ([], [])
    panels.places.show_view(panels.roofline)
    until(qtbot, lambda: bool(panels.roofline.plot.panels))
    roofline = panels.roofline.plot.panels[0].plot
    assert "Calibrate" in roofline.empty_words
    window.session.set_live(True)
    wait_measured(qtbot, window)
    until(qtbot, lambda: roofline.empty_words == "")
    panels.places.show_view(panels.places.views[0])
    until(qtbot, lambda: all(plot.empty_words == "" for plot in live))
    assert all(words_at(plot)[1] for plot in live)


def test_until_a_first_launch_is_over_nobody_is_told_to_measure(qtbot: QtBot) -> None:
    live = Live()
    timing = TimingPlot(live)
    traffic = TrafficPlot(live, timing.plot)

    def told() -> set[str]:
        timing.show_state()
        traffic.show_state()
        return {timing.plot.empty_words, traffic.plot.empty_words}

    for widget in (timing, traffic):
        qtbot.addWidget(widget)
    assert told() == {NOTHING_TIMED, NOTHING_MOVED}
    run = live.begin(1, CONFIG)
    assert told() == {UNDER_WAY}
    run.over = True
    assert told() == {NOTHING_TIMED, NOTHING_MOVED}
    run.over = False
    live.add(np.array([0.0]), np.array([1e-3]), [])
    timing.show_answer()
    assert timing.plot.empty_words == ""
    traffic.refresh()
    assert traffic.plot.empty_words == NOT_KNOWN


def test_a_launch_that_was_given_up_is_not_under_way(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    session, plots = window.session, (window.timing, window.traffic)
    session.live_at_start = False
    window.show()
    until(qtbot, lambda: session.experiment.devices is not None)
    run = session.live_model.begin(1, CONFIG)
    session.say("compiling")
    assert {one.plot.empty_words for one in plots} == {UNDER_WAY}
    run.over = True
    session.give_up("waiting for your word")
    assert {one.plot.empty_words for one in plots} == {NOTHING_TIMED, NOTHING_MOVED}


@pytest.mark.parametrize("size", [(280, 130), (700, 300), (1900, 900)])
@pytest.mark.parametrize("decades", [0.011, 0.1, 0.4, 0.9, 1.3, 2.6, 9.0])
def test_a_logarithmic_axis_has_two_figures_at_every_size_and_zoom(
    qtbot: QtBot, size: tuple[int, int], decades: float
) -> None:
    axis = Axis(label="rate", unit="FLOP/s", scale="log", low=1e6, high=1e16)
    panel = Panel(
        x=axis, y=axis, series=(series("a", "line", "model", x=[1e7, 1e15], y=[1e7, 1e15]),)
    )
    view = ChartView("chart", "A chart")
    qtbot.addWidget(view)
    view.resize(*size)
    view.show_chart(ChartSpec(title="", rows=((panel,),)))
    view.show()
    qtbot.waitExposed(view)
    QApplication.processEvents()
    plot = view.panels[0].plot
    for low in np.linspace(7.0, 7.97, 5).tolist():
        plot.box.setRange(xRange=(low, low + decades), yRange=(low, low + decades), padding=0)
        for words in words_at(plot):
            assert len(set(words)) >= 2, (words, low)


@pytest.mark.parametrize("factor", [1.05, 1.3, 3.0, 20.0, 1e4])
def test_the_trace_has_two_figures_on_its_logarithmic_axis(qtbot: QtBot, factor: float) -> None:
    plot = Plot("s")
    qtbot.addWidget(plot)
    plot.resize(400, 90)
    plot.set_log(True)
    plot.show()
    qtbot.waitExposed(plot)
    QApplication.processEvents()
    for low in (1.03e-5, 2.2e-4, 7.7e-2):
        plot.set_y(low, factor * low)
        assert len(set(words_at(plot)[1])) >= 2
    plot.box.scaleBy(y=1e9)  # the wheel, turned for long: nothing takes less than 1 ps
    low, high = plot.box.viewRange()[1]
    assert LOG_REACH[0] <= low < high <= LOG_REACH[1]
    assert not any(word.startswith("0 ") for word in words_at(plot)[1])
