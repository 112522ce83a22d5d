"""Others on the device: the status bar names them, and runs wait for them where that is chosen."""

from __future__ import annotations

import os

import pytest
from pytestqt.qtbot import QtBot

from gpuexplorer.core.sample import DeviceUser, Reading
from gpuexplorer.core.shared_device import NICE_VARIABLE, WHEN_SHARED_VARIABLE
from gpuexplorer.engine.protocol import STAGES
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until, wait_measured


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (WHEN_SHARED_VARIABLE, NICE_VARIABLE):
        monkeypatch.setenv(name, "")  # so that it is as before afterwards
        monkeypatch.delenv(name)


def test_the_setting_is_kept_and_the_status_bar_says_for_whom_it_waits(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    wait_measured(qtbot, window)
    session, status = window.session, window.status
    window.commands.waits_for_others.trigger()
    assert os.environ[WHEN_SHARED_VARIABLE] == "wait"
    assert window.settings.waits_for_others
    session.stop()
    until(qtbot, lambda: session.jobs.idle)
    device = session.device
    assert device is not None
    busy = Reading(
        t_ns=0, source="cpu", other_cores=1.5, users=(DeviceUser(pid=7, program="blender"),)
    )
    session.latest_reading = (device.id, busy)
    session.activity = STAGES["wait"]
    assert session.waits_for_others
    status.show_state()
    activity = status._activity.text()
    assert activity.startswith("waiting until nobody else uses the device: blender uses this GPU")
    assert "other programs keep this CPU busy" in status._device.toolTip()
    window.commands.waits_for_others.trigger()
    assert os.environ[WHEN_SHARED_VARIABLE] == "warn"
    session.latest_reading = (device.id, Reading(t_ns=0, source="cpu"))
    session.activity = ""
    status.show_state()
    assert "other programs" not in status._device.toolTip()


def test_an_engine_that_comes_after_others_is_started_anew(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    wait_measured(qtbot, window)
    before = window.session.worker.engine_pid
    window.commands.leaves_processor.trigger()
    assert os.environ[NICE_VARIABLE] == "10"
    until(qtbot, lambda: window.session.worker.engine_pid not in (before, None))
    wait_measured(qtbot, window)
