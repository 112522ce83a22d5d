"""What Python runs first in every program of a world: its clock, its frames, its device.

Each stand-in obeys an order, a file in the world's folder. A clock reads ``clock`` (seconds that
are added to the time); an engine hands its frames through a relay that reads ``frames`` (a word and
a number, see ``_relay``); a launch on the CPU device finds ``poison`` and says that the context is
lost. ``frames`` and ``poison`` hold for once.
"""

from __future__ import annotations

import datetime
import importlib.abc
import importlib.machinery
import importlib.util
import os
import struct
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

WORLD = os.environ.get("GPUEXPLORER_CHAOS", "")
RUNNER = "gpuexplorer.backends.opencl.runner"
PREAMBLE = b"\n\x00GPUEXPLORER-ENGINE\x00\n"
CLOCK_S = 0.05
"""Between two looks at the clock's order."""


def take_order(name: str) -> str | None:
    """Return an order and remove it, so that one program obeys it once; None for no order."""
    claimed = Path(WORLD, f"{name}.{os.getpid()}")
    try:
        os.rename(Path(WORLD, name), claimed)
    except OSError:
        return None
    text = claimed.read_text(encoding="ascii")
    claimed.unlink()
    return text


# ---- the clock


class _Clock:
    def __init__(self) -> None:
        self._due, self._shift_s = 0.0, 0.0

    @property
    def shift_s(self) -> float:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + CLOCK_S
            try:
                self._shift_s = float(Path(WORLD, "clock").read_text(encoding="ascii"))
            except (OSError, ValueError):
                self._shift_s = 0.0
        return self._shift_s


CLOCK = _Clock()
TRUE_TIME, TRUE_DATETIME = time.time, datetime.datetime


def _now_s() -> float:
    return TRUE_TIME() + CLOCK.shift_s


class _Moved(datetime.datetime):
    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return TRUE_DATETIME.fromtimestamp(_now_s(), tz)


def _move_clock() -> None:
    time.time = _now_s
    datetime.datetime = _Moved  # type: ignore[misc]


# ---- the device


class _Loader(importlib.abc.Loader):
    """Loads a module as its own loader does, then lays hands on it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        runner: Any = module
        true_launch = runner.OpenCLRunner.launch

        def launch(self: Any, count: int) -> Any:
            if take_order("poison") is not None:
                from gpuexplorer.core.errors import DeviceLost

                raise DeviceLost("the device's context is lost", remedy="the engine starts afresh")
            return true_launch(self, count)

        runner.OpenCLRunner.launch = launch


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Any, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != RUNNER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None:
            spec.loader = _Loader(spec.loader)
        return spec


# ---- the frames


def _relay_frames() -> None:
    """Put a process of our own between this engine and its client."""
    readable, writable = os.pipe()
    if os.fork() == 0:
        os.close(writable)
        try:
            _relay(readable, 1)
        finally:
            os._exit(0)
    os.close(readable)
    os.dup2(writable, 1)
    os.close(writable)


def _relay(source: int, target: int) -> None:
    """Hand frames on until an order says otherwise, or the engine has ended.

    ``cut``: half a frame, and the pipe is closed. ``garble``: a frame that is no message.
    ``length``: a frame that says it is endless. ``delay S``: half a frame, and the rest later.
    """
    devnull = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 2):  # this process must not hold what the client waits for
        os.dup2(devnull, descriptor)
    with os.fdopen(source, "rb") as stream:
        seen = b""
        while not seen.endswith(PREAMBLE):
            byte = stream.read(1)
            if not byte:
                return
            os.write(target, byte)
            seen = (seen + byte)[-len(PREAMBLE) :]
        while head := stream.read(4):
            body = stream.read(struct.unpack("<I", head)[0]) if len(head) == 4 else b""
            word, _, seconds = (take_order("frames") or "").partition(" ")
            half = len(body) // 2
            if word == "cut":
                _write(target, head + body[:half])
                return
            if word == "garble":
                body = b"\xc1" + body[1:]
            elif word == "length":
                head = b"\xff\xff\xff\xff"
            elif word == "delay":
                _write(target, head + body[:half])
                time.sleep(float(seconds))
                head, body = b"", body[half:]
            _write(target, head + body)


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]


if WORLD:
    _move_clock()
    sys.meta_path.insert(0, _Finder())
    _words = sys.orig_argv
    if "--framed" in _words and "gpuexplorer.engine" in _words:
        if os.environ.get("GPUEXPLORER_CHAOS_RELAY") and "--compile" not in _words:
            _relay_frames()
