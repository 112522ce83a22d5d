"""A run that is prepared again, since the way it was timed stopped working, is a run of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from pytestqt.qtbot import QtBot

from gpuexplorer.charts.words import STOPPED
from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.core.statistics import Summary
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import EngineOptions
from gpuexplorer.gui.worker import EngineWorker
from tests.gui.driver import until, wait_measured
from tests.support.prepared import prepared

if TYPE_CHECKING:
    from gpuexplorer.gui.main_window import MainWindow


def samples(seconds: float, start_ns: int) -> protocol.Samples:
    batch = SampleBatch(
        seconds=np.full(50, seconds).astype("<f8").tobytes(), counts=(50,), starts_ns=(start_ns,)
    )
    return protocol.Samples(generation=1, batch=batch, dropped=0)


def test_figures_of_two_ways_of_timing_are_never_mixed() -> None:
    worker = EngineWorker(EngineOptions())
    worker._generation = worker._ticket = 1
    for seconds in (1e-6, 4e-6):
        worker._on_event(prepared())
        worker._on_event(samples(seconds, int(seconds * 1e15)))
    worker._finish_summary()
    told = [item for _, item in worker._pending.items if isinstance(item, Summary)]
    assert [summary.median_s for summary in told] == [1e-6, 4e-6]


def test_what_held_the_clock_of_another_device_marks_no_samples() -> None:
    worker = EngineWorker(EngineOptions())
    worker._generation = worker._ticket = 1
    braked = Reading(t_ns=1_000_000_000, source="nvml", throttle_reasons=("power brake",))
    for device in ("opencl:0", "cuda:1"):
        other = msgspec.structs.replace(prepared().device, id=device, nominal_clock_Hz=2e9)
        worker._on_event(msgspec.structs.replace(prepared(), device=other))
        worker._on_event(protocol.Telemetry(device="opencl:0", reading=braked))
        batch = msgspec.structs.replace(samples(1e-3, 1_001_000_000).batch, clocks_Hz=(1e9,))
        worker._on_event(protocol.Samples(generation=1, batch=batch))
        worker._finish_summary()
    told = [item for _, item in worker._pending.items if isinstance(item, Summary)]
    assert [summary.marked_throttled for summary in told] == [50, 0]


def test_what_was_measured_in_the_first_way_stays_as_a_run(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.show()
    first = wait_measured(qtbot, window)
    live, record = window.session.live_model, first.record
    assert first.prepared is not None
    assert record is not None
    again = msgspec.structs.replace(first.prepared, method="another way")
    window.listener.take_run_event(first, again)
    assert first.over
    assert record.stopped_by == "timing"
    assert STOPPED[record.stopped_by] == "the way it was timed stopped working"
    second = live.current
    assert second is not None
    assert second is not first
    assert second.ticket != first.ticket
    until(qtbot, lambda: second.record is not None and second.record.samples > 0)
    assert second.record is not None
    assert second.record.prepared.method == "another way"
    assert live.past[-1].ticket == first.ticket
    history = window.session.history
    until(qtbot, lambda: len(history) == 2)
    newest, oldest = history
    assert (newest.id, newest.running) == (second.record.id, True)
    assert (oldest.id, oldest.running, oldest.sampled) == (record.id, False, record.samples)


def test_what_was_on_its_way_begins_no_run_that_nothing_would_end(
    window: MainWindow, qtbot: QtBot
) -> None:
    """Live was paused meanwhile: its run began anew, and went on until the window closed."""
    window.show()
    session = window.session
    first = wait_measured(qtbot, window)
    assert first.prepared is not None
    session.pause_live()
    assert first.over
    again = msgspec.structs.replace(first.prepared, method="another way")
    window.listener.take_run_event(first, again)
    assert session.live_model.current is first
    assert first.prepared.method != "another way"
