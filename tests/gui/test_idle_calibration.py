"""The calibration that comes by itself: once a device, while nothing else is measured."""

from __future__ import annotations

from collections.abc import Callable

import psutil
import pytest
from pytestqt.qtbot import QtBot

from gpuexplorer.calibration import calibrate, plan
from gpuexplorer.calibration.plan import Stage
from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.gui import idle_calibration
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.notice import Notice
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until, wait_measured


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_calibration, "IDLE_MS", 50)


def lasting(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Have each run of a brief calibration sample for so long, and make only the first two."""
    chosen: Callable[..., list[Stage]] = plan.in_brief
    monkeypatch.setattr(plan, "BRIEF_S", seconds)
    monkeypatch.setattr(calibrate, "in_brief", lambda stages: chosen(stages)[:2])


def idle(qtbot: QtBot, open_window: OpenWindow) -> MainWindow:
    """Return the window after its first run was stopped."""
    window = open_window()
    wait_measured(qtbot, window)
    assert CeilingStore().all() == []
    window.session.stop()
    return window


def is_calibrating(window: MainWindow) -> bool:
    return "calibrating" in window.session.activity


def test_a_device_with_nothing_to_do_is_calibrated_once_and_quietly(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasting(monkeypatch, 0.05)
    window = idle(qtbot, open_window)
    seen: list[tuple[bool, bool, bool]] = []

    def look() -> None:
        if is_calibrating(window):
            live, roofline = window.commands.live, window.panels.roofline
            seen.append((live.isEnabled(), roofline.running, window.banner.isVisible()))

    window.session.state_changed.connect(look)  # it may be over before anybody looks by the way
    until(qtbot, lambda: bool(CeilingStore().all()), 400_000)  # seconds, but beside others
    assert set(seen) == {(True, False, False)}
    (found,) = CeilingStore().all()
    assert found.brief and found.quick and {c.kind for c in found.ceilings} == {"copy", "triad"}
    run = window.session.live_model.current
    assert run is not None and run.record is not None
    record = run.record
    until(qtbot, lambda: record.ceilings == found)
    until(qtbot, lambda: " % of " in window.insight.figures.of_peak.text())
    assert window.session.jobs.idle
    window.session.set_live(True)
    wait_measured(qtbot, window)
    window.session.stop()
    until(qtbot, lambda: window.session.jobs.idle)
    seen.clear()
    window.idle_calibration.follow()
    qtbot.wait(300)  # longer than it would wait
    assert not seen


def test_it_gives_way_to_live_at_once_and_comes_again(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasting(monkeypatch, 60.0)
    window = idle(qtbot, open_window)
    until(qtbot, lambda: is_calibrating(window))
    window.session.set_live(True)
    assert window.session.live and not is_calibrating(window)
    wait_measured(qtbot, window)
    assert CeilingStore().all() == []
    window.session.stop()
    until(qtbot, lambda: is_calibrating(window))


def test_it_waits_for_the_last_launch_of_what_was_stopped(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasting(monkeypatch, 60.0)
    window = open_window()
    run = wait_measured(qtbot, window)
    psutil.Process(window.session.worker.engine_pid).suspend()  # until it is ended for that
    window.session.stop()

    def is_over() -> bool:
        assert run.over or window.session.jobs.idle
        return run.over

    until(qtbot, is_over)
    until(qtbot, lambda: is_calibrating(window))


def test_it_gives_way_to_a_job(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasting(monkeypatch, 60.0)
    window = idle(qtbot, open_window)
    until(qtbot, lambda: is_calibrating(window))
    window.panels.roofline.start()
    assert window.panels.roofline.running
    until(qtbot, lambda: "Calibrating · 0 of " in window.panels.roofline.head_words())
    window.panels.roofline.stop()
    until(qtbot, lambda: not window.panels.roofline.running)


def test_an_engine_that_is_lost_in_it_troubles_nobody_and_it_comes_again(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasting(monkeypatch, 60.0)
    window = idle(qtbot, open_window)
    notices: list[Notice] = []
    window.session.notice.connect(notices.append)
    killed: list[int] = []
    say, said = window.session.say, list[str]()

    def listen(words: str) -> None:
        said.append(words)
        say(words)

    monkeypatch.setattr(window.session, "say", listen)

    def is_given_up() -> bool:
        engine = window.session.worker.engine_pid
        # One that is starting would be a failed start, of which there are not many: what is
        # known of its state here may still be that of the one before.
        ready = f"process {engine}," in window.session.engine_words
        works = not window.session.jobs.idle  # whatever the status line says by then
        if engine is not None and ready and works and engine not in killed:
            killed.append(engine)
            psutil.Process(engine).kill()
        return "not calibrated" in said

    until(qtbot, is_given_up)
    assert len(killed) >= idle_calibration.MOST_TRIES
    until(qtbot, lambda: window.session.engine_state == "ready")
    qtbot.wait(300)  # longer than it would wait
    assert not is_calibrating(window), "it would cost an engine each time"
    assert notices == [] and not window.banner.isVisible()
    assert CeilingStore().all() == [], "a few of its ceilings are worth nothing"
    window.session.set_live(True)
    wait_measured(qtbot, window)
    assert not window.banner.isVisible()


def test_it_can_be_switched_off(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    lasting(monkeypatch, 60.0)
    window = open_window()
    window.commands.calibrates_when_idle.trigger()
    wait_measured(qtbot, window)
    window.session.stop()
    until(qtbot, lambda: window.session.jobs.idle)
    qtbot.wait(300)  # longer than it would wait
    assert not is_calibrating(window)
    window.commands.calibrates_when_idle.trigger()
    until(qtbot, lambda: is_calibrating(window))
