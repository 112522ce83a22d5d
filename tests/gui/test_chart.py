"""Any chart on screen: axes, marks that are pointed at and clicked, zoom, updates, themes."""

from __future__ import annotations

import time
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.charts.comparison import comparison_chart
from gpuexplorer.charts.spec import Annotation, Axis, ChartSpec, Kind, Panel, Role, Series, series
from gpuexplorer.charts.style import STROKES
from gpuexplorer.gui import typeface
from gpuexplorer.gui.show.chart import ChartView
from gpuexplorer.gui.show.panel import PanelView, axis_range
from gpuexplorer.gui.theme import make_theme, theme
from gpuexplorer.gui.views.result_page import Picture, ResultPage
from gpuexplorer.results.comparison import sheet_of
from tests.gui.driver import move_pointer, until
from tests.gui.looks import settle
from tests.support.exchange import made_comparison

TIME = Axis(label="time", unit="s")
LOG = Axis(label="rate", unit="B/s", scale="log", low=1e6, high=1e9)
NAMES = Axis(label="", categories=("first", "second", "third"))


@pytest.fixture(autouse=True)
def colours(qapp: QApplication) -> None:
    make_theme(qapp, "light").choose("light")


def chart(*panels: Panel) -> ChartSpec:
    return ChartSpec(title="a chart", rows=tuple((panel,) for panel in panels))


def points(keys: str = "abc", y: float = 1.0, role: Role = "measured") -> Series:
    n = len(keys)
    return series("run", "points", role, x=range(1, n + 1), y=[y * i for i in range(1, n + 1)],
                  keys=tuple(keys))  # fmt: skip


def shown(qtbot: QtBot, spec: ChartSpec, width: int = 640, height: int = 420) -> ChartView:
    view = ChartView("chart", "A chart", lambda key: f"mark {key}")
    qtbot.addWidget(view)
    view.resize(width, height)
    view.show_chart(spec)
    view.show()
    qtbot.waitExposed(view)
    QApplication.processEvents()
    return view


def place(view: ChartView, key: str) -> tuple[QWidget, QPoint]:
    return view.place_of(key) or pytest.fail(f"{key} is not drawn")


def ticks(view: PanelView, which: str) -> list[str]:
    axis = getattr(view.plot, f"{which}_axis")
    low, high = view.plot.box.viewRange()["xy".index(which)]
    levels = axis.tickValues(low, high, 300)
    return [words for spacing, values in levels for words in axis.tickStrings(values, 1.0, spacing)]


EVERY: dict[Kind, Series] = {
    "line": series("s", "line", "measured", x=[1, 2, 3], y=[1, 2, 3]),
    "points": points(),
    "step": series("s", "step", "measured", x=[1, 2, 3], y=[1, 2, 3]),
    "histogram": series("s", "histogram", "measured", x=[1, 2, 3], y=[1, 2]),
    "stems": series("s", "stems", "requested", x=[1, 2], y=[3, 2], labels=("three", "two")),
    "hline": series("s", "hline", "ceiling", y=[2]),
    "vline": series("s", "vline", "ceiling", x=[2]),
    "band": series("s", "band", "measured", x=[1, 2, 3], y=[1, 1, 1, 2, 2, 3]),
    "outline": series("s", "outline", "ceiling", x=[1], y=[1]),
    "spans": series("s", "spans", "measured", x=[1, 2], y=[1, 2], z=[1, 1], labels=("", "")),
}


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_every_kind_of_series_paints_in_its_colour(qtbot: QtBot, kind: Kind, scale: str) -> None:
    axis = Axis(label="x", scale=scale, low=0.5, high=4)  # type: ignore[arg-type]
    upright = Axis(label="y", low=0.5, high=4) if kind in ("spans", "outline") else axis
    view = shown(qtbot, chart(Panel(x=axis, y=upright)))
    before = view.panels[0].plot.grab().toImage()
    view.show_chart(chart(Panel(x=axis, y=upright, series=(EVERY[kind],))))
    after = view.panels[0].plot.grab().toImage()
    assert changed(before, after) > 10
    assert view.panels[0].head.words == ["s" if kind != "points" else "run"]


def changed(one: QImage, other: QImage) -> int:
    """Return how many pixels differ."""
    return int((pixels(one) != pixels(other)).any(axis=2).sum())


