"""Sweeps in the window: the space from the knobs, the chart that fits, the way through, files."""

from __future__ import annotations

import csv
import json
import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE
from gpuexplorer.charts.spec import ChartSpec, Panel, Series
from gpuexplorer.charts.sweep_points import FIGURES
from gpuexplorer.cli.parser import parse
from gpuexplorer.cli.sweep import measuring_of
from gpuexplorer.cli.sweep import space_of as space_of_options
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.knobs import values_text
from gpuexplorer.core.ranges import whole_numbers
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.core.sheet import Medium, Sheet
from gpuexplorer.core.sweep import read_sweep
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.model.sweep import (
    NOT_REACHED,
    HeldSweep,
    SweepModel,
    cell_words,
    decode,
    encode,
)
from gpuexplorer.gui.model.sweep_axes import (
    axis_of,
    first_choice,
    offers,
    read_error,
    space_of,
)
from gpuexplorer.gui.model.sweep_preview import Reasons, sweep_command
from gpuexplorer.gui.panels.result_tab import sweep_files
from gpuexplorer.gui.show.table import SheetTable
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.gui.views.sweep import ANEW, SweepView
from gpuexplorer.history.store import Query, Store
from gpuexplorer.results.sweep import SweepRows
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.outcome import SweepCell, cells_of
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.workloads.loader import load
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, move_pointer, until, wait_measured
from tests.support.prepared import prepared

