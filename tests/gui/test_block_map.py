"""The Block map tab as a user meets it: a real engine measures, the sliders follow the map."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLabel,
    QProgressBar,
    QPushButton,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE
from gpuexplorer.cli.parser import parse
from gpuexplorer.cli.sweep import space_of as space_of_options
from gpuexplorer.core.config import Block
from gpuexplorer.core.result import Resources
from gpuexplorer.core.units import count, quantity
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.blockmap import MeasurableMap
from gpuexplorer.gui.model.map_look import Look
from gpuexplorer.gui.plots.map_drawing import named
from gpuexplorer.gui.views.blockmap import BlockMapView
from gpuexplorer.gui.widgets.late import LateView
from gpuexplorer.history.model import Query
from gpuexplorer.history.store import Store
from gpuexplorer.search.blockmap import MapCell, map_space
from tests.gui.conftest import OpenWindow
from tests.gui.driver import export_to, find, move_pointer, until, wait_measured


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(folder))
    return folder


def open_map(
    qtbot: QtBot, open_window: OpenWindow, workload: str = "vector_add", size: int = 4096
) -> tuple[MainWindow, BlockMapView]:
    """Open the window at a small problem, with the map of it planned."""
    window = open_window()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.experiment.set_workload(workload)
    window.session.experiment.set_size("N", size)
    wait_measured(qtbot, window)
    tab = find(window, "blockMap", LateView)
    assert not tab.findChildren(BlockMapView), "nothing of it is made before it is shown"
    window.panels.places.show_view(tab)
    view = tab.view
    assert isinstance(view, BlockMapView)
    until(qtbot, lambda: view.model.current is not None)
    return window, view


def shown(view: BlockMapView) -> MeasurableMap:
    held = view.model.shown
    assert isinstance(held, MeasurableMap)
    return held


def measure(qtbot: QtBot, view: BlockMapView) -> MeasurableMap:
    view.head.start.click()
    assert view.running
    until(qtbot, lambda: not view.running)
    held = shown(view)
    assert held.done
    return held


def centre(view: BlockMapView, block: Block) -> QPoint:
    number = shown(view).wanted.grid.number(block)
    assert number is not None
    return view.canvas.cell_rect(number).center().toPoint()


def hover(view: BlockMapView, block: Block) -> None:
    move_pointer(view.canvas, centre(view, block))


def is_live(window: MainWindow) -> bool:
    return window.session.live


def is_stale(view: BlockMapView) -> bool:
    return view.model.stale


def stands_at(window: MainWindow, block: Block) -> Callable[[], bool]:
    return lambda: window.session.experiment.knobs.block == block


def cells_of(held: MeasurableMap) -> dict[Block, MapCell]:
    return {c.block: c for c in held.cells}


def test_the_map_is_measured_and_live_measuring_goes_on(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view = open_map(qtbot, open_window, "matmul", 64)
    ticket = wait_measured(qtbot, window).ticket
    assert "Start measures them" in view.head.words.text()
    view.head.start.click()
    assert not is_live(window) and not view.head.start.isVisible()
    words = view.head.words
    until(qtbot, lambda: "First looks" in words.text() and "to go" in words.text())
    assert view.head.stop.isVisible() and view.head.pause.isVisible()
    progress = find(window, "blockMapProgress", QProgressBar)
    until(qtbot, lambda: progress.value() > 0)
    until(qtbot, lambda: not view.running)
    held = shown(view)
    assert held.done and held.best is not None
    assert view.head.words.text().startswith("Best ")
    assert all(c.time_s for c in held.cells if c.state == "measured")
    assert is_live(window) and wait_measured(qtbot, window).ticket != ticket
    assert find(window, "blockMapStart", QPushButton).text() == "Measure again"


def test_the_runs_go_to_the_store_as_one_group(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = open_map(qtbot, open_window)
    held = measure(qtbot, view)
    until(qtbot, lambda: held.group is not None)
    QTest.mouseClick(find(window, "blockMapCompare", QPushButton), Qt.MouseButton.LeftButton)
    compared = window.panels.compare.comparing
    assert compared is not None
    until(qtbot, compared.isVisible)
    assert [(one.config.block, one.engine) for one in compared.model.contestants] == [
        (held.best, window.session.options.python)
    ]
    window.close()
    with Store.open() as store:
        (group,) = store.groups("block map")
        rows = store.find(Query(group=group.id))
        shown = store.timeline(Query(), [0], 50).pages[0]  # and a live run may have followed
        (row,) = [row for row in shown if row.folded is not None]
        measured = {c.block: c for c in held.cells if c.time_s}
        assert {row.block_words for row in rows} and len(rows) == len(measured)
        samples = {store.get(row.id).config.block: store.get(row.id).timing for row in rows}
    assert samples.keys() == measured.keys()
    assert all(samples[b].samples == c.samples for b, c in measured.items())
    assert held.best is not None and row.median_s == measured[held.best].time_s
    assert all(samples[b].median_s == c.time_s for b, c in measured.items())
    assert {t.stopped_by for t in samples.values()} == {"race"}


def test_the_map_is_a_pad_for_the_sliders(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = open_map(qtbot, open_window, "matmul", 64)
    check_click(qtbot, window, view)
    check_drag(qtbot, window, view)
    check_keys(window, view)
    check_reason(view)


def check_click(qtbot: QtBot, window: MainWindow, view: BlockMapView) -> None:
    """A click takes the sliders there, and Live runs it."""
    window.session.set_live(False)
    QTest.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=centre(view, (64, 4, 1)))
    assert window.session.experiment.knobs.block == (64, 4, 1)
    assert is_live(window)
    assert wait_measured(qtbot, window).config.block == (64, 4, 1)
    QTest.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=centre(view, (1024, 1024, 1)))
    assert window.session.experiment.knobs.block == (64, 4, 1), "it cannot run, so nothing moves"


def check_drag(qtbot: QtBot, window: MainWindow, view: BlockMapView) -> None:
    """A drag takes them along, and is one step to undo."""
    experiment, canvas = window.session.experiment, view.canvas
    before = experiment.knobs.block
    seen: list[object] = []
    canvas.picked.connect(seen.append)
    QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=centre(view, (4, 4, 1)))
    for block in ((8, 4, 1), (8, 8, 1), (32, 8, 1)):
        move_pointer(canvas, centre(view, block))
        until(qtbot, stands_at(window, block))
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=centre(view, (32, 8, 1)))
    assert len(seen) >= 4
    wait_measured(qtbot, window)
    experiment.undo()
    assert experiment.knobs.block == before


def check_keys(window: MainWindow, view: BlockMapView) -> None:
    """Arrow keys go to the next block that can run, Home to the best."""
    experiment = window.session.experiment
    experiment.set_block((16, 16, 1))
    view.canvas.setFocus()
    for key, block in (
        (Qt.Key.Key_Right, (32, 16, 1)),
        (Qt.Key.Key_Up, (32, 32, 1)),
        (Qt.Key.Key_Up, (32, 32, 1)),  # 32×64 is beyond the device's limit
        (Qt.Key.Key_Left, (16, 32, 1)),
        (Qt.Key.Key_Down, (16, 16, 1)),
    ):
        QTest.keyClick(view.canvas, key)
        assert experiment.knobs.block == block
    shown(view).best = (8, 8, 1)
    QTest.keyClick(view.canvas, Qt.Key.Key_Home)
    assert experiment.knobs.block == (8, 8, 1)


def check_reason(view: BlockMapView) -> None:
    """A block that cannot run says why."""
    cell = cells_of(shown(view))[1024, 1024, 1]
    assert cell.state == "cannot"
    hover(view, cell.block)
    assert "cannot run" in view.cell_words.text() and "allows" in view.cell_words.text()
    at = centre(view, cell.block)
    event = QHelpEvent(QEvent.Type.ToolTip, at, view.canvas.mapToGlobal(at))
    assert QApplication.sendEvent(view.canvas, event)
    assert view.canvas.number_at(QPointF(1, 1)) is None


def test_a_map_that_was_left_goes_on_where_it_was(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = open_map(qtbot, open_window, "matmul", 64)
    view.head.start.click()
    until(qtbot, lambda: sum(c.time_s is not None for c in shown(view).cells) >= 12)
    view.head.stop.click()
    until(qtbot, lambda: not view.running)
    held, looks = shown(view), shown(view).map.race.looks
    assert is_live(window) and "Left at" in view.head.words.text()
    assert view.head.pause.text() == "Continue"
    wait_measured(qtbot, window)
    view.head.pause.click()
    until(qtbot, lambda: held.map.race.looks > looks + 3)
    assert shown(view) is held
    window.session.set_live(True)  # going live ends it
    until(qtbot, lambda: not view.running)


def test_a_pause_gives_the_device_to_live_measuring(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = open_map(qtbot, open_window, "matmul", 64)
    view.head.start.click()
    until(qtbot, lambda: shown(view).map.race.looks > 3)
    view.head.pause.click()
    until(qtbot, lambda: window.session.live)
    assert view.head.pause.text() == "Continue" and view.running
    QTest.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=centre(view, (4, 8, 1)))
    assert wait_measured(qtbot, window).config.block == (4, 8, 1)
    looks = shown(view).map.race.looks
    view.head.pause.click()
    assert not is_live(window)
    until(qtbot, lambda: shown(view).map.race.looks > looks + 2)
    view.head.stop.click()
    until(qtbot, lambda: not view.running)


def test_a_map_is_not_measured_between_the_end_of_an_engine_and_the_devices_of_the_next(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view = open_map(qtbot, open_window, "matmul", 64)
    view.head.start.click()
    until(qtbot, lambda: shown(view).map.race.looks > 3)
    view.head.stop.click()
    until(qtbot, lambda: not view.running)
    head, held = view.head, shown(view)
    assert head.start.isEnabled() and head.pause.isVisible()
    window.session.restart(window.session.options)
    assert not head.start.isEnabled() and not head.pause.isVisible()
    view.pause()
    assert not view.running and shown(view) is held
    until(qtbot, lambda: head.start.isEnabled() and head.pause.isVisible())


def test_a_map_that_is_not_begun_again_stays_as_it_was(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    """Measuring again is refused while something else keeps the machine busy."""
    window, view = open_map(qtbot, open_window)
    held = measure(qtbot, view)
    group, ties = held.group, held.ties
    window.session.jobs.disturbed_by = "an engine is being made"
    assert view.head.start.text() == "Measure again"
    view.head.start.click()
    assert not view.running and shown(view).done
    assert view.head.words.text().startswith("Best ")
    assert (shown(view).group, shown(view).ties) == (group, ties)
    window.session.jobs.disturbed_by = ""
    assert measure(qtbot, view) is not held


def test_the_copied_command_sweeps_the_blocks_of_the_map(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view = open_map(qtbot, open_window, "matmul", 64)
    find(window, "blockMapCopy", QToolButton).click()
    options = parse(shlex.split(QApplication.clipboard().text())[1:])
    of = shown(view).wanted
    spaces = space_of_options(options, of.workload.manifest), map_space(of.request, of.grid)
    blocks = [
        sorted(p.config.key for p in space.points(of.workload, of.devices) if p.config)
        for space in spaces
    ]
    assert blocks[0] == blocks[1] and len(blocks[0]) > 9


def test_another_configuration_greys_the_map_until_it_is_measured(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view = open_map(qtbot, open_window)
    held = measure(qtbot, view)
    experiment = window.session.experiment
    experiment.set_block((32, 1, 1))
    assert not is_stale(view), "the block is what the map is over"
    experiment.set_size("N", 8192)
    until(qtbot, lambda: view.model.current is not None)
    assert is_stale(view) and shown(view) is held
    caption = find(window, "blockMapCaptionWords", QLabel)
    until(qtbot, lambda: "the knobs now say N = 8192" in caption.text())
    assert "N = 4096" in caption.text() and "Start measures" in view.canvas._message
    experiment.set_size("N", 4096)
    assert not is_stale(view) and shown(view) is held, "and back again"
    experiment.set_size("N", 8192)
    until(qtbot, view.head.start.isEnabled)
    again = measure(qtbot, view)
    assert again is not held and not is_stale(view)


def test_a_finer_grid_keeps_what_was_measured(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = open_map(qtbot, open_window)
    coarse = measure(qtbot, view)
    box = find(window, "blockMapGrid", QComboBox)
    box.setCurrentIndex(box.findData("halves"))
    until(qtbot, lambda: view.model.current is not None and shown(view) is not coarse)
    fine = shown(view)
    assert len(fine.cells) > len(coarse.cells) and not is_stale(view)
    known = {c.block: c.time_s for c in coarse.cells}
    assert all(c.time_s == known.get(c.block) for c in fine.cells)
    assert not fine.done and view.head.start.text() == "Start"
    assert measure(qtbot, view) is fine


def test_a_measured_map_is_read_by_colour_pointer_and_overlay(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    window, view = open_map(qtbot, open_window)
    held = measure(qtbot, view)
    check_export(qtbot, window, monkeypatch, tmp_path)
    drawn = view.exported().chart().rows[0][0].series
    assert any(one.name == f"best: {Look(held, 'time').best_words}" for one in drawn)
    check_pointer(view, held)
    check_colours(view, held, find(window, "blockMapColouring", QComboBox))
    check_overlay(view, held, find(window, "blockMapOccupancy", QToolButton))


def check_export(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """The export is a sweep's document over the blocks, its chart what the canvas shows."""
    path = folder / "map.json"
    window.export("json")
    export_to(window, path)
    until(qtbot, path.exists)
    until(qtbot, lambda: not window.exporter.busy)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["schema"] == "gpuexplorer/sweep/1"
    assert {"block.x", "block.y"} <= document["axes"].keys()
    assert len(document["runs"]) == len(document["axes"]["block.x"])


