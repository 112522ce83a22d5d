"""Whether a window can open, told without opening one."""

from __future__ import annotations

import importlib.util
import socket
import sys

import pytest

from gpuexplorer.cli import display

pytestmark = pytest.mark.skipif(
    sys.platform in ("win32", "darwin"), reason="only X11 and Wayland can be absent"
)


@pytest.fixture(autouse=True)
def _no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    found = importlib.util.find_spec("json")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)


def test_without_a_display_there_is_a_reason() -> None:
    assert "there is no display" in (display.why_no_window() or "")


def test_without_qt_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert display.why_no_window() == "PySide6 is not installed"


@pytest.mark.parametrize("platform", ["vnc", "offscreen"])
def test_the_users_own_platform_counts(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", platform)
    assert display.why_no_window() is None


def test_wayland_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert display.why_no_window() is None


def test_a_dead_display_is_told_apart_from_a_live_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        name = f"127.0.0.1:{port - 6000}.0"
        monkeypatch.setenv("DISPLAY", name)
        server.listen()
        assert display.why_no_window() is None
    assert display.why_no_window() == f"the display {name} does not answer"


def test_a_local_display_that_nobody_serves_does_not_answer() -> None:
    assert not display.answers(":63999")