WORKLOADS = load()
DEVICES = DeviceList(
    devices=(
        DeviceInfo(
            id="opencl:0", hardware_id="cpu:x", name="X", backend="opencl", kind="cpu", driver="1",
            compute_units=2, precisions=("fp32", "fp64", "fp16"), features=("opencl",), threads=1,
            runs_kernels=True,
        ),
    )
)  # fmt: skip


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a history of its own."""
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "data"))


@pytest.fixture
def experiment() -> Experiment:
    return Experiment(WORKLOADS, DEVICES)


def result_of(cell: SweepCell, median_s: float) -> RunResult:
    """Return a result for a cell, whose launches all took the same time."""
    ready = prepared()
    assert cell.point.config is not None
    record = RunRecord(msgspec.structs.replace(ready, config=cell.point.config))
    seconds = np.full(12, median_s).astype("<f8").tobytes()
    starts = tuple(int(i * 1e8) for i in range(12))
    record.add(SampleBatch(seconds=seconds, counts=(1,) * 12, starts_ns=starts))
    record.end("samples")
    return record.result()


def swept(space: Space, measured: int | None = None) -> HeldSweep:
    """Return a sweep of which so many cells are measured, the later the faster."""
    workload = WORKLOADS[space.base.workload]
    cells = cells_of(space.points(workload, DEVICES))
    waiting = [i for i, cell in enumerate(cells) if cell.waiting]
    for number, index in enumerate(waiting[:measured]):
        cells[index] = cells[index].measured(result_of(cells[index], 1e-3 / (1 + number)))
    return HeldSweep(space, workload, tuple(cells), Measuring(), None, workload.manifest.title)


def block_space(experiment: Experiment) -> Space:
    return space_of(experiment, {"block.x": "1:64:*2", "block.y": "1,2,4,64"})


# ---- what may vary


def test_every_offer_gives_values_and_the_first_choice_is_the_block(experiment: Experiment) -> None:
    names = [offer.name for offer in offers(experiment)]
    assert names[:3] == ["size.N", "block.x", "block.y"]
    assert {"precision", "variant", "fill", "cache"} <= set(names)
    assert first_choice(experiment) == ("block.x", "block.y")
    for offer in offers(experiment):
        assert read_error(offer.text, offer.name) is None
        assert len(axis_of(offer.name, offer.text).values) > 1


def test_tunables_of_the_variant_are_offered_and_libraries_have_no_block(
    experiment: Experiment,
) -> None:
    experiment.set_variant("tiled")
    tunables = [o.name for o in offers(experiment) if o.name.startswith("tunable.")]
    free = [n for n, t in experiment.variant.tunables.items() if t.formula is None]
    assert tunables == [
        f"tunable.{n}" for n in free if len(experiment.variant.tunables[n].values) > 1
    ]
    experiment.set_variant("numpy")
    assert not any(o.name.startswith("block") for o in offers(experiment))
    assert first_choice(experiment) == ("size.N",)


@pytest.mark.parametrize(
    ("name", "text"),
    [("size.N", "64:"), ("block.x", "1:256:*1"), ("block", "16"), ("block", "axb"), ("fill", "")],
)
def test_what_is_no_value_is_told_with_the_axis(name: str, text: str) -> None:
    error = read_error(text, name)
    if (name, text) == ("block", "16"):  # one dimension is a block, too
        assert error is None
    else:
        assert error is not None and Axis(name, ()).title in error


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=9, unique=True))
def test_numbers_are_written_so_that_they_read_the_same(values: list[int]) -> None:
    assert whole_numbers(values_text(values)) == tuple(values)


@pytest.mark.parametrize(
    ("values", "text"),
    [((1, 2, 4, 8, 16), "1:16:*2"), ((16, 32, 48, 64), "16:64:+16"), ((1, 2, 3, 4), "1:4"),
     ((2, 4, 8), "2,4,8")],
)  # fmt: skip
def test_ranges_are_said_shortly(values: tuple[int, ...], text: str) -> None:
    assert values_text(values) == text


CHOICES: list[dict[str, str]] = [
    {"block.x": "1:64:*2", "block.y": "1,2,4"},
    {"size.N": "64:512:*2", "variant": "naive,tiled,numpy"},
    {"block": "8x8,16x16,32x4", "precision": "fp32,fp64"},
    {"fill": "normal,zeros", "cache": "hot,cold"},
    {"block.x": "8,16,32"},
]


@pytest.mark.parametrize("chosen", CHOICES)
def test_the_copied_command_asks_for_the_same_configurations(
    experiment: Experiment, chosen: dict[str, str]
) -> None:
    space = space_of(experiment, chosen)
    folder = Path("my kernels")
    command = sweep_command(space, Measuring(samples=12), [folder], threads=2, engine="other's")
    options = parse(_words(command))
    assert (options.kernels, options.python, options.threads) == ([folder], "other's", (2,))
    options.threads = ()
    again = space_of_options(options, experiment.workload.manifest)
    assert measuring_of(options).samples == 12
    keys = [
        sorted(p.config.key for p in s.points(experiment.workload, DEVICES) if p.config)
        for s in (space, again)
    ]
    assert keys[0] == keys[1] and keys[0]


def _words(command: str) -> list[str]:
    words = shlex.split(command)
    assert words[0] == "gpuexplorer"
    return words[1:]


def test_a_tuned_variant_s_command_names_its_tunables(experiment: Experiment) -> None:
    experiment.set_variant("tiled")
    name = next(n for n, t in experiment.variant.tunables.items() if t.formula is None)
    values = experiment.variant.tunables[name].values
    space = space_of(experiment, {f"tunable.{name}": ",".join(map(str, values))})
    options = parse(_words(sweep_command(space, Measuring())))
    again = space_of_options(options, experiment.workload.manifest)
    assert again.by_name[f"tunable.{name}"].values == tuple(values)


# ---- the chart that fits


def panels_of(chart: ChartSpec) -> list[Panel]:
    return [panel for row in chart.rows for panel in row]


def marks_of(chart: ChartSpec) -> dict[int, tuple[float, Series]]:
    """Return the value of each cell's mark, by the cell's number."""
    found: dict[int, tuple[float, Series]] = {}
    for panel in panels_of(chart):
        for one in panel.series:
            values = one.z if one.kind == "heat" else one.y
            found |= {int(k): (v, one) for k, v in zip(one.keys, values.tolist(), strict=False)}
    return found


@pytest.mark.parametrize("chosen", CHOICES)
def test_a_mark_of_the_chart_is_the_cell_of_its_number(
    experiment: Experiment, chosen: dict[str, str]
) -> None:
    held = swept(space_of(experiment, chosen))
    marks = marks_of(held.chart("time"))
    measured = {i for i, cell in enumerate(held.cells) if cell.result is not None}
    assert {i for i, (value, _) in marks.items() if math.isfinite(value)} == measured
    for i in measured:
        assert marks[i][0] == held.cells[i].median_s


def test_a_heat_map_has_every_cell_and_tells_the_best(experiment: Experiment) -> None:
    held = swept(block_space(experiment), 9)
    chart = held.chart("time")
    values = {i: value for i, (value, _) in marks_of(chart).items()}
    assert sorted(values) == list(range(len(held.cells)))
    assert sum(map(math.isfinite, values.values())) == 9
    skipped = {i for i, cell in enumerate(held.cells) if cell.skipped is not None}
    assert {i for i, value in values.items() if math.isnan(value)} == skipped != set()
    assert {i for i, value in values.items() if math.isinf(value)} == {
        i for i, cell in enumerate(held.cells) if cell.waiting
    }
    assert held.best is not None and held.cells[held.best].median_s == 1e-3 / 9
    (panel,) = panels_of(held.chart("best"))
    assert panel.z is not None and panel.z.high == pytest.approx(100)
    assert (panel.z.unit, panel.z.scale) == ("%", "linear")


def test_lines_over_sizes_are_logarithmic_and_name_their_second_axis(
    experiment: Experiment,
) -> None:
    space = space_of(experiment, {"size.N": "64:1024:*2", "precision": "fp32,fp64"})
    held = swept(space)
    (panel,) = panels_of(held.chart("flops"))
    assert (panel.x.scale, panel.y.scale) == ("log", "log")
    lines = [one for one in panel.series if one.kind == "line"]
    assert [one.name for one in lines] == ["fp32", "fp64"]
    assert held.best is None, "other sizes are other problems"
    for line in lines:
        assert line.x.tolist() == [64, 128, 256, 512, 1024]


def test_nothing_measured_yet_is_a_chart_too(experiment: Experiment) -> None:
    for chosen in CHOICES:
        held = swept(space_of(experiment, chosen), 0)
        assert panels_of(held.chart("time")) and held.best is None


def test_panels_and_colours_stay_while_a_sweep_goes_on(experiment: Experiment) -> None:
    space = space_of(experiment, {"size.N": "64:256:*2", "precision": "fp32,fp64"})
    done = swept(space)
    last = max(i for i, cell in enumerate(done.cells) if cell.result is not None)
    begun = msgspec.structs.replace(
        done,
        cells=tuple(
            cell if i == last else SweepCell(cell.point) for i, cell in enumerate(done.cells)
        ),
    )
    value, first = marks_of(begun.chart("time"))[last]
    assert (value, first.colour) == (done.cells[last].median_s, 1)
    assert panels_of(begun.chart("time"))[0].x == panels_of(done.chart("time"))[0].x


def test_the_file_shows_the_figure_that_the_screen_shows(experiment: Experiment) -> None:
    held = swept(block_space(experiment))
    for figure in FIGURES:
        assert sweep_files(held.to_document, "s", figure).chart().rows == held.chart(figure).rows


def test_words_say_why_a_cell_has_no_figure(experiment: Experiment) -> None:
    held = swept(block_space(experiment), 1)
    skipped = next(c for c in held.cells if c.skipped is not None)
    waiting = next(c for c in held.cells if c.waiting)
    assert "cannot run" in cell_words(skipped) and str(skipped.skipped) in cell_words(skipped)
    assert "not measured yet" in cell_words(waiting)
    reasons = Reasons()
    for words in (c.skipped for c in held.cells if c.skipped is not None):
        reasons.add(words)
    ((reason, number),) = reasons.grouped()
    assert number == sum(c.skipped is not None for c in held.cells) and "threads" in reason


def test_what_was_lost_with_its_engine_is_told_apart_and_can_be_gone_on_with(
    experiment: Experiment,
) -> None:
    held = swept(block_space(experiment))
    model = SweepModel()
    model.begin(held.space, WORKLOADS["matmul"], held.cells, held.measuring)
    index = next(i for i, cell in enumerate(held.cells) if cell.result is not None)
    cannot = sum(cell.skipped is not None for cell in held.cells)
    model.take([(index, held.cells[index].skip("the engine was killed", "lost"))], None, "")
    model.end()
    assert (model.state, model.unfinished, model.waiting) == ("stopped", 1, 0)
    assert f"{cannot} cannot run, 1 lost with the engine" in model.words
    model.take([(index, held.cells[index].skip("it ran out of memory", "short"))], None, "")
    model.end()
    assert (model.state, model.unfinished, model.waiting) == ("stopped", 1, 0)
    assert f"{cannot} cannot run, 1 short of memory" in model.words
    model.take([(index, held.cells[index])], None, "")
    model.end()
    assert model.state == "done" and "lost" not in model.words


# ---- the table


def table_of(held: HeldSweep) -> Sheet:
    """Return the table that the window shows of a sweep."""
    rows = SweepRows(held.space.values)
    return rows.sheet(c.result or c.skipped for c in held.cells)


def numbers(table: SheetTable) -> list[int]:
    return [int(row.key) for row in table.shown.rows]


def test_the_table_sorts_by_figure_with_those_without_one_last(
    qtbot: QtBot, qapp: QApplication, experiment: Experiment
) -> None:
    held = swept(block_space(experiment), 5)
    make_theme(qapp, "light")
    table = SheetTable("sweepTable", "Configurations")
    qtbot.addWidget(table)
    table.show_sheet(table_of(held))
    titles = [column.title for column in table.shown.columns]
    assert titles == ["x", "y", "median", "± 95 %", "throughput", "bandwidth", "result"]
    table.sortByColumn(titles.index("median"), Qt.SortOrder.AscendingOrder)
    medians = [held.cells[i].median_s for i in numbers(table)]
    assert medians[:5] == sorted(m for m in medians[:5] if m is not None)
    assert medians[5] is None
    table.sortByColumn(titles.index("throughput"), Qt.SortOrder.DescendingOrder)
    assert [held.cells[i].median_s for i in numbers(table)][:5] == medians[:5]
    table.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
    assert numbers(table) == list(range(len(held.cells)))


def test_a_table_of_a_sweep_that_goes_on_keeps_what_did_not_change(experiment: Experiment) -> None:
    held = swept(block_space(experiment), 3)
    rows = SweepRows(held.space.values)
    cells = list(held.cells)

    def sheet() -> Sheet:
        return rows.sheet(c.result or c.skipped for c in cells)

    first = sheet()
    index = next(i for i, cell in enumerate(cells) if cell.waiting)
    assert first.texts(first.rows[index], Medium.WINDOW)[-1] == "waiting"
    cells[index] = cells[index].measured(result_of(cells[index], 2e-3))
    then = sheet()
    assert [i for i, row in enumerate(then.rows) if row is not first.rows[i]] == [index]
    assert then.texts(then.rows[index], Medium.WINDOW)[2] == "2.00 ms"


# ---- in files


def test_a_sweep_comes_back_from_its_document(experiment: Experiment) -> None:
    held = swept(block_space(experiment), 7)
    back = decode(encode(held), "bench.gpux")
    assert back.space.axes == held.space.axes and back.origin == "bench.gpux"
    for mine, theirs in zip(held.cells, back.cells, strict=True):
        assert mine.point.number == theirs.point.number and mine.result == theirs.result
        assert theirs.skipped == (NOT_REACHED if mine.waiting else mine.skipped)
    assert encode(back) == encode(back)
    model = SweepModel()
    model.show(back)
    assert model.state == "file" and "bench.gpux" in model.words


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_hostile_sweep_is_read_whole_or_refused(data: st.DataObject) -> None:
    document = json.loads(_document())
    for _ in range(data.draw(st.integers(1, 3))):
        spot: Any = document
        while True:
            keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(spot[key], (dict, list)) and spot[key] and data.draw(st.booleans()):
                spot = spot[key]
                continue
            spot[key] = data.draw(
                st.none() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text()
                | st.just([]) | st.just({}) | st.just([[1, 2], [3]]) | st.just("<b>x</b>")
            )  # fmt: skip
            break
    try:
        held = decode(json.dumps(document).encode(), "x.gpux")
    except InputError as error:
        said = str(error)
    else:
        said = "read"
        for figure in FIGURES:
            held.chart(figure)
        assert len(held.cells) == held.space.count
    assert said


_documents: list[bytes] = []


def _document() -> bytes:
    if not _documents:
        _documents.append(encode(swept(block_space(Experiment(WORKLOADS, DEVICES)), 4)))
    return _documents[0]


@pytest.mark.parametrize("suffix", ["csv", "json", "svg"])
def test_a_sweep_is_exported(experiment: Experiment, tmp_path: Path, suffix: str) -> None:
    held = swept(block_space(experiment), 6)
    path = tmp_path / f"sweep.{suffix}"
    sweep_files(held.to_document, "sweep").write(path, suffix, "light")
    if suffix == "csv":
        rows = list(csv.DictReader(path.read_text().splitlines()))
        assert sum(bool(row["median_s"]) for row in rows) == 6
        assert sum(bool(row["skipped"]) for row in rows) == sum(
            c.skipped is not None for c in held.cells
        )
    elif suffix == "json":
        assert len(read_sweep(path.read_bytes()).measured) == 6
    else:
        assert "<svg" in path.read_text() and "threads in x" in path.read_text()


def test_there_is_nothing_to_export_before_something_is_measured(
    experiment: Experiment, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="nothing of the sweep"):
        found = sweep_files(swept(block_space(experiment), 0).to_document, "s")
        found.write(tmp_path / "x.svg", "svg", "light")
    with pytest.raises(InputError, match="cannot tell a format"):
        found = sweep_files(swept(block_space(experiment), 3).to_document, "s")
        found.write(tmp_path / "x.odt", "odt", "light")
    assert not list(tmp_path.iterdir())


# ---- in the window


def opened(qtbot: QtBot, window: MainWindow) -> SweepView:
    """Return the Sweep tab of a window that measures, opened by its button."""
    window.session.experiment.set_size("N", 32)
    wait_measured(qtbot, window, 5)
    window.panels.places.show_view(window.panels.sweep)
    until(qtbot, lambda: window.panels.sweep.sweeping is not None)
    view = window.panels.sweep.sweeping
    assert view is not None
    until(qtbot, lambda: bool(view.form.rows))
    return view


def ask(qtbot: QtBot, view: SweepView, samples: int = 3, **texts: str) -> None:
    """Ask for a space by texts; names have __ for a dot."""
    wanted = {name.replace("__", "."): text for name, text in texts.items()}
    view.form.samples.setValue(samples)
    for name, row in view.form.rows.items():
        row.tick.setChecked(name in wanted)
        if name in wanted:
            row.text.setText(wanted[name])
            row.text.textEdited.emit(wanted[name])
    until(qtbot, lambda: view.preview is not None and view.head.start.isEnabled())


def finished(view: SweepView) -> Callable[[], bool]:
    return lambda: view.model.state == "done" and view._session.jobs.current is None


def test_a_sweep_runs_and_live_goes_on_afterwards(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    view = opened(qtbot, window)
    ask(qtbot, view, block__x="1:64:*2", block__y="1,64")
    total = find(window, "sweepTotal", QLabel).text()
    assert total.startswith("14 configurations, 2 cannot run")
    assert "2 ×" in find(window, "sweepReasons", QLabel).text()
    assert find(window, "sweepEstimate", QLabel).text().startswith("Takes about")
    view.start()
    until(qtbot, lambda: view.model.state == "running")
    assert not window.session.live and view.head.pause.isVisible()
    until(qtbot, finished(view))
    until(qtbot, lambda: window.session.live)
    wait_measured(qtbot, window, 5)
    assert view.model.words.startswith("12 measured, 2 cannot run")
    last = view.model.snapshot()
    assert last is not None
    until(qtbot, lambda: view.result.chart.spec == last.chart(view._chosen_figure))
    assert "Fastest: " in view.result.finding.text()
    assert view.result.chart.keys == [str(i) for i in range(14)]
    assert len(view.result.table.shown.rows) == 14
    with Store.open() as store:
        (group,) = store.groups("sweep")
        assert group.finished and store.count(Query(group=group.id)) == 12


def test_clicking_a_point_puts_the_knobs_there(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    view = opened(qtbot, window)
    ask(qtbot, view, block__x="4,8", block__y="1,2")
    view.start()
    until(qtbot, finished(view))
    until(qtbot, lambda: "Fastest: " in view.result.finding.text())
    view.grab()
    index = next(
        i for i, c in enumerate(view.model.cells) if c.point.values == {"block.x": 8, "block.y": 2}
    )
    viewport, at = view.result.chart.place_of(str(index)) or pytest.fail("the cell is not drawn")
    move_pointer(viewport, at)
    until(qtbot, lambda: view._pointed is not None)
    assert find(window, "sweepWords", QLabel).text().startswith("block 8×2: ")
    assert view.result.table.key == str(index), "the row of what is pointed at is chosen"
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    assert window.session.experiment.knobs.block == (8, 2, 1)
    row = next(r for r, other in enumerate(numbers(view.result.table)) if other != index)
    view.result.table.activated.emit(view.result.table.shown.index(row, 0))
    assert window.session.experiment.knobs.block != (8, 2, 1)

    window.resize(1280, 800)
    QApplication.processEvents()
    assert view.form.isVisible() and view.result.isVisible() and not view.choices.isVisible()
    window.resize(1000, 650)  # too narrow for both
    QApplication.processEvents()
    assert view.result.isVisible() and not view.form.isVisible()
    QTest.mouseClick(view.choices, Qt.MouseButton.LeftButton)
    assert view.form.isVisible() and not view.result.isVisible()
    QTest.mouseClick(view.choices, Qt.MouseButton.LeftButton)
    assert view.result.isVisible() and view.head.start.isVisible()


def test_a_sweep_is_paused_cancelled_and_continued_without_measuring_twice(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    view = opened(qtbot, window)
    ask(qtbot, view, samples=200, block__x="1:32:*2", block__y="1,2,4,8", precision="fp32,fp64")
    view.start()
    until(qtbot, lambda: view.model.state == "running" and measured(view) >= 2)
    view.pause()
    until(qtbot, lambda: window.session.live)
    wait_measured(qtbot, window, 5)
    assert view.model.words.startswith("Paused at ") and view.head.pause.text() == "Continue"
    at_pause = measured(view)
    view.pause()
    until(qtbot, lambda: measured(view) > at_pause or view.model.state == "done")
    view.head.stop.click()
    until(qtbot, lambda: window.session.jobs.current is None)
    assert view.model.state == "stopped" and view.head.pause.isVisible()
    kept = {c.result.id for c in view.model.cells if c.result is not None}
    assert kept and view.model.waiting
    view.pause()
    until(qtbot, finished(view))
    assert kept <= {c.result.id for c in view.model.cells if c.result is not None}
    with Store.open() as store:
        groups = store.groups("sweep")
        assert [g.runs for g in groups if g.finished] == [48]


def stopped_early(qtbot: QtBot, window: MainWindow) -> SweepView:
    """Return the Sweep tab after a sweep of 24 that was stopped once it had measured some."""
    view = opened(qtbot, window)
    ask(qtbot, view, samples=200, block__x="1:32:*2", block__y="1,2,4,8")
    view.start()
    until(qtbot, lambda: view.model.state == "running" and measured(view) >= 2)
    view.head.stop.click()
    until(qtbot, lambda: window.session.jobs.current is None)
    assert view.model.state == "stopped" and view.model.waiting
    return view


def test_a_sweep_is_continued_with_the_threads_that_the_engine_has_now(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    view = stopped_early(qtbot, window)
    threads = next(n for n in window.commands.threads if n != window.engine.threads)
    window.commands.threads[threads].trigger()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    until(qtbot, view.head.pause.isVisible)
    said: list[str] = []
    view.notice.connect(lambda notice: said.append(notice.text))
    view.pause()
    until(qtbot, finished(view))
    assert said == [ANEW]
    assert {c.result.config.threads for c in view.model.cells if c.result} == {threads}
    assert measured(view) == 24 and view.model.resumed == 0
    with Store.open() as store:
        anew, before = store.groups("sweep")
        assert (anew.finished, anew.runs, before.finished) == (True, 24, False)


def test_what_was_measured_counts_only_where_hardware_driver_and_threads_are_the_same(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    view = stopped_early(qtbot, window)
    experiment, cells = window.session.experiment, tuple(view.model.cells)
    there = experiment.devices
    assert there is not None
    for change in ({}, {"driver": "another"}, {"hardware_id": "cpu:another"}):
        found = tuple(msgspec.structs.replace(one, **change) for one in there.devices)
        experiment.set_devices(DeviceList(devices=found), experiment.host)
        rest = view.rest()
        assert rest is not None and rest.devices is experiment.devices
        assert rest.before == (() if change else cells)


def test_nothing_starts_between_the_end_of_an_engine_and_the_devices_of_the_next(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    view = stopped_early(qtbot, window)
    experiment = window.session.experiment
    for looking in (False, True):
        until(qtbot, lambda: view.wanted() is not None)
        if looking:
            view.look_soon()
        assert view.head.start.isEnabled() and view.head.pause.isVisible()
        window.session.restart(window.session.options)
        assert view.wanted() is None and view.rest() is None
        assert not view.head.start.isEnabled() and not view.head.pause.isVisible()
        until(qtbot, view.head.start.isEnabled)
        wanted = view.wanted()
        assert wanted is not None and wanted.devices is experiment.devices


def fail_to_begin(qtbot: QtBot, view: SweepView) -> None:
    """Begin a sweep of which nothing can run, and wait until it has ended."""
    wanted = view.wanted()
    assert wanted is not None
    view.begin(msgspec.structs.replace(wanted, devices=DeviceList()))
    assert view.running
    until(qtbot, lambda: not view.running)


def test_a_sweep_that_did_not_begin_is_not_told_with_the_result_of_the_one_before(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    view = opened(qtbot, window)
    said: list[str] = []
    view.message.connect(said.append)
    ask(qtbot, view, block__x="1,2", block__y="1,2")
    view.start()
    until(qtbot, finished(view))
    assert said == ["Sweep: 4 measured"]
    until(qtbot, lambda: view.wanted() is not None)
    fail_to_begin(qtbot, view)
    assert "No device here can run work" in window.banner.text
    assert said == ["Sweep: 4 measured"] and view.model.state == "done"


def test_what_continue_measures_is_not_changed_by_a_sweep_that_did_not_begin(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    view = stopped_early(qtbot, open_window())
    cells = tuple(view.model.cells)
    until(qtbot, lambda: view.wanted() is not None)
    fail_to_begin(qtbot, view)
    rest = view.rest()
    assert rest is not None and rest.before == cells


def measured(view: SweepView) -> int:
    return sum(cell.result is not None for cell in view.model.cells)


def test_an_interrupted_sweep_is_offered_and_finished_in_the_next_window(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    view = opened(qtbot, window)
    ask(qtbot, view, samples=400, block__x="1:32:*2", block__y="1,2,4,8")
    view.start()
    until(qtbot, lambda: measured(view) >= 1)
    window.close()
    window = open_window()
    view = opened(qtbot, window)
    until(qtbot, lambda: view.offer.isVisible())
    assert "was not finished" in find(window, "sweepOfferWords", QLabel).text()
    find(window, "sweepOfferTake").click()
    until(qtbot, finished(view))
    assert view.model.resumed >= 1 and measured(view) == 24
    with Store.open() as store:
        assert [g.runs for g in store.groups("sweep") if g.finished][:1] == [24]


def test_a_text_that_is_no_value_cannot_be_started(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    view = opened(qtbot, window)
    ask(qtbot, view, block__x="1,2")
    box = find(window, "sweepValues_block.x", QLineEdit)
    box.setText("1:")
    box.textEdited.emit("1:")
    until(qtbot, lambda: "threads in x" in find(window, "sweepTotal", QLabel).text().lower())
    assert not view.head.start.isEnabled() and box.property("wrong")
    box.setText("2048,4096")  # nothing of it fits the device
    box.textEdited.emit(box.text())
    until(qtbot, lambda: "2 cannot run" in find(window, "sweepTotal", QLabel).text())
    assert not view.head.start.isEnabled()


def test_the_command_is_copied(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    view = opened(qtbot, window)
    ask(qtbot, view, block__x="1:16:*2", block__y="1,2")
    view.copy_command()
    text = QApplication.clipboard().text()
    assert text.startswith("gpuexplorer sweep matmul") and "--block-x '1:16:*2'" in text


def test_a_saved_session_brings_its_sweep_back(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    view = opened(qtbot, window)
    ask(qtbot, view, block__x="4,8", block__y="1,2")
    view.start()
    until(qtbot, finished(view))
    medians = [c.median_s for c in view.model.cells]
    path = tmp_path / "bench.gpux"
    window.sessions.write(path)
    until(qtbot, lambda: window.sessions.path == path)
    window.close()
    window = open_window(str(path))
    until(qtbot, lambda: window.sessions.path == path)
    shown = window.panels.sweep.sweeping
    assert shown is not None and shown.model.state == "file" and "bench.gpux" in shown.model.words
    assert [c.median_s for c in shown.model.cells] == medians
    assert not shown.head.pause.isVisible() and not window.session.live
    window.sessions.back()
    until(qtbot, lambda: shown.model.state == "empty")