def check_pointer(view: BlockMapView, held: MeasurableMap) -> None:
    assert held.best is not None
    hover(view, held.best)
    words = view.cell_words.text()
    assert "threads:" in words and "the best" in words
    assert "s ±" in words or "s)" in words, words  # its interval, by itself where it is wide
    assert f"{count(cells_of(held)[held.best].samples)} samples" in words
    slowest = max((c for c in held.cells if c.time_s), key=lambda c: c.time_s or 0)
    hover(view, slowest.block)
    assert "slower than the best" in view.cell_words.text()


def check_colours(view: BlockMapView, held: MeasurableMap, box: QComboBox) -> None:
    assert held.best is not None
    best = cells_of(held)[held.best]
    units = []
    for index in range(box.count()):
        box.setCurrentIndex(index)
        look = view._drawn
        assert look is not None
        shades = [s for c in held.cells if (s := look.shade(c)) is not None]
        assert len(shades) >= 5 and look.text(best)
        assert look.ticks(8)
        units.append(look.unit)
    assert units[0].endswith("s") and units[1].endswith("FLOP/s") and units[2] == "% of the best"


def check_overlay(view: BlockMapView, held: MeasurableMap, button: QToolButton) -> None:
    """A processor has no occupancy; where there is one, disagreements are counted."""
    button.click()
    assert "A processor has no multiprocessors" in view.notes.text()
    ordered = sorted((c for c in held.cells if c.time_s), key=lambda c: c.time_s or 0)
    full = {ordered[-1].block: 1.0, ordered[0].block: 0.25}
    for number, cell in enumerate(held.cells):
        if cell.time_s:
            made = Resources(occupancy=full.get(cell.block, 0.7), occupancy_limiter="registers")
            slower: dict[str, Any] = {"time_s": 3 * cell.time_s} if cell is ordered[-1] else {}
            held.cells[number] = msgspec.structs.replace(cell, resources=made, ratio=None, **slower)
    view.refresh(at_once=True)
    assert view.notes.text() == "▼ full and slow: 1   ▲ fast though not full: 1"
    tip = view.notes.toolTip()
    assert "1 full yet" in tip and "1 as fast as the best though not full" in tip
    hover(view, ordered[0].block)
    assert "occupancy 25 % (registers)" in view.cell_words.text()


