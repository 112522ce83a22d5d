"""Memory that runs out fails the run and nothing else: tried in an engine, under a low limit."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.backends.cpu import limited_groups
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import InputError, OutOfMemory
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.launcher import GOES_FIRST, go_first
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.measure.shortage import memory_limit, says_short_of_memory
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload

ROOM_B = 100 * 2**20
"""What the engine may take more than it has when the test begins."""
linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse by themselves")
WORKLOADS = load()


@pytest.fixture(scope="module")
def session() -> Iterator[EngineSession]:
    with EngineSession() as one:
        yield one


def data_B(pid: int) -> int:
    """Return what counts towards the limit of a process's data."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^VmData:\s+(\d+) kB", text, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def measure(session: EngineSession, name: str, variant: str, size: dict[str, int]) -> RunResult:
    request = RunRequest(workload=name, variant=variant, size=size, device="cpu")
    config = complete(request, WORKLOADS[name], session.devices())
    return session.measure(
        config, WORKLOADS[name], RunOptions(seconds=0.02, allow_long=True)
    ).result()


@linux
@pytest.mark.parametrize(
    ("name", "variant", "small", "large"),
    [
        ("vector_add", "numpy", {"N": 4096}, {"N": 100_000_000}),
        (
            "mlp_training", "torch",
            {"B": 4, "D": 16, "H": 16, "C": 4}, {"B": 65536, "D": 16, "H": 256, "C": 10},
        ),
    ],
)  # fmt: skip
def test_a_run_that_runs_out_leaves_the_session_as_it_was(
    session: EngineSession, name: str, variant: str, small: dict[str, int], large: dict[str, int]
) -> None:
    import resource

    if variant == "torch":
        pytest.importorskip("torch")
    memory = measure(session, name, variant, small).memory
    assert memory is not None and memory.predicted is not None
    assert (memory.counter is None) is (memory.reason is not None) is (variant == "numpy")
    pid = session.pid
    assert pid is not None
    limit = data_B(pid) + ROOM_B
    before = resource.prlimit(pid, resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))
    try:
        with pytest.raises(OutOfMemory) as failure:
            measure(session, name, variant, large)
        assert "was predicted" in failure.value.what
        assert "is kept" in failure.value.remedy
        # Under the same limit: what the failed run had is free again, in the same process.
        assert measure(session, name, variant, small).verified
        assert session.pid == pid
    finally:
        resource.prlimit(pid, resource.RLIMIT_DATA, before)


def test_a_run_that_cannot_fit_is_refused_before_anything_is_allocated(
    session: EngineSession,
) -> None:
    source = WORKLOADS["matmul"].source
    manifest = source.manifest.replace("max = 16384", "max = 8388608")
    workload = Workload(msgspec.structs.replace(source, manifest=manifest))
    request = RunRequest(workload="matmul", variant="numpy", size={"N": 64}, device="cpu")
    config = complete(request, workload, session.devices())
    huge = msgspec.structs.replace(config, size={"N": 524_288})
    assert session.measure(config, workload, RunOptions(seconds=0.02)).result().verified
    pid = session.pid
    with pytest.raises(InputError, match=r"6.60 TB of memory, and .* N = \d+ is the largest"):
        session.measure(huge, workload, RunOptions(seconds=0.02)).result()
    assert session.pid == pid


# ---- the limit


def on(kind: str) -> DeviceInfo:
    return DeviceInfo(
        id="x:0", hardware_id="x", name="X", backend="x", kind=kind, driver="1", compute_units=1
    )


@linux
def test_a_run_on_a_cpu_has_a_limit_and_one_on_a_gpu_none() -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    for device, free_B in ((on("gpu"), 1e9), (on("cpu"), None)):
        with memory_limit(device, free_B) as may_add_B:
            assert may_add_B is None
            assert resource.getrlimit(resource.RLIMIT_DATA) == before
    with memory_limit(on("cpu"), 1e9) as may_add_B:
        assert may_add_B is not None and may_add_B < 1e9
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        assert soft == pytest.approx(data_B(os.getpid()) + may_add_B, abs=64 * 2**20)
        assert hard == before[1]
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@linux
def test_a_stricter_limit_stays() -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    tight = data_B(os.getpid()) + 64 * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (tight, before[1]))
    try:
        with memory_limit(on("cpu"), 1e9):
            assert resource.getrlimit(resource.RLIMIT_DATA)[0] == tight
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] == tight
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


@pytest.mark.parametrize(
    ("error", "short"),
    [
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to"), True),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate"), True),
        (RuntimeError("std::bad_alloc"), True),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("no such place in memory"), False),
    ],
)
def test_errors_of_memory_are_told_from_others(error: Exception, short: bool) -> None:
    assert says_short_of_memory(error) is short


# ---- what the machine has


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_groups_that_limit_memory_are_found_in_both_versions(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    write(own, "0::/box/inner\n")
    write(tmp_path / "box/inner/memory.max", "max\n")
    write(tmp_path / "box/memory.max", "1000\n")
    assert [g for g, _ in limited_groups(tmp_path, own)] == [tmp_path / "box"]
    older = tmp_path / "older"
    write(older, "4:memory:/box\n3:cpuset:/box\n")
    write(tmp_path / "memory/box/memory.limit_in_bytes", "2000\n")
    write(tmp_path / "memory/memory.limit_in_bytes", "9223372036854771712\n")
    assert [g for g, _ in limited_groups(tmp_path, older)] == [tmp_path / "memory/box"]
    assert limited_groups(tmp_path, tmp_path / "nowhere") == ()


def test_an_engine_goes_before_the_window(tmp_path: Path) -> None:
    file = tmp_path / "oom_score_adj"
    for before, after in (("0\n", GOES_FIRST), ("900", 900)):
        file.write_text(before)
        go_first(file)
        assert int(file.read_text()) == after
    go_first(tmp_path / "nowhere")
