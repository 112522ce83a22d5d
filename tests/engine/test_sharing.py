"""An engine waits for others on its device, where that is chosen, and says for whom."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import psutil
import pytest

from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sample import DeviceUser, Reading
from gpuexplorer.core.shared_device import NICE_VARIABLE, WHEN_SHARED_VARIABLE
from gpuexplorer.engine import protocol, server
from gpuexplorer.engine.outbox import Outbox
from gpuexplorer.engine.receiver import Receiver
from gpuexplorer.engine.server import Server
from gpuexplorer.engine.session import EngineSession, RunProgress
from gpuexplorer.measure.job import Stopped
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from tests.telemetry.stand_ins import gpu

CONFIG = RunConfig(workload="w", variant="v", size={"N": 1}, precision="fp32", device="cuda:0")
BUSY = DeviceUser(pid=7, program="python", user="anna", load=0.5)
IDLE = DeviceUser(pid=8, program="jupyter", load=0.0)
PATIENCE_S = 60.0


class Card:
    """A device and its readings, in the place of a laboratory and of a sampler."""

    def __init__(self) -> None:
        self.latest: Reading | None = None

    def device(self, name: str) -> Any:
        return gpu()

    def watch(self, device: Any) -> None:
        pass

    def show(self, *users: DeviceUser, t_ns: int = 0) -> None:
        self.latest = Reading(t_ns=t_ns, source="nvml", users=users)


def waiting(card: Card) -> tuple[Server, io.BytesIO, threading.Thread, list[str]]:
    """Begin a run that waits; return what it told and how it ended, once it has."""
    told, ended = io.BytesIO(), cast("list[str]", [])
    one = Server(io.BytesIO(), told, 1)
    one._laboratory = one._sampler = cast(Any, card)
    one._outbox = Outbox(told)
    one._latest = 1
    run = protocol.Run(generation=1, config=CONFIG, workload_sha256="", waits=True)

    def wait() -> None:
        try:
            one._wait_for_others(run, lambda: one._cancelled >= 1)
            ended.append("free")
        except Stopped:
            ended.append("stopped")
        one._outbox.close()

    thread = threading.Thread(target=wait)
    thread.start()
    return one, told, thread, ended


def test_it_waits_while_another_works_there_and_says_so() -> None:
    card = Card()
    card.show(BUSY, IDLE)
    _, told, thread, ended = waiting(card)
    until(lambda: b"wait" in told.getvalue())
    assert not ended
    card.show(IDLE)  # which holds memory and does nothing
    thread.join(PATIENCE_S)
    assert ended == ["free"]


def test_it_can_be_cancelled() -> None:
    card = Card()
    card.show(BUSY)
    one, told, thread, ended = waiting(card)
    until(lambda: b"wait" in told.getvalue())
    one._take(protocol.Cancel(generation=1))
    thread.join(PATIENCE_S)
    assert ended == ["stopped"]


def test_it_says_that_it_has_begun_before_it_knows_who_else_is_there() -> None:
    """A client that hears nothing takes it to be at the run before, which was to end."""
    one, told, thread, ended = waiting(Card())
    until(lambda: b"check" in told.getvalue() or bool(ended))
    assert not ended
    one._take(protocol.Cancel(generation=1))
    thread.join(PATIENCE_S)
    assert ended == ["stopped"]


def test_where_nothing_tells_who_else_there_is_it_does_not_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "FIRST_LOOK_S", 0.1)
    one, told, thread, ended = waiting(Card())
    thread.join(PATIENCE_S)
    assert ended == ["free"]
    assert one._untold == {gpu().hardware_id}
    assert b"wait" not in told.getvalue()


# ---- in a real engine, beside a program that keeps the processor busy


@pytest.fixture
def busy() -> Iterator[psutil.Process]:
    """A program of others: none of this process's children."""
    script = (
        "import subprocess, sys; null = subprocess.DEVNULL; print(subprocess.Popen("
        "[sys.executable, '-c', 'while True: pass'], stdout=null, stderr=null).pid)"
    )
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    process = psutil.Process(int(made.stdout))
    yield process
    if process.is_running():
        process.kill()


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="others are told apart on Linux")
def test_a_busy_processor_is_waited_for_as_a_card_is(
    busy: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WHEN_SHARED_VARIABLE, "wait")
    monkeypatch.setenv(NICE_VARIABLE, "3")
    said: list[str] = []
    workload = load()["vector_add"]
    with EngineSession(threads=1, on_shared=said.append) as session:
        request = RunRequest(workload=workload.name, variant="numpy", device="numpy:cpu")
        config = complete(request, workload, session.devices())
        assert session.pid is not None
        assert psutil.Process(session.pid).nice() == min(os.nice(0) + 3, 19)

        def look(progress: RunProgress) -> None:
            if progress.stage == "wait" and said:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            session.measure(config, workload, RunOptions(samples=3), on_progress=look)
        met = Reading(t_ns=0, source="nvml", users=(BUSY,))
        session._receiver = Receiver(config)  # as while it is checked and built
        for _ in range(2):
            session._on_event(protocol.Telemetry(device=config.device, reading=met))
    assert said[0].startswith("waiting until ")
    assert "other programs keep this CPU busy" in said[0]
    (warning,) = said[1:]
    assert warning.endswith("is shared: python of user anna (50 % busy) uses this GPU")
