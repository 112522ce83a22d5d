"""What a window that is open for days lets go of: jobs, samples, connections, memory."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
import shiboken6
from PySide6.QtGui import QPixmapCache
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.series.examine import examine
from gpuexplorer.gui import allocator
from gpuexplorer.gui.app import create
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.model.history import History
from gpuexplorer.gui.model.keeping import Keeper
from gpuexplorer.gui.model.trace import CAPACITY, Trace
from gpuexplorer.gui.panels.experiment import ExperimentPanel
from gpuexplorer.gui.plots.base import Plot
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.history.store import Store
from gpuexplorer.workloads.loader import load
from tests.chaos.monkey import while_there
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.support.history import made_batch, made_record

DEVICES = DeviceList(
    devices=(
        DeviceInfo(
            id="opencl:0", hardware_id="cpu:x", name="X", backend="opencl", kind="cpu", driver="1",
            compute_units=2, precisions=("fp32", "fp64", "fp16"), features=("opencl",), threads=1,
            runs_kernels=True,
        ),
    )
)  # fmt: skip
MIB = 1 << 20
GLIBC = sys.platform.startswith("linux") and allocator._library() is not None


def used_B() -> int:
    """Return the memory that this process alone has in hand."""
    return int(psutil.Process().memory_full_info().uss)


# ---- jobs


def test_a_sweep_that_has_ended_is_let_go_with_its_store(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    window.session.experiment.set_size("N", 32)
    wait_measured(qtbot, window, 5)
    window.session.set_live(False)
    window.panels.places.show_view(window.panels.sweep)
    until(qtbot, lambda: window.panels.sweep.sweeping is not None)
    view = window.panels.sweep.sweeping
    assert view is not None
    until(qtbot, lambda: bool(view.form.rows))
    view.form.samples.setValue(1)
    for name, row in view.form.rows.items():
        row.tick.setChecked(name == "block.x")
        if name == "block.x":
            row.text.setText("8,16")
            row.text.textEdited.emit("8,16")
    jobs: list[weakref.ref[EngineJob]] = []
    for _ in range(2):
        until(qtbot, lambda: view.preview is not None and view.head.start.isEnabled())
        view.start()
        assert view._job is not None
        jobs.append(weakref.ref(view._job))
        until(qtbot, lambda: window.session.jobs.current is None and not view.running)
        assert view.model.words.startswith("2 measured")

    def gone() -> bool:
        gc.collect()
        return all(job() is None for job in jobs)

    until(qtbot, gone)


# ---- samples


def test_the_samples_of_a_run_that_is_stored_are_the_store_s_alone(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    find(window, "sizeSlider").setValue(64)
    first = wait_measured(qtbot, window)
    window.session.experiment.set_block((8, 8, 1))
    wait_measured(qtbot, window)
    history = window.session.history
    at = history.find(first.ticket)
    record = first.record
    assert at is not None and record is not None
    sampled = history[at].sampled
    assert sampled == record.samples
    until(qtbot, lambda: history[history.find(first.ticket) or 0].record is None)
    model = window.session.history_model
    until(qtbot, lambda: (place := model.find(record.id)) is not None and place > 0)
    place = model.find(record.id)
    assert place is not None
    row = model.row(place)
    assert row is not None and row.samples == sampled and not row.running
    window.history_table.choose([place])
    with qtbot.waitSignal(window.panels.history.acts.export_asked) as exported:
        window.panels.history.acts.ask("export")
    assert exported.args[0].samples_s().tolist() == record.samples_s().tolist()


def test_samples_stay_until_the_store_has_taken_the_run(tmp_path: Path) -> None:
    history, keeper, record = History(), Keeper(), made_record()
    batch = made_batch([1e-3, 2e-3, 3e-3])
    record.add(batch)
    keeper.go_on(record, [batch], 0.0)
    history.update(1, record, examine(record.samples_s()), running=True)
    history.let_go(lambda _: True)
    assert history[0].record is record  # it goes on
    with Store.open(tmp_path / "history.sqlite") as store:
        keeper.write(store, 10.0)
        assert record.id in keeper.held and not keeper.kept(record.id)
        history.finish(1)
        keeper.end(record, 10.0)
        history.let_go(keeper.kept)
        assert history[0].record is record  # it is over, and not all of it is stored
        keeper.write(store, 10.0)
        history.let_go(keeper.kept)
    (entry,) = history
    assert entry.record is None
    assert (entry.sampled, entry.samples) == (3, 3)


# ---- connections


def test_rows_that_are_made_anew_leave_no_connection_behind(
    qtbot: QtBot, qapp: QApplication
) -> None:
    make_theme(qapp, "light")
    experiment = Experiment(load(), DEVICES)
    panel = ExperimentPanel(experiment)
    qtbot.addWidget(panel)
    names = list(experiment.workloads)[:4]

    def turn() -> int:
        for name in names:
            experiment.set_workload(name)
            panel.sync()
        qtbot.wait(1)  # what is to be deleted later is
        return weakref.getweakrefcount(experiment)

    first = turn()
    assert [turn() for _ in range(3)] == [first] * 3


# ---- widgets


def test_a_closed_window_leaves_no_widget_behind(qtbot: QtBot, qapp: QApplication) -> None:
    before = set(qapp.topLevelWidgets())
    window = create()[1]
    window.close()
    window.deleteLater()
    until(qtbot, lambda: set(qapp.topLevelWidgets()) <= before)


# ---- memory


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="smaps are Linux'")
def test_a_trace_gives_its_memory_back_though_small_objects_were_made_beside_it() -> None:
    pins: list[bytes] = []

    def one_run() -> None:
        trace = Trace()
        for i in range(8):
            times = np.arange(i * 100_000, (i + 1) * 100_000, dtype=np.float64)
            trace.extend(times, np.full(100_000, 1e-3))
            pins.append(bytes(60_000))

    one_run()
    gc.collect()
    before = used_B()
    for _ in range(6):
        one_run()
    gc.collect()
    assert CAPACITY >= 800_000
    assert used_B() - before < 5 * MIB


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="smaps are Linux'")
def test_a_plot_keeps_no_picture_of_its_empty_ground(qtbot: QtBot, qapp: QApplication) -> None:
    make_theme(qapp, "light")

    def painted() -> Plot:
        plot = Plot("s")
        qtbot.addWidget(plot)
        plot.resize(1600, 1200)
        plot.grab()
        QPixmapCache.clear()  # of its axes, which is bounded
        allocator.give_back()
        return plot

    painted()
    before = used_B()
    plots = [painted() for _ in range(4)]
    assert used_B() - before < len(plots) * 4 * MIB  # such a picture takes 7 MiB


@pytest.mark.skipif(not GLIBC, reason="glibc's allocator alone is told so")
def test_freed_memory_goes_back_to_the_system() -> None:
    # In a process of its own: what other tests freed lies in this one's heap, and is used first.
    code = """
