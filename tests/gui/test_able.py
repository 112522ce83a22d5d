"""A command that cannot work here is grey and says why."""

from __future__ import annotations

import msgspec
import pytest
from PySide6.QtGui import QAction
from pytestqt.qtbot import QtBot

from gpuexplorer.core.device import DeviceList
from gpuexplorer.gui.able import not_analysed
from gpuexplorer.gui.main_window import MainWindow
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until, wait_measured


def action(window: MainWindow, name: str) -> QAction:
    found = getattr(window.commands, name)
    assert isinstance(found, QAction)
    return found


def grey(window: MainWindow, name: str, reason: str) -> bool:
    """Return whether a command is grey, and both its tips say why."""
    command = action(window, name)
    told = reason in command.toolTip() and reason in command.statusTip()
    return told and not command.isEnabled()


@pytest.mark.parametrize("name", ["self_test", "use_tuned", "copy_command", "copy_script"])
def test_what_needs_a_device_waits_for_one_and_says_so(
    qtbot: QtBot, open_window: OpenWindow, name: str
) -> None:
    window = open_window()
    assert grey(window, name, "Devices are still being looked for.")
    until(qtbot, lambda: window.session.experiment.devices is not None)
    if name == "use_tuned":
        until(qtbot, lambda: grey(window, name, "Nothing is tuned yet for "))
    else:
        assert action(window, name).isEnabled()
    assert "looked for" not in action(window, name).toolTip()
    window.session.set_live(False)
    window.session.experiment.set_devices(DeviceList())
    window.show_devices()
    assert grey(window, name, "No device here can run work.")


def test_what_has_nothing_to_do_says_so(qtbot: QtBot, window: MainWindow) -> None:
    assert grey(window, "pin", "No run has begun yet.")
    assert grey(window, "export", "No run has begun yet.")
    assert grey(window, "undo", "No knob was moved.")
    assert grey(window, "redo", "No knob was taken back.")
    wait_measured(qtbot, window)
    for name in ("pin", "export", "stop"):
        assert action(window, name).isEnabled()
    window.session.set_live(False)
    assert grey(window, "stop", "Nothing is being measured.")
    window.session.experiment.set_size("N", 64)
    assert action(window, "undo").isEnabled()
    window.commands.undo.trigger()
    assert grey(window, "undo", "No knob was moved.")
    assert action(window, "redo").isEnabled()
    assert "Ctrl+Shift+Z" in action(window, "redo").toolTip()


def test_a_run_on_an_nvidia_gpu_can_be_analysed(qtbot: QtBot, window: MainWindow) -> None:
    run = wait_measured(qtbot, window)
    assert run.prepared is not None and run.record is not None
    device = msgspec.structs.replace(
        run.prepared.device, kind="gpu", hardware_id="GPU-1234", name="An NVIDIA GPU"
    )
    run.record.prepared = msgspec.structs.replace(run.record.prepared, device=device)
    assert "is another than this run's" in not_analysed(window.session)
    window.session.experiment.devices = DeviceList(devices=(device,))
    assert not_analysed(window.session) == ""
    window.session.no_profiler = "Nsight Compute is not installed: there is no 'ncu'; install it"
    window.show_state()
    assert grey(window, "analyse", "there is no 'ncu'; install it.")
    assert window.session.live
    window.session.no_profiler = ""
    run.origin = "yesterday.gpux"
    assert "yesterday.gpux" in not_analysed(window.session)
