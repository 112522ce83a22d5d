"""The window as a screen reader meets it: by the accessibility bus and the keyboard alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.chaos.display import Display
from tests.support.atspi import CHECKED, Reader, Thing, eventually

MOST_TABS = 80
WINDOW = """
from gpuexplorer.gui import app

application, window = app.create([])
window.activateWindow()  # a window manager does this, and here is none
app.end(window, application.exec())
"""

AT_EXIT = """
import atexit, os
import shiboken6
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QWidget
from gpuexplorer.gui.speech import speak

class Painted(QWidget):
    def spoken(self):
        return "three bars"

application = QApplication([])
atexit.register(lambda: os._exit(1 if shiboken6.isValid(said_by) else 0))
speak()
painted = Painted()
said_by = QAccessible.queryAccessibleInterface(painted)
assert said_by.text(QAccessible.Text.Name) == "three bars"
"""


@contextmanager
def running(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """A session of its own: a display, a bus, the window, and who reads it."""
    display = Display("1280x800")
    environment = {
        **os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_RUNTIME_DIR": str(tmp_path), "DISPLAY": display.name, "QT_QPA_PLATFORM": "xcb",
        "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "GPUEXPLORER_LANGUAGE": "en",
        "GPUEXPLORER_CONFIG_DIR": str(tmp_path), "GPUEXPLORER_DATA_DIR": str(tmp_path),
    }  # fmt: skip
    bus = ["dbus-daemon", "--session", "--nofork", "--print-address"]
    try:
        with running(bus, environment) as daemon:
            assert daemon.stdout is not None
            address = environment["DBUS_SESSION_BUS_ADDRESS"] = daemon.stdout.readline().strip()
            reader = Reader(address)
            with running([sys.executable, "-c", WINDOW], environment):
                yield reader
    finally:
        display.end()


def tab_to(reader: Reader, window: Thing, role: str, *, name: str = "", label: str = "") -> Thing:
    """Press Tab until the focus is there."""
    for _ in range(MOST_TABS):
        thing = reader.focus(window)
        named = reader.name(thing).startswith(name) and (not label or reader.label(thing) == label)
        if reader.role(thing) == role and named:
            return thing
        reader.press("Tab")
        eventually(partial(moved, reader, window, thing))
    raise LookupError(f"Tab never comes to the {role} {name or label!r}")


def moved(reader: Reader, window: Thing, before: Thing) -> None:
    if reader.focus(window) == before:
        raise LookupError("the focus has not moved yet")


def is_on(reader: Reader, box: Thing) -> None:
    if not reader.is_in_state(box, CHECKED):
        raise LookupError("it is off")


def is_off(reader: Reader, box: Thing) -> None:
    if reader.is_in_state(box, CHECKED):
        raise LookupError("it is on")


def test_a_block_is_chosen_measured_and_heard_without_eyes_or_mouse(reader: Reader) -> None:
    window = eventually(lambda: reader.window("GPU Explorer"))
    reader.listen()
    live = eventually(lambda: reader.find(window, "check box", name="Live"))
    eventually(lambda: is_on(reader, live))  # by itself, at the first start
    reader.press("Esc")
    eventually(lambda: is_off(reader, live))

    workload = tab_to(reader, window, "combo box", label="Workload")
    reader.press(*"vec")
    eventually(lambda: reader.find(window, "combo box", name="Vector add"))
    assert reader.name(workload) == "Vector add"
    block = tab_to(reader, window, "spin box", name="along x")
    reader.press(*"64", "Enter")
    reader.find(window, "label", name="64 threads in a block")
    assert reader.get(block, "Value", "CurrentValue") == 64

    reader.press("Space")
    eventually(lambda: is_on(reader, live))
    heard = reader.hear(60)
    while "Verified" not in heard:
        heard = reader.hear(60)
    assert re.match(r"[\d.]+ [µm]?s, .*95 %.* samples, ✓ Verified", heard)
    plot = reader.find(window, "chart", name="Time per launch")
    assert re.match(r"Half of [\d\u202f]+ samples are less than .*", reader.description(plot))
    assert "block 64" in reader.name(reader.find(window, "label", name="vector_add · "))


def test_what_stands_for_a_chart_is_gone_before_python_ends() -> None:
    # Else it is freed twice, and the program that was closed in order ends with a crash.
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    ended = subprocess.run([sys.executable, "-c", AT_EXIT], env=environment, timeout=60)
    assert ended.returncode == 0
