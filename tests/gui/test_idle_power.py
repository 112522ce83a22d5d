"""The power of a device at rest, which the energy of a launch is told without."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from gpuexplorer.calibration import plan
from gpuexplorer.core.sample import Reading
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import Engine, EngineOptions
from gpuexplorer.gui import idle_calibration
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.live import Live
from gpuexplorer.gui.worker import DeviceReading, EngineWorker, Update
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until, wait_measured
from tests.gui.test_job import Runs
from tests.support.prepared import prepared

REST_W, WORK_W = 70.0, 420.0


def series(from_s: float, to_s: float, watts: float, joules: float = 0.0) -> list[Reading]:
    """Ten readings a second of a counter that stands at ``joules`` when they begin."""
    steps = round((to_s - from_s) * 10)
    return [
        Reading(
            t_ns=int((from_s + 0.1 * step) * 1e9), source="x", energy_J=joules + 0.1 * step * watts
        )
        for step in range(steps)
    ]


def read(live: Live, readings: list[Reading], *, worked: bool = False) -> None:
    for reading in readings:
        live.read(reading, reading.t_ns * 1e-9, worked=worked)


def rest_power(live: Live) -> float | None:
    """Return the power at rest that the next run begins with."""
    ready = prepared()
    run = live.begin(1, ready.config)
    live.prepare(ready)
    run.over = True
    return run.record.idle_power_W if run.record is not None else None


def test_work_that_no_run_shows_is_no_rest() -> None:
    live = Live()
    read(live, series(0.0, 3.0, REST_W))
    read(live, series(3.0, 8.0, WORK_W, 210.0), worked=True)
    read(live, series(8.0, 8.5, REST_W, 2310.0))
    assert rest_power(live) == pytest.approx(REST_W), "what was known before is kept"


def test_a_rest_begins_anew_after_work_however_short() -> None:
    live = Live()
    before, after = series(0.0, 3.0, REST_W), series(3.0, 6.0, 80.0, 250.0)
    read(live, before)
    read(live, after[:1], worked=True)
    read(live, after[1:])
    assert rest_power(live) == pytest.approx(80.0)


def test_work_right_before_a_run_leaves_what_the_rest_before_it_told() -> None:
    live = Live()
    read(live, series(0.0, 3.0, REST_W))
    read(live, series(3.0, 3.2, WORK_W, 210.0), worked=True)  # as while it is compiled
    assert rest_power(live) == pytest.approx(REST_W)


def test_a_device_that_only_worked_has_no_power_at_rest() -> None:
    live = Live()
    read(live, series(0.0, 5.0, WORK_W), worked=True)
    assert rest_power(live) is None


def test_the_worker_says_whether_its_engine_worked_since_the_reading_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measuring = False
    monkeypatch.setattr(Engine, "is_measuring", property(lambda _: measuring))
    monkeypatch.setattr(Engine, "run", lambda *_: 1)
    worker = EngineWorker(EngineOptions())
    engine = worker._engine = Engine(EngineOptions(), worker._on_event)
    ready = prepared()

    def worked() -> bool:
        worker._on_event(protocol.Telemetry(device="x", reading=Reading(t_ns=1, source="x")))
        return worker._pending.readings[-1].worked

    def ask() -> None:
        worker.ask_run(ready.config, None, ticket=1)  # type: ignore[arg-type]
        worker._serve(engine)

    assert not worked()
    measuring = True
    ask()
    assert worked() and worked()
    measuring = False
    assert worked(), "it ended since the reading before"
    assert not worked()
    ask()
    assert worked(), "it has begun and ended"
    assert not worked()


def take(window: MainWindow, readings: list[Reading]) -> None:
    device = window.session.device
    assert device is not None
    heard = [DeviceReading(device.id, r.t_ns * 1e-9, r, worked=False) for r in readings]
    window.listener.take(Update(readings=heard))


def works(window: MainWindow) -> bool:
    engine = window.session.worker._engine
    return engine is not None and engine.is_measuring


def stopped(qtbot: QtBot, window: MainWindow) -> MainWindow:
    run = wait_measured(qtbot, window)
    window.session.stop()
    until(qtbot, lambda: run.over and not works(window))
    return window


def test_what_is_read_during_a_job_or_beside_another_program_is_no_rest(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = stopped(qtbot, open_window())
    session = window.session
    session.live_model.clear_readings()
    take(window, series(0.0, 0.9, REST_W))
    job = Runs(window, 1)  # its engine may be one of its own, of which this worker knows nothing
    assert session.jobs.begin(job)
    take(window, series(0.9, 1.5, WORK_W, 63.0))
    until(qtbot, lambda: session.jobs.current is None)
    take(window, series(1.5, 2.4, REST_W, 315.0))
    session.jobs.disturbed_by = "setting up an engine"
    take(window, series(2.4, 5.0, WORK_W, 378.0))
    session.jobs.disturbed_by = ""
    take(window, series(5.0, 5.9, REST_W, 1470.0))
    assert rest_power(session.live_model) is None, "no rest lasted for a second"
    take(window, series(6.0, 8.0, REST_W, 1540.0))
    assert rest_power(session.live_model) == pytest.approx(REST_W)


def test_a_calibration_that_comes_by_itself_is_no_rest(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_calibration, "IDLE_MS", 50)
    monkeypatch.setattr(plan, "BRIEF_S", 60.0)
    window = stopped(qtbot, open_window())
    live, heard = window.session.live_model, list[DeviceReading]()
    window.session.worker.updated.connect(lambda update: heard.extend(update.readings))
    until(qtbot, lambda: window.session.activity.startswith("calibrating"))
    until(qtbot, lambda: works(window))
    heard.clear()
    until(qtbot, lambda: len(heard) > 5)
    assert all(one.worked for one in heard)
    assert len(live._resting) <= 1