import psutil
from gpuexplorer.gui import allocator

blocks = [bytes(60_000) for _ in range(1600)]
full = psutil.Process().memory_full_info().uss
del blocks[1::2]  # what is left keeps the heap from shrinking at its end
allocator.give_back()
print(full - psutil.Process().memory_full_info().uss)
"""
    freed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(freed.stdout) > 30 * MIB


@pytest.mark.skipif(not GLIBC, reason="glibc's allocator alone is told so")
def test_a_large_block_goes_back_at_once_though_a_larger_one_was_freed_before() -> None:
    code = """
import psutil
from gpuexplorer.gui import allocator

MIB = 1 << 20
allocator.share_heaps()
larger = [bytes(24 * MIB)]
larger.clear()  # from here on glibc by itself takes less than this from its heap
before = psutil.Process().memory_full_info().uss
blocks = [bytearray(2 * MIB) for _ in range(16)]
after = [bytes(60_000) for _ in range(16)]  # keeps a heap from shrinking at its end
blocks.clear()
print(psutil.Process().memory_full_info().uss - before)
"""
    grown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(grown.stdout) < 5 * MIB


@pytest.mark.skipif(not GLIBC, reason="glibc's allocator alone is told so")
def test_threads_share_a_few_heaps() -> None:
    allocator.share_heaps()
    go, held = threading.Event(), []

    def work() -> None:
        held.append([bytes(1000) for _ in range(2000)])
        go.wait()

    def heaps() -> int:
        sizes = []
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            ends = line.split()[0].split("-")
            sizes.append((int(ends[0], 16), line))
        return sum(
            1
            for start, line in sizes
            if start % (64 * MIB) == 0 and "rw-p" in line and len(line.split()) == 5
        )

    before = heaps()
    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    try:
        assert heaps() - before <= allocator.ARENAS
    finally:
        go.set()
        for thread in threads:
            thread.join()


# ---- the monkey itself


def test_the_monkey_leaves_a_widget_alone_that_its_press_deleted(qtbot: QtBot) -> None:
    button = QPushButton("x")
    button.show()
    acts: list[Callable[..., object]] = []

    def press(widget: object) -> None:
        acts.append(press)
        shiboken6.delete(button)

    def release(widget: object) -> None:
        acts.append(release)

    while_there(button, (press, release))
    assert acts == [press]
