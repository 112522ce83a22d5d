"""A leak is found; what an engine keeps on purpose is none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import msgspec
import psutil
import pytest

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.selftest import memory
from gpuexplorer.selftest.task import Found, Skipped
from tests.selftest.context_support import MadeContext, timed
from tests.support.problems import device

MiB = 2**20


class MadeProcess:
    """A process whose memory, files and threads a test decides."""

    bytes_ = 100 * MiB
    files = 8
    threads = 5

    def __init__(self, pid: int | None) -> None:
        assert pid == 1

    def memory_info(self) -> MadeProcess:
        return self

    @property
    def rss(self) -> int:
        return MadeProcess.bytes_

    def num_threads(self) -> int:
        return MadeProcess.threads

    def num_fds(self) -> int:
        return MadeProcess.files


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[MadeProcess]]:
    monkeypatch.setattr(psutil, "Process", MadeProcess)
    yield MadeProcess
    MadeProcess.bytes_, MadeProcess.files, MadeProcess.threads = 100 * MiB, 8, 5


def check(made: MadeContext, name: str) -> Found:
    (task,) = [t for t in memory.plan(made.context) if name in t.name]
    return task.do()


def test_an_engine_that_keeps_its_size_passes() -> None:
    made = MadeContext(lambda c: timed(c, 1e-4))
    found = check(made, "memory of the engine")
    assert found.figures["batches"] == 1
    sizes = [c.size["N"] for c in made.measured]
    assert all(a != b for a, b in pairwise(sizes))  # arrays are made anew


def test_an_array_lost_in_each_run_is_a_leak(process: type[MadeProcess]) -> None:
    def answer(config: RunConfig) -> RunResult:
        process.bytes_ += MiB
        return timed(config, 1e-4)

    with pytest.raises(WorkFailed, match=r"grew by .* in 48 runs"):
        check(MadeContext(answer), "memory of the engine")


def test_what_is_kept_once_is_no_leak(process: type[MadeProcess]) -> None:
    seen = 0

    def answer(config: RunConfig) -> RunResult:
        nonlocal seen
        seen += 1
        process.bytes_ += 2 * MiB * (seen <= 60)
        return timed(config, 1e-4)

    found = check(MadeContext(answer), "memory of the engine")
    assert found.figures["batches"] == 2


def test_files_left_open_are_found(process: type[MadeProcess]) -> None:
    def answer(config: RunConfig) -> RunResult:
        process.files += 1
        return timed(config, 1e-4)

    with pytest.raises(WorkFailed, match="open files after 48 runs"):
        check(MadeContext(answer), "open files")


def test_a_few_files_more_or_less_are_not_called_as_before(process: type[MadeProcess]) -> None:
    seen = 0

    def answer(config: RunConfig) -> RunResult:
        nonlocal seen
        seen += 1
        process.files += 20 <= seen < 24
        process.threads -= seen == 20
        return timed(config, 1e-4)

    found = check(MadeContext(answer), "open files")
    assert found.words == (
        "12 open files, 8 before (4 more are tolerated); 4 threads, 5 before (4 more are tolerated)"
    )
    steady = check(MadeContext(lambda c: timed(c, 1e-4)), "open files")
    assert steady.words == "12 open files, as before; 4 threads, as before"


def test_a_cpu_has_no_memory_of_its_own() -> None:
    with pytest.raises(Skipped, match="engine's own"):
        check(MadeContext(lambda c: timed(c, 1e-4)), "memory of the device")


def gpu_run(config: RunConfig, held_B: float | None) -> RunResult:
    result = timed(config, 1e-4)
    telemetry = msgspec.structs.replace(result.telemetry, memory_used_B=held_B)
    return msgspec.structs.replace(result, telemetry=telemetry)


GPU = device("cuda:0", kind="gpu", compute_capability=(9, 0))


def test_a_leak_on_the_device_is_found() -> None:
    held_B = 0.0

    def answer(config: RunConfig) -> RunResult:
        nonlocal held_B
        held_B += 3 * MiB
        return gpu_run(config, held_B)

    with pytest.raises(WorkFailed, match="the device's memory grew by"):
        check(MadeContext(answer, GPU), "memory of the device")


def test_a_device_that_keeps_its_memory_passes() -> None:
    made = MadeContext(lambda c: gpu_run(c, 5e8), GPU)
    assert check(made, "memory of the device").figures["grown_in_last_batch_B"] == 0


def test_a_device_whose_memory_cannot_be_read_is_no_failure() -> None:
    with pytest.raises(Skipped, match="cannot be read"):
        check(MadeContext(lambda c: gpu_run(c, None), GPU), "memory of the device")


def test_an_engine_that_was_replaced_is_told() -> None:
    made = MadeContext(lambda c: timed(c, 1e-4))

    def answer(config: RunConfig) -> RunResult:
        made.pid = 1 if len(made.measured) < 30 else 2
        return timed(config, 1e-4)

    made.answer = answer
    with pytest.raises(WorkFailed, match="started again"):
        check(made, "memory of the engine")
