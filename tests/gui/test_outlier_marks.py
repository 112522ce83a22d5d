"""Outliers are ringed on the trace, the longest first, and cost little."""

from __future__ import annotations

import time

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpuexplorer.core.series.examine import examine
from gpuexplorer.gui.model.live import Live
from gpuexplorer.gui.model.trace import Drawing
from gpuexplorer.gui.plots.base import Plot
from gpuexplorer.gui.plots.outliers import MOST, OutlierMarks
from gpuexplorer.gui.plots.timing import TimingPlot
from gpuexplorer.gui.theme import make_theme
from tests.support.prepared import prepared
from tests.support.synthetic import rng


@pytest.fixture
def marks(qapp: QApplication, qtbot: QtBot) -> OutlierMarks:
    make_theme(qapp, "light")
    plot = Plot("s")
    qtbot.addWidget(plot)
    plot.set_y(0.0, 2.0)
    made = OutlierMarks(plot)
    made.repaint_theme()
    made.plot = plot  # type: ignore[attr-defined]  # kept alive with the marks
    return made


def points(marks: OutlierMarks) -> tuple[list[float], list[float]]:
    ringed = marks._rings.points
    return [x for x, _ in ringed], [y for _, y in ringed]


def test_what_lies_above_is_ringed_and_what_leaves_the_range_at_its_edge(
    marks: OutlierMarks,
) -> None:
    drawing = Drawing(np.arange(4.0), np.array([1.0, 1.5, 1.0, 30.0]), 1)
    marks.draw(drawing, 1.2)
    x, y = points(marks)
    assert x == [1.0, 3.0]
    assert y[0] == 1.5
    assert 1.9 < y[1] < 2.0
    marks.draw(drawing, None)
    assert marks.shown == 0
    assert points(marks)[0] == []


def test_only_the_longest_are_ringed_when_there_are_many(marks: OutlierMarks) -> None:
    y = np.linspace(1.0, 2.0, 5000)
    marks.draw(Drawing(np.arange(5000.0), y, 1), 1.1)
    assert marks.shown == MOST
    assert min(points(marks)[0]) == 5000 - MOST


def test_no_rings_where_many_columns_of_many_launches_reach_so_far(marks: OutlierMarks) -> None:
    y = np.tile([1.0, 9.0], 100)
    marks.draw(Drawing(np.repeat(np.arange(100.0), 2), y, 64), 2.0)
    assert marks.shown == 0
    marks.draw(Drawing(np.repeat(np.arange(100.0), 2), np.where(np.arange(200) > 150, y, 1), 64), 2)
    assert marks.shown == 25


def test_rings_are_drawn_in_well_under_a_frame(marks: OutlierMarks) -> None:
    drawing = Drawing(np.arange(4000.0), rng(1).random(4000) + 0.5, 4)
    marks.draw(drawing, 1.0)
    started = time.process_time()
    for _ in range(20):
        marks.draw(drawing, 1.0)
    assert (time.process_time() - started) / 20 < 0.005


def test_the_timing_plot_rings_and_counts_them(qapp: QApplication, qtbot: QtBot) -> None:
    make_theme(qapp, "light")
    live = Live()
    plot = TimingPlot(live)
    qtbot.addWidget(plot)
    plot.resize(800, 400)
    run = live.begin(1, prepared().config)
    series = rng(2).normal(1e-3, 1e-5, 500)
    series[[100, 300]] = 3e-3, 9e-3
    live.add(np.cumsum(series), series, [])
    live.summarize(examine(series))
    plot.refresh()
    plot.refresh_slow()
    assert run.summary is not None
    assert plot.outliers.shown == 2
    assert ": 2, ringed" in plot._note.text()
