"""A launch for a profiler: the request, the program that runs it, and the engine's answer."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from gpuexplorer.backends.cuda.driver import Driver
from gpuexplorer.core.deadline import BUILD_DEADLINE_VARIABLE
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.telemetry import Counters
from gpuexplorer.engine import protocol
from gpuexplorer.engine.profile import profile_command, profile_environment
from gpuexplorer.engine.server import Server
from gpuexplorer.telemetry import ncu
from gpuexplorer.telemetry.ncu import FAILED_MARK
from gpuexplorer.workloads.loader import load
from tests.support.results import made_config


def request(device: str = "opencl:0") -> protocol.Run:
    workload = load([])["vector_add"]
    return protocol.Run(
        generation=1,
        config=made_config(
            workload="vector_add", variant="direct", size={"N": 1000}, device=device,
            block=(64, 1, 1), grid=(16, 1, 1), threads=1,
        ),
        workload_sha256=workload.sha256,
        workload=workload.source,
        recording="counters",
    )  # fmt: skip


@pytest.mark.skipif(Driver.load() is not None, reason="here the marks can be set")
def test_the_program_runs_the_launch_and_says_in_a_line_what_stops_it(tmp_path: Path) -> None:
    path = tmp_path / "request"
    path.write_bytes(msgspec.msgpack.encode(request()))
    done = subprocess.run(
        profile_command(path, 1), env=profile_environment(300.0), capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    (line,) = [x for x in done.stdout.splitlines() if x.startswith(FAILED_MARK)]
    assert "no NVIDIA driver" in line  # it came as far as the marks around the launch
    path.write_bytes(b"torn")
    done = subprocess.run(
        profile_command(path, 1), env=profile_environment(300.0), capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert FAILED_MARK in done.stdout


def test_no_gate_stands_before_a_profiled_launch() -> None:
    assert profile_environment(300.0)["CUDA_LAUNCH_BLOCKING"] == "1"


class Messages:
    def __init__(self) -> None:
        self.put_in: list[protocol.Message] = []

    def put(self, message: protocol.Message) -> None:
        self.put_in.append(message)

    put_soon = put


def engine(hardware_id: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Server, Messages]:
    made, messages = Server(io.BytesIO(), io.BytesIO(), 1), Messages()
    device = DeviceInfo(
        id="cuda:0", hardware_id=hardware_id, name="Some device", backend="cuda", kind=kind,
        driver="", compute_units=1, runs_kernels=True, features=("cuda",),
    )  # fmt: skip
    released: list[int] = []
    made._laboratory = cast(
        Any, SimpleNamespace(device=lambda _: device, release=lambda: released.append(1))
    )
    made._sampler = cast(Any, SimpleNamespace(watch=lambda device: released.append(2)))
    made._outbox = cast(Any, messages)
    made._latest = 1
    run = request("cuda:0")
    assert run.workload is not None
    made._sources[run.workload_sha256] = run.workload
    monkeypatch.setattr(ncu, "find", lambda: "ncu")
    return made, messages


def test_the_engine_answers_with_what_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    made, messages = engine("GPU-1", "gpu", monkeypatch)
    counters = Counters(kernels=("vectorAdd",), dram_read_B=8e3, dram_write_B=4e3)

    def count(target: list[str], cancelled: Any, **options: Any) -> Counters:
        assert target[:1] == [sys.executable]
        asked = msgspec.msgpack.decode(Path(target[-1]).read_bytes(), type=protocol.Run)
        assert asked.workload is not None, "the sources travel with the request"
        assert asked.config.workload == "vector_add"
        assert options["cold"] is False
        assert not cancelled()
        for _ in range(2):
            options["begins"]()
        return counters

    monkeypatch.setattr(ncu, "count", count)
    assert made._answer_run(request("cuda:0"))
    *stages, counted = messages.put_in
    told = [stage.name for stage in stages if isinstance(stage, protocol.Stage)]
    assert told == ["check", "profile", "profile"], "each run has its time"
    assert counted == protocol.Counted(generation=1, counters=counters)


@pytest.mark.parametrize(("said_s", "has_s"), [(None, ncu.LIMIT_S), (5.0, ncu.LIMIT_S), (1e3, 1e3)])
def test_a_profiler_has_as_long_as_is_said(
    said_s: float | None, has_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BUILD_DEADLINE_VARIABLE, "" if said_s is None else str(said_s))
    made, messages = engine("GPU-1", "gpu", monkeypatch)
    given: list[float] = []

    def count(target: list[str], cancelled: Any, **options: Any) -> None:
        given.extend((options["limit_s"], float(options["environment"][BUILD_DEADLINE_VARIABLE])))
        options["begins"]()

    monkeypatch.setattr(ncu, "count", count)
    assert made._answer_run(request("cuda:0"))
    (stage,) = [m for m in messages.put_in if isinstance(m, protocol.Stage) and m.name == "profile"]
    assert stage.deadline_s is not None and stage.deadline_s > has_s
    assert given == [has_s, has_s], "and so has the program that it runs"


def test_a_cancelled_profiler_is_a_cancelled_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made, messages = engine("GPU-1", "gpu", monkeypatch)
    monkeypatch.setattr(ncu, "count", lambda *_, **__: None)
    assert made._answer_run(request("cuda:0"))
    assert messages.put_in[-1] == protocol.Cancelled(generation=1)


@pytest.mark.parametrize(("hardware", "kind"), [("cpu:X", "cpu"), ("0000:01:00.0", "gpu")])
def test_other_hardware_is_refused_in_a_sentence(
    hardware: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, messages = engine(hardware, kind, monkeypatch)
    assert made._answer_run(request("cuda:0"))
    failed = messages.put_in[-1]
    assert isinstance(failed, protocol.Failed)
    assert failed.exit_code == 3
    assert "NVIDIA GPUs alone, and Some device is none" in failed.what
