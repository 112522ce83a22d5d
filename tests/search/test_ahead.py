"""Kernels are built ahead of their turn on a GPU, never while a CPU is measured."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpuexplorer.analysis.static import CompileRequest, KernelFigures
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.search.ahead import MOST_AHEAD, BuildAhead
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.support.problems import device

WAIT_S = 10.0
MATMUL = load()["matmul"]
CPU = device("opencl:0", threads=1)
GPU: DeviceInfo = device(
    "cuda:0", kind="gpu", hardware_id="GPU-1", features=("cuda", "sm_90", "sm_90a")
)
DEVICES = DeviceList(devices=(CPU, GPU))


class Compilers:
    """Stands in for compilers: remembers what it was asked for, and can be held up."""

    def __init__(self, *, fails: bool = False) -> None:
        self.asked: list[CompileRequest] = []
        self.begun = self.cancelled = 0
        self.fails = fails
        self.changed = threading.Condition()
        self.held = False

    def figures(self, requests: Sequence[CompileRequest]) -> list[list[KernelFigures]]:
        with self.changed:
            self.begun += 1
            self.changed.notify_all()
            while self.held and not self.cancelled:
                self.changed.wait(WAIT_S)
            self.asked += requests
            self.changed.notify_all()
        if self.fails:
            raise WorkFailed("the kernel does not compile")
        return []

    def cancel(self) -> None:
        with self.changed:
            self.cancelled += 1
            self.changed.notify_all()

    def wait_for(self, count: int) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: len(self.asked) >= count, WAIT_S)


def with_tiles(count: int) -> Workload:
    source = MATMUL.source
    tiles = ", ".join(map(str, range(1, count + 1)))
    manifest = source.manifest.replace(
        "values = [4, 8, 16, 32, 64]\ndefault = 16", f"values = [{tiles}]\ndefault = 1"
    )
    return Workload(WorkloadSource(manifest=manifest, files=source.files, origin=source.origin))


def coming(workload: Workload, count: int, on: str = "cuda:0") -> list[RunConfig]:
    request = RunRequest(workload="matmul", variant="tiled", device=on)
    axes = (Axis("tunable.TILE", tuple(range(1, count + 1))), Axis("block.x", (8, 16)))
    points = Space(request, axes).points(workload, DEVICES)
    return [p.config for p in points if p.config is not None]


def ahead(workload: Workload, compilers: Compilers) -> BuildAhead:
    return BuildAhead(workload, DEVICES, workers=2, compiler=lambda: compilers)


def test_every_build_but_the_first_is_made_once_as_the_engine_will_ask_for_it() -> None:
    workload, compilers = with_tiles(5), Compilers()
    builds = ahead(workload, compilers)
    builds.begin(coming(workload, 5))
    builds.at(0)
    assert compilers.wait_for(4)
    builds.close()
    assert sorted(r.defines["TILE"] for r in compilers.asked) == [2, 3, 4, 5]
    for request in compilers.asked:
        assert (request.arch, request.precision) == ("sm_90a", "fp32")
        assert request.entries == ("matrixMulTiled",)
        assert request.source == "tiled.cu"


def test_only_so_many_are_made_before_their_turn() -> None:
    count = MOST_AHEAD + 12
    workload, compilers = with_tiles(count), Compilers()
    configs = coming(workload, count)
    builds = ahead(workload, compilers)
    builds.begin(configs)
    builds.at(0)
    assert compilers.wait_for(MOST_AHEAD)
    assert len(compilers.asked) == MOST_AHEAD
    builds.at(len(configs) // 2)
    assert compilers.wait_for(count - 1)
    builds.close()
    assert len({r.defines["TILE"] for r in compilers.asked}) == count - 1


def test_nothing_is_built_while_a_cpu_is_measured() -> None:
    workload, compilers = with_tiles(6), Compilers()
    builds = ahead(workload, compilers)
    on_gpu = coming(workload, 6)
    builds.begin([*coming(workload, 3, "opencl:0"), *on_gpu])
    builds.at(0)
    builds.at(1)
    assert compilers.asked == []
    builds.at(6)  # the first on the GPU
    assert compilers.wait_for(1)
    builds.close()


def test_what_is_being_built_is_given_up_when_a_cpu_comes() -> None:
    workload, compilers = with_tiles(6), Compilers()
    compilers.held = True
    builds = ahead(workload, compilers)
    on_gpu = coming(workload, 6)
    builds.begin([*on_gpu, *coming(workload, 3, "opencl:0")])
    builds.at(0)
    with compilers.changed:
        assert compilers.changed.wait_for(lambda: compilers.begun > 0, WAIT_S)
    builds.at(len(on_gpu))
    builds.close()
    assert compilers.cancelled


def test_what_does_not_compile_is_left_to_the_engine() -> None:
    workload, compilers = with_tiles(6), Compilers(fails=True)
    builds = ahead(workload, compilers)
    builds.begin(coming(workload, 6))
    builds.at(0)
    assert compilers.wait_for(5)
    builds.close()


def test_libraries_and_cpus_start_no_thread() -> None:
    compilers = Compilers()
    builds = ahead(MATMUL, compilers)
    builds.begin(coming(MATMUL, 4, "opencl:0"))
    builds.at(0)
    builds.close()
    assert compilers.asked == []


def test_the_engines_build_finds_what_was_built_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real compiler: the very entry of the cache on disk that the engine looks for."""
    pytest.importorskip("cuda.bindings", reason="NVRTC is not installed")
    monkeypatch.setenv("GPUEXPLORER_CACHE_DIR", str(tmp_path))
    from gpuexplorer.backends.cuda.build import builder
    from gpuexplorer.workloads.planning import make_plan

    workload = with_tiles(2)
    configs = coming(workload, 2)
    builds = BuildAhead(workload, DEVICES, workers=1)
    builds.begin(configs)
    builds.at(0)
    folder = tmp_path / "nvrtc"
    done = threading.Event()
    for _ in range(600):
        if any(folder.glob("*.bin")) if folder.is_dir() else False:
            break
        done.wait(0.05)
    builds.close()
    before = {path.name for path in folder.glob("*.bin")}
    assert len(before) == 1
    plan = make_plan(workload, configs[2], GPU)
    assert plan.defines == {"TILE": 2}
    assert builder("sm_90a")(plan, plan.steps[0]).code
    assert {path.name for path in folder.glob("*.bin")} == before