def pixels(image: QImage) -> npt.NDArray[np.uint8]:
    made = image.convertToFormat(QImage.Format.Format_RGB32)
    return np.frombuffer(made.constBits(), np.uint8).reshape(made.height(), made.width(), 4).copy()


def test_axes_carry_quantities_categories_or_the_ticks_they_are_given(qtbot: QtBot) -> None:
    line = series("", "line", "measured", x=[0, 1], y=[1e6, 1e9])
    sizes = Axis(label="N", scale="log", low=8, high=600, ticks=(8, 16, 512))
    narrow = Axis(label="ratio", scale="log", low=0.9, high=1.1)
    view = shown(
        qtbot,
        chart(
            Panel(x=TIME, y=LOG, series=(line,)), Panel(x=sizes, y=NAMES), Panel(x=narrow, y=NAMES)
        ),
        height=900,
    )
    first, second, third = view.panels
    assert "500 ms" in ticks(first, "x")
    assert {"1 MB/s", "1 GB/s"} <= set(ticks(first, "y"))
    assert ticks(second, "x") == ["8", "16", "512"]
    assert ticks(second, "y") == ["first", "second", "third"]
    assert second.plot.box.yInverted(), "the first name stands at the top"
    assert {"0.9", "1", "1.1"} <= set(ticks(third, "x"))


def test_words_at_ticks_never_run_into_each_other(qtbot: QtBot) -> None:
    many = Axis(label="N", categories=tuple(f"configuration {i}" for i in range(60)))
    view = shown(qtbot, chart(Panel(x=many, y=TIME)))
    assert 1 < len(ticks(view.panels[0], "x")) < 8
    assert ticks(view.panels[0], "x")[0] == "configuration 0"


def test_an_axis_without_a_range_holds_everything() -> None:
    low, high = axis_range(TIME, np.array([2.0, 4.0, np.nan]))
    assert low < 2 and high > 4
    low, high = axis_range(LOG, np.array([1e8]))
    assert (low, high) == (6, 9)
    assert axis_range(TIME, np.empty(0)) != (0, 0)


def test_a_mark_says_what_it_is_rings_and_is_chosen(qtbot: QtBot) -> None:
    view = shown(qtbot, chart(Panel(x=TIME, y=TIME, series=(points(),))))
    assert view.keys == ["a", "b", "c"]
    pointed: list[object] = []
    chosen: list[str] = []
    view.hovered.connect(pointed.append)
    view.chosen.connect(chosen.append)
    viewport, at = place(view, "b")
    before = viewport.grab().toImage()
    move_pointer(viewport, at)
    until(qtbot, lambda: pointed == ["b"])
    assert changed(before, viewport.grab().toImage()) > 20, "it is ringed"
    QApplication.sendEvent(viewport, QHelpEvent(QEvent.Type.ToolTip, at, viewport.mapToGlobal(at)))
    assert QToolTip.text() == "mark b"
    QToolTip.hideText()
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    until(qtbot, lambda: chosen == ["b"])
    move_pointer(viewport, at + QPoint(90, 0))
    until(qtbot, lambda: pointed[-1] is None)
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at + QPoint(90, 0))
    assert chosen == ["b"]
    assert "mark a; mark b" in view.spoken()


def test_what_is_measured_now_is_ringed_until_something_else_is(qtbot: QtBot) -> None:
    view = shown(qtbot, chart(Panel(x=TIME, y=TIME, series=(points(),))))
    plain = view.grab().toImage()
    view.set_current("c")
    assert changed(plain, view.grab().toImage()) > 20
    view.set_current(None)
    assert changed(plain, view.grab().toImage()) == 0


