"""The window as a user meets it: real engine, isolated settings, nothing left behind."""

from __future__ import annotations

import importlib.util
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE as DATA_VARIABLE
from gpuexplorer.core.shared_device import NICE_VARIABLE
from tests.support.forks import SERVERS

if importlib.util.find_spec("PySide6") is None:  # the rest of the product does not need Qt
    collect_ignore_glob = ["test_*.py"]
SCREEN = Path(__file__).with_name("screen.json")
os.environ.setdefault("QT_QPA_PLATFORM", f"offscreen:configfile={SCREEN}")

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication, QWidget

    from gpuexplorer.gui.main_window import MainWindow

OpenWindow = Callable[..., "MainWindow"]


def process_exists(pid: int) -> bool:
    """Return whether a process runs (a zombie does not)."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def command_of(pid: int) -> str:
    """Return a process's number with its command, whose it is, and since when."""
    try:
        one = psutil.Process(pid)
        return f"{pid} of {one.ppid()} since {one.create_time():.1f}: {' '.join(one.cmdline())}"
    except psutil.Error:
        return f"{pid}, which has just ended"


def _is_ours(thread: threading.Thread) -> bool:
    """Return whether a thread lives; a QThread's stand-in says nothing."""
    return thread.is_alive() and not thread.name.startswith("Dummy-")


@pytest.fixture(autouse=True)
def config_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the user's own settings out of it, and other tests' runs out of the history."""
    folder = tmp_path / "config"
    monkeypatch.setenv("GPUEXPLORER_CONFIG_DIR", str(folder))
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "data"))
    return folder


@pytest.fixture(autouse=True)
def no_calibration_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a device alone that has nothing to do; tests of what it does then set this again."""
    monkeypatch.setattr("gpuexplorer.gui.idle_calibration.IDLE_MS", 1_000_000_000)


@pytest.fixture(autouse=True)
def engines_come_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have engines leave the processor to windows: Live takes a whole core until one is closed."""
    monkeypatch.setenv(NICE_VARIABLE, "5")


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Fail a test that leaves a thread, an active timer or an engine behind, naming it."""
    before = set(threading.enumerate())
    children = {p.pid for p in psutil.Process().children(recursive=True)}
    yield
    limit = time.monotonic() + 30
    while True:
        threads = [t for t in threading.enumerate() if t not in before and _is_ours(t)]
        now = {p.pid for p in psutil.Process().children(recursive=True)}
        left = [pid for pid in now - children - SERVERS if process_exists(pid)]
        if not (threads or left) or time.monotonic() > limit:
            break
        time.sleep(0.02)
    assert not threads, f"threads left running: {[t.name for t in threads]}"
    assert not left, f"processes left running: {[command_of(pid) for pid in left]}"


def _windows() -> list[QWidget]:
    """Return the windows that are seen."""
    from PySide6.QtWidgets import QApplication

    return [window for window in QApplication.topLevelWidgets() if window.isVisible()]


@pytest.fixture(autouse=True)
def nothing_open() -> Iterator[None]:
    """Close what a test left open: it would lie where the next one moves its mouse."""
    before = _windows()
    yield
    for window in _windows():
        if window not in before:
            window.close()


@pytest.fixture
def open_window(qapp: QApplication) -> Iterator[OpenWindow]:
    """Return a function that opens the window as the command line does; it is closed again."""
    from PySide6.QtCore import QEvent, QTimer

    from gpuexplorer.gui import app

    opened: list[MainWindow] = []

    def open_one(*argv: str) -> MainWindow:
        _, window = app.create(argv)
        opened.append(window)
        return window

    yield open_one
    for window in opened:
        # A test that failed in between may have left changes, about which nobody would answer.
        window.sessions.may_close = lambda: True  # type: ignore[method-assign]
        window.engine.may_close = lambda: True  # type: ignore[method-assign]
        window.panels.kernel.editing.may_close = lambda: True  # type: ignore[method-assign]
        window.close()
        assert not window.session.worker.isRunning(), "the engine's thread was left running"
        assert not window.session.runs.isRunning(), "the store's thread was left running"
        for timer in window.findChildren(QTimer):
            assert not timer.isActive(), f"timer left: {timer.parent()!r}"
        window.deleteLater()
    qapp.processEvents()
    # Else they would be there until the next test waits: style and theme are set to every widget.
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture
def window(open_window: OpenWindow) -> MainWindow:
    """Return the window, just opened."""
    return open_window()
