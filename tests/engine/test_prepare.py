"""An engine that only told its devices opens the one that runs kernels by itself, meanwhile."""

from __future__ import annotations

import io
import time
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from gpuexplorer.engine import protocol
from gpuexplorer.engine.server import Server
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.choose import find_device

LONG_S = 60.0


def has_loaded(pid: int, name: str) -> bool:
    return any(name in map_.path for map_ in psutil.Process(pid).memory_maps())


def test_the_driver_is_loaded_while_nothing_is_asked() -> None:
    with EngineSession(threads=1) as session:
        if find_device(session.devices(), "auto").backend != "opencl":
            pytest.skip("the device taken by itself is not OpenCL's")
        assert session.pid is not None
        limit = time.monotonic() + LONG_S
        while not has_loaded(session.pid, "pyopencl"):
            assert time.monotonic() < limit
            time.sleep(0.01)


def server(prepared: list[str], error: Exception | None = None) -> Server:
    def prepare() -> None:
        prepared.append("prepared")
        if error is not None:
            raise error

    made = Server(io.BytesIO(), io.BytesIO(), 1)
    made._laboratory = cast(Any, SimpleNamespace(prepare=prepare))
    return made


def test_what_is_asked_at_once_comes_first() -> None:
    prepared: list[str] = []
    one = server(prepared)
    one._take(protocol.Shutdown())
    one._prepare_while_idle()
    assert not prepared


def test_a_driver_that_fails_is_left_to_the_run_that_needs_it() -> None:
    prepared: list[str] = []
    server(prepared, OSError("no driver"))._prepare_while_idle()
    assert prepared