def test_counts_beside_the_axes_do_not_run_into_each_other() -> None:
    octaves = (1, 2, 4, 8, 16, 32)
    assert named(octaves, 10, 20) == [0, 1, 2, 3, 4, 5]
    assert named(octaves, 30, 20) == [0, 2, 4]
    quarters = (4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32)
    assert [quarters[i] for i in named(quarters, 30, 10)] == [4, 8, 16, 32]
    assert named((1,), 30, 10) == [0] and named((), 30, 10) == []


def test_a_library_call_has_no_map(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = open_map(qtbot, open_window)
    window.session.experiment.set_variant("numpy")
    until(qtbot, lambda: view.model.current is None)
    assert "chooses its own blocks" in view.canvas._message
    assert not view.head.start.isEnabled()
    window.session.experiment.set_variant("direct")
    until(qtbot, lambda: view.model.current is not None)


def test_closing_the_window_while_a_map_is_measured(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = open_map(qtbot, open_window, "matmul", 64)
    view.head.start.click()
    held = shown(view)
    until(qtbot, lambda: held.map.race.looks > 5 and held.group is not None)
    window.close()
    with Store.open() as store:
        assert store.count(Query(group=held.group)) >= 4


def test_the_map_is_drawn_in_time_and_in_both_themes(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = open_map(qtbot, open_window, "matmul", 64)
    held = shown(view)
    for number, cell in enumerate(held.cells):
        if cell.state == "waiting":
            held.cells[number] = msgspec.structs.replace(
                cell, state="measured", time_s=1e-3 * (1 + number % 7), samples=3, flops=1e9
            )
    states: tuple[Any, ...] = ("long", "failed", "suspect")
    for number, state in enumerate(states):
        held.cells[number] = msgspec.structs.replace(held.cells[number], state=state, reason="made")
    pictures = []
    for scheme in ("light", "dark"):
        window.choices.choose_theme(scheme)
        view.refresh(at_once=True)
        pictures.append(view.canvas.grab().toImage())
    assert pictures[0] != pictures[1]
    for picture in pictures:
        colours = {
            picture.pixelColor(view.canvas.cell_rect(n).topLeft().toPoint() + QPoint(6, 12)).name()
            for n in range(len(held.cells))
        }
        assert len(colours) >= 8


def test_a_block_whose_time_in_live_is_another_says_why(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view = open_map(qtbot, open_window)
    held = measure(qtbot, view)
    assert held.best is not None
    window.session.experiment.set_block(held.best)
    run = wait_measured(qtbot, window)
    window.session.set_live(False)
    assert run.summary is not None
    number = held.wanted.grid.number(held.best)
    assert number is not None
    cell = held.cells[number]
    held.cells[number] = msgspec.structs.replace(cell, time_s=run.summary.median_s)
    view.refresh(at_once=True)
    assert "Live" not in view.cell_words.text(), "they are alike"
    held.cells[number] = msgspec.structs.replace(cell, time_s=1.6 * run.summary.median_s)
    view.refresh(at_once=True)
    median = quantity(run.summary.median_s, "s")
    said = f"Live shows {median}, measured by itself and at another time"
    assert view.cell_words.text().endswith(said)
