"""The trace as it is painted: lines and columns, pauses, the distribution, the crosshair."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.units import count
from gpuexplorer.gui.model.live import Live
from gpuexplorer.gui.model.trace import COARSEST, Floats, Trace
from gpuexplorer.gui.plots.timing import TimingPlot
from gpuexplorer.gui.theme import blend, make_theme, theme
from tests.gui.driver import move_pointer, until

SECONDS = 10.0


def config(variant: str) -> RunConfig:
    return RunConfig(
        workload="matmul", variant=variant, size={"N": 64}, device="opencl:0", precision="fp32"
    )


@pytest.fixture
def live() -> Live:
    live = Live()
    live.begin(1, config("naive"))
    return live


@pytest.fixture
def plot(qtbot: QtBot, qapp: QApplication, live: Live) -> TimingPlot:
    make_theme(qapp, "light")
    plot = TimingPlot(live)
    qtbot.addWidget(plot)
    plot.resize(900, 400)
    plot.show()
    qtbot.waitExposed(plot)
    return plot


def measure(live: Live, plot: TimingPlot, durations: Floats, after: float = 0.0) -> None:
    times = after + np.linspace(0, SECONDS, len(durations), endpoint=False)
    live.add(times, durations, [])
    plot.follow()


def shown(plot: TimingPlot, low: float, high: float) -> None:
    plot._let_go()
    plot.plot.box.setXRange(low, high, padding=0)
    plot.refresh()
    plot.refresh_slow()


def point_at(plot: TimingPlot, time_s: float, value_s: float) -> None:
    view = plot.plot
    at = view.box.mapViewToScene(QPointF(time_s, view.scaled_one(value_s)))
    viewport = view.viewport()
    move_pointer(viewport, view.mapFromScene(at))


def words(plot: TimingPlot) -> str:
    return " | ".join(text.words for text in plot.crosshair.texts.texts)


def test_one_launch_is_one(live: Live, plot: TimingPlot) -> None:
    measure(live, plot, np.array([1e-3]))
    plot.refresh()
    assert plot._note.text() == "1 sample"
    measure(live, plot, np.array([1e-3]), after=SECONDS)
    plot.refresh()
    assert plot._note.text() == "2 samples"


def test_few_launches_are_a_line_and_many_are_columns_with_their_median(
    plot: TimingPlot, live: Live
) -> None:
    measure(live, plot, np.full(100, 1e-3))
    assert plot._trace.columns == []
    assert [len(y) for _, y in plot._trace.lines] == [100]
    noisy = np.random.default_rng(1).uniform(1e-3, 2e-3, 200_000)
    noisy[::100] = 50e-3
    measure(live, plot, noisy, SECONDS)
    [columns] = plot._trace.columns
    assert 150 < columns.edges.shape[1] < 4 * plot.width()
    most, middle_most, *_ = columns.heights
    assert most.max() == 50e-3
    assert np.median(middle_most) < 2e-3, "a rare launch is no part of the middle nine tenths"
    [(_, medians)] = [line for line in plot._trace.lines if len(line[0]) > 1]
    assert np.max(np.abs(medians[1:] - 1.5e-3)) < 0.5e-3


def test_columns_are_pale_to_their_ends_and_dark_in_their_middle(
    plot: TimingPlot, live: Live
) -> None:
    durations = np.random.default_rng(1).uniform(1e-3, 2e-3, 50_000)
    durations[::50] = 3e-3
    measure(live, plot, durations)
    measure(live, plot, durations, 3 * SECONDS)
    shown(plot, 0.0, 50.0)
    plot.plot.set_y(0.0, 4e-3)
    image = plot.plot.grab().toImage()

    def colour(time_s: float, value_s: float) -> str:
        at = plot.plot.mapFromScene(plot.plot.box.mapViewToScene(QPointF(time_s, value_s)))
        return str(image.pixelColor(at).name())

    chart = theme().chart
    main, ground = chart.palette[0], chart.panel
    pale, dark = blend(main, ground, 0.2), blend(main, ground, 0.55)
    for time_s in (3.0, 5.0, 33.0, 35.0):
        found = [colour(time_s, value_s) for value_s in (3.6e-3, 2.7e-3, 1.8e-3, 1.2e-3, 0.6e-3)]
        assert found == [c.lower() for c in (ground, pale, dark, dark, ground)]
        middle = [colour(time_s, v) for v in np.linspace(1.3e-3, 1.7e-3, 100)]
        assert main.lower() in middle, "the line of the medians lies on the column"
    assert colour(20.0, 1.8e-3) == ground.lower(), "a pause is empty"


def test_a_pause_is_a_gap(plot: TimingPlot, live: Live) -> None:
    measure(live, plot, np.full(100, 1e-3))
    measure(live, plot, np.full(100, 1e-3), 3 * SECONDS)
    shown(plot, 0.0, 50.0)
    (before, _), (after, _) = plot._trace.lines
    assert before[-1] < SECONDS < 3 * SECONDS <= after[0]


def test_the_distribution_is_that_of_what_is_shown(plot: TimingPlot, live: Live) -> None:
    measure(live, plot, np.repeat([1e-3, 2e-3], 500))

    def most() -> list[float]:
        edges, lengths = plot.side._bars._edges, plot.side._bars._lengths
        middles = (edges[1:] + edges[:-1]) / 2
        return [float(middles[i]) for i in np.flatnonzero(lengths > 20)]

    both = most()
    assert len(both) == 2
    shown(plot, 0.0, 4.0)
    (only,) = most()
    assert only == pytest.approx(1e-3, rel=0.1)
    shown(plot, 6.0, 9.0)
    (only,) = most()
    assert only == pytest.approx(2e-3, rel=0.1)


def test_one_spike_does_not_flatten_the_rest(plot: TimingPlot, live: Live) -> None:
    durations = np.random.default_rng(1).uniform(1e-3, 1.1e-3, 150)
    durations[70] = 1.0
    measure(live, plot, durations)
    _, high = plot.plot.box.viewRange()[1]
    assert high < 3e-3
    assert "1 of the latest 150 lie above the range" in plot._note.text()


def test_the_crosshair_reads_the_launch_under_the_pointer(
    plot: TimingPlot, live: Live, qtbot: QtBot
) -> None:
    measure(live, plot, np.linspace(1e-3, 2e-3, 100))
    point_at(plot, 5.05, 1.5e-3)
    assert "sample at 5.00 s: 1.51 ms" in words(plot)
    assert words(plot).startswith("1.5")
    point_at(plot, -3.0, 1.5e-3)
    assert "sample" not in words(plot)
    many = np.full(100_000, 1e-3)
    many[::2] = 3e-3
    measure(live, plot, many, SECONDS)
    shown(plot, 10.0, 20.0)
    point_at(plot, 15.0, 1.5e-3)
    assert "samples from 15" in words(plot)
    assert "1.00 ms to 3.00 ms, median 2.00 ms" in words(plot)
    plot.plot.left.emit()
    assert words(plot) == ""
    assert not plot.crosshair._upright.isVisible()


def test_a_column_of_a_long_run_is_said_with_its_own_launches(plot: TimingPlot, live: Live) -> None:
    assert live.current is not None
    live.current.trace = Trace(4 * COARSEST)
    for begin_s in np.arange(0.0, 100.0, 10.0):
        measure(live, plot, np.full(COARSEST, 2e-3), begin_s)
    plot.set_span(0.0)
    most = count(COARSEST)
    assert f"a column is 64 to {most} samples: all of them" in plot._note.text()
    point_at(plot, 15.0, 2e-3)
    assert f"{most} samples from 10.0 s" in words(plot)
    point_at(plot, 95.0, 2e-3)
    assert "64 samples from 9" in words(plot) and most not in words(plot)
    shown(plot, 92.0, 98.0)
    assert "a column is 16 samples: all of them" in plot._note.text()
    shown(plot, 95.0, 95.2)
    assert "a column is" not in plot._note.text()
    shown(plot, 59.0, 60.5)
    assert f"a column is 1 to {most} samples" in plot._note.text()
    point_at(plot, 60.3, 2e-3)
    assert "sample at 60.3 s" in words(plot)
    point_at(plot, 59.5, 2e-3)
    assert f"{most} samples from 50.0 s" in words(plot)


def test_the_crosshair_names_the_configuration_before(plot: TimingPlot, live: Live) -> None:
    measure(live, plot, np.full(100, 1e-3))
    live.begin(2, config("tiled"))
    measure(live, plot, np.full(100, 2e-3), 2 * SECONDS)
    shown(plot, 0.0, 40.0)
    point_at(plot, 3.0, 1.5e-3)
    assert words(plot).endswith("1.00 ms") and "sample" in words(plot)
    assert live.past[0].label in words(plot)


def test_the_legend_leaves_out_what_there_is_no_room_for(plot: TimingPlot, qtbot: QtBot) -> None:
    entries = list(plot._legend.values())
    assert all(entry.isVisible() for entry in entries)
    plot.resize(480, 300)
    until(qtbot, lambda: not entries[-1].isVisible())
    assert entries[0].isVisible()
    assert plot.minimumSizeHint().width() < 400
    plot.resize(900, 300)
    until(qtbot, lambda: all(entry.isVisible() for entry in entries))
    ends = [entry.geometry() for entry in entries]
    assert all(a.right() < b.left() for a, b in itertools.pairwise(ends))


def test_an_axis_covers_its_plot_whatever_its_size(plot: TimingPlot, qtbot: QtBot) -> None:
    axis = plot.plot.y_axis

    def covered() -> tuple[float, float]:
        bounds = axis.mapRectToScene(axis.boundingRect())
        return bounds.width(), bounds.height()

    before = covered()
    for width, height in ((1200, 700), (600, 300), (900, 400)):
        plot.resize(width, height)
        until(qtbot, lambda w=width: plot.width() == w)  # type: ignore[misc]
        view = plot.plot.box.sceneBoundingRect()
        wide, high = covered()
        assert wide >= view.width() + axis.width() - 1, "its grid lies on the plot"
        assert high > view.height(), "the words at its ends reach beyond it"
    assert covered() == before