def test_a_row_of_names_belongs_to_its_mark(qtbot: QtBot) -> None:
    stems = series(
        "", "stems", "measured", x=[0, 1, 2], y=[1, 2, 3], sideways=True, keys=("a", "b", "c")
    )
    view = shown(qtbot, chart(Panel(x=TIME, y=NAMES, series=(stems,))))
    chosen: list[str] = []
    view.chosen.connect(chosen.append)
    viewport, at = place(view, "c")
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=QPoint(at.x() // 2, at.y()))
    until(qtbot, lambda: chosen == ["c"])


def heat(columns: int, rows: int, missing: float = np.nan) -> Panel:
    """Return a heat map whose last cell has no value."""
    places = list(product(range(columns), range(rows)))
    z = [1.0 + x + y for x, y in places[:-1]] + [missing]
    return Panel(
        x=Axis(label="x", categories=tuple(map(str, range(columns)))),
        y=Axis(label="y", categories=tuple(map(str, range(rows)))),
        z=Axis(label="rate", unit="B/s", low=1.0, high=float(columns + rows)),
        series=(
            series(
                "", "heat", "measured", x=[x for x, _ in places], y=[y for _, y in places], z=z,
                labels=tuple(f"{v:g}" for v in z), keys=tuple(f"{x},{y}" for x, y in places),
            ),
        ),
    )  # fmt: skip


def test_cells_are_coloured_by_value_and_those_without_are_hatched(qtbot: QtBot) -> None:
    view = shown(qtbot, chart(heat(3, 3)))

    def colour(key: str) -> QColor:
        viewport, at = place(view, key)
        return QColor(viewport.grab().toImage().pixel(at + QPoint(18, 18)))

    assert colour("0,0").lightness() < colour("1,1").lightness() < colour("2,1").lightness()
    assert view.panels[0].scale.isVisible()

    def shades() -> int:
        """Return how many colours the cell without a value has, beside its words."""
        viewport, at = place(view, "2,2")
        image = viewport.grab(QRect(at + QPoint(12, 12), QSize(12, 12))).toImage()
        return len({image.pixel(x, y) for x in range(12) for y in range(12)})

    assert shades() > 1
    view.show_chart(chart(heat(3, 3, np.inf)))
    assert shades() == 1, "one still to come is not hatched"
    viewport, at = place(view, "2,2")
    pointed: list[object] = []
    view.hovered.connect(pointed.append)
    move_pointer(viewport, at)
    until(qtbot, lambda: pointed == ["2,2"])


def test_new_values_change_what_is_there_and_keep_the_zoom(qtbot: QtBot) -> None:
    def made(y: float) -> ChartSpec:
        line = series("", "line", "measured", x=[1, 2], y=[y, 2 * y])
        return chart(Panel(x=TIME, y=TIME, series=(line, points(y=y))))

    view = shown(qtbot, made(1.0))
    (panel,) = view.panels
    items = list(panel.plot.area.items)
    panel.plot.box.setRange(xRange=(1.5, 2.5), yRange=(1, 2), padding=0)
    panel.plot.box.sigRangeChangedManually.emit((True, True))
    view.show_chart(made(1.5))
    assert view.panels == [panel] and list(panel.plot.area.items) == items
    assert panel.plot.box.viewRange()[0] == pytest.approx([1.5, 2.5])
    assert ticks(panel, "x")[0] == "1.6 s", "the axis moves with what is shown"
    centre = QPointF(panel.plot.viewport().rect().center()).toPoint()
    QTest.mouseDClick(panel.plot.viewport(), Qt.MouseButton.LeftButton, pos=centre)
    assert panel.plot.box.viewRange()[0][0] < 1
    panel.plot.box.sigRangeChangedManually.emit((True, True))
    other = Panel(x=Axis(label="N"), y=TIME, series=(points("abcdef"),))
    view.show_chart(chart(other))
    assert panel.plot.box.viewRange()[0][1] > 6, "other axes are shown whole"
    assert view.keys == list("abcdef")


def test_the_axis_follows_a_range_that_grows(qtbot: QtBot) -> None:
    def made(high: float) -> ChartSpec:
        return chart(Panel(x=Axis(label="number", low=0, high=high), y=TIME, series=(points(),)))

    view = shown(qtbot, made(10))
    view.show_chart(made(1000))
    (low, high), axis = view.panels[0].plot.box.viewRange()[0], view.panels[0].plot.x_axis
    assert (low, high) == (0, 1000)
    assert list(axis.range) == [0, 1000]


def test_an_axis_may_become_logarithmic_over_another_range(qtbot: QtBot) -> None:
    """What was visible of a linear axis would be more than any number as a logarithm."""
    named = series("", "points", "measured", x=[1e15], y=[1e15], labels=("far",))
    wide = Axis(label="x", low=0, high=1e15)
    view = shown(qtbot, chart(Panel(x=wide, y=wide, series=(named,))))
    view.show_chart(chart(Panel(x=LOG, y=LOG, series=(named,))))
    view.show_chart(chart(Panel(x=wide, y=wide, series=(named,))))
    assert view.panels[0].words() == ["far"]


def test_zooming_out_ends_before_nothing_is_to_be_seen(qtbot: QtBot) -> None:
    line = series("", "line", "measured", x=[1, 2], y=[1e6, 1e9])
    view = shown(qtbot, chart(Panel(x=TIME, y=LOG, series=(line,))))
    box = view.panels[0].plot.box
    box.scaleBy((1e6, 1e6))
    (left, right), (low, high) = box.viewRange()
    assert right - left < 10 and high - low <= 9.001


def test_words_stand_beside_their_points_inside_the_panel(qtbot: QtBot) -> None:
    named = series(
        "", "points", "measured", x=[1, 2, 3], y=[1, 1, 1], labels=("one", "two", "three")
    )
    note = Annotation(text="a note", x=2, y=1.5)
    panel = Panel(x=TIME, y=Axis(label="", low=0, high=2), series=(named,), annotations=(note,))
    view = shown(qtbot, chart(panel))
    assert view.panels[0].words() == ["a note", "one", "two", "three"]


def test_words_right_of_bars_have_room_at_every_width(qtbot: QtBot) -> None:
    bar = series("saved", "spans", "measured", x=[0], y=[0], z=[2], labels=("",))
    words = "2.00× faster than the one before"
    panel = Panel(
        x=Axis(label="time", unit="s", low=0, high=2.1), y=NAMES, series=(bar,),
        annotations=(Annotation(text=words, x=2, y=0),),
    )  # fmt: skip
    view = shown(qtbot, chart(panel), width=900)
    plot = view.panels[0].plot
    for width in (900, 500):
        view.resize(width, 420)
        QApplication.processEvents()
        right = plot.box.viewRange()[0][1]
        room = (right - 2) / right * plot.box.width()
        assert room >= QFontMetricsF(typeface.small(plot.font())).horizontalAdvance(words)


def test_words_of_level_intervals_have_room_at_every_width(qtbot: QtBot) -> None:
    words = "2.00× faster (1.96–2.04)"
    mark = series("", "points", "model", x=[0.5], y=[0], low=[0.12], high=[0.9], sideways=True,
                  labels=(words,))  # fmt: skip
    ratios = Axis(label="ratio", scale="log", low=0.1, high=1.0)
    view = shown(qtbot, chart(Panel(x=ratios, y=NAMES, series=(mark,))), width=900)
    panel = view.panels[0]
    for width in (900, 420, 900):
        view.resize(width, 420)
        QApplication.processEvents()
        (text,) = panel._texts.texts
        (left, right), room = panel.plot.box.viewRange()[0], panel.plot.box.width()
        begins = (text.x - left) / (right - left) * room
        wide = QFontMetricsF(typeface.small(panel.plot.font())).horizontalAdvance(words)
        assert text.words == words and begins >= 0 and begins + wide <= room, width
        assert begins > (np.log10(0.9) - left) / (right - left) * room, "beside, not upon it"


def test_a_legend_stands_beside_the_title_where_both_have_room(qtbot: QtBot) -> None:
    panel = Panel(title="From the baseline", x=TIME, y=LOG, series=(points(),))
    view = shown(qtbot, chart(panel))
    head = view.panels[0].head
    lines = [head.height_for(width) for width in (640, 150)]
    assert lines[1] - lines[0] == head.height_for(640) - 4


def test_intervals_are_drawn_where_there_are_any(qtbot: QtBot) -> None:
    def made(half: float) -> ChartSpec:
        one = series("", "points", "measured", x=[1, 2], y=[2, 2], low=[2 - half, np.nan],
                     high=[2 + half, np.nan])  # fmt: skip
        return chart(Panel(x=TIME, y=Axis(label="", low=0, high=4), series=(one,)))

    view = shown(qtbot, made(0.0))
    before = view.grab().toImage()
    view.show_chart(made(1.5))
    assert changed(before, view.grab().toImage()) > 100


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_takes_the_themes_colours(qtbot: QtBot, scheme: Literal["light", "dark"]) -> None:
    view = shown(qtbot, chart(Panel(x=TIME, y=TIME, series=(points(),))))
    theme().choose("dark" if scheme == "light" else "light")
    theme().choose(scheme)
    image = view.panels[0].plot.viewport().grab().toImage()
    assert QColor(image.pixel(image.width() - 4, 4)).name() == theme().chart.panel
    wanted = QColor(theme().chart.palette[0])
    colour = np.array([wanted.blue(), wanted.green(), wanted.red()])
    assert (pixels(image)[:, :, :3] == colour).all(axis=2).sum() > 20


def test_roles_have_the_dashes_of_files(qtbot: QtBot) -> None:
    roles: tuple[Role, ...] = ("requested", "ceiling", "transfer")
    for role in roles:
        line = series("s", "line", role, x=[1, 2], y=[1, 2])
        view = shown(qtbot, chart(Panel(x=TIME, y=TIME, series=(line,))))
        (curve,) = [i for i in view.panels[0].plot.area.items if hasattr(i, "yData")]
        assert curve.opts["pen"].dashPattern() == pytest.approx(STROKES[role].dash)


def test_panels_stand_side_by_side_as_far_as_there_is_room(qtbot: QtBot) -> None:
    row = tuple(Panel(title=str(i), x=TIME, y=TIME, series=(points(),)) for i in range(3))
    view = shown(qtbot, ChartSpec(title="", rows=(row,)), 900)
    assert len({panel.y() for panel in view.panels}) == 1
    assert view.legend.words == ["run"] and not view.panels[0].head.words, "one legend for all"
    view.resize(200, 420)
    assert len({panel.y() for panel in view.panels}) == 3
    assert view.verticalScrollBar().maximum() > 0, "what has no room is scrolled to"
    for panel in view.panels:
        assert panel.height() >= panel.least_px


def test_a_panel_may_share_the_upright_axis_of_its_neighbour(qtbot: QtBot) -> None:
    level = Axis(label="time", unit="s", low=1.0, high=2.0)
    both = (Panel(x=TIME, y=level), Panel(x=TIME, y=level, share_y=True))
    view = shown(qtbot, ChartSpec(title="", rows=(both,)))
    left, right = view.panels
    assert any(ticks(left, "y")) and not any(ticks(right, "y"))
    QApplication.processEvents()  # both are laid out
    left.plot.box.setYRange(1.2, 1.4, padding=0)
    assert right.plot.box.viewRange()[1] == pytest.approx([1.2, 1.4], abs=1e-3)


@pytest.mark.alone
def test_two_thousand_cells_are_drawn_anew_within_a_tenth_of_a_second(qtbot: QtBot) -> None:
    view = shown(qtbot, chart(heat(50, 40)), 900, 600)
    took = []
    for i in range(5):
        panel = heat(50, 40, float(i + 1))
        began = time.perf_counter()
        view.show_chart(chart(panel))
        view.panels[0].plot.viewport().repaint()
        took.append(time.perf_counter() - began)
    assert min(took) < 0.1


def test_words_at_an_axis_are_drawn_anew_at_another_size(qtbot: QtBot) -> None:
    names = Panel(x=TIME, y=NAMES, series=(points(),))
    view = shown(qtbot, chart(names), 640, 150)
    view.resize(300, 600)
    qtbot.waitUntil(lambda: view.size() == QSize(300, 600))
    QApplication.processEvents()
    resized = view.grab().toImage()
    for panel in view.findChildren(PanelView):
        panel.plot.y_axis.update()
    assert resized == view.grab().toImage()


def test_a_finding_of_a_result_is_whole_in_a_low_window(qtbot: QtBot, qapp: QApplication) -> None:
    make_theme(qapp, "light")
    page = ResultPage("study", "Study", "study", lambda _: "", lambda: None)
    qtbot.addWidget(page)
    said = "Fastest within the tolerance: bf16, 2.09× faster (1.43–3.62) than fp32, error 3.7e-03"
    sheet = sheet_of(made_comparison())
    page.show_picture(Picture(sheet, comparison_chart(made_comparison()), said, None))
    page.show()
    for size in ((500, 400), (300, 300)):
        page.resize(*size)
        settle()
        lines = page.finding.fitting().split("\n")
        assert " ".join(lines) == said and len(lines) > 1
        assert page.finding.height() >= len(lines) * page.finding.fontMetrics().height()


def test_a_panel_makes_no_widgets_that_nobody_sees(qtbot: QtBot) -> None:
    # pyqtgraph's own plots have a menu of some sixty: a chart of a dozen panels took 14 MiB.
    shown(qtbot, chart(Panel(x=TIME, y=TIME, series=(points(),))))
    before = set(QApplication.allWidgets())
    panel = PanelView()
    qtbot.addWidget(panel)
    assert len(set(QApplication.allWidgets()) - before) < 20
