"""What a process remembers from run to run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpuexplorer.backends.base import TimingChoice
from gpuexplorer.backends.opencl.backend import OpenCLBackend
from gpuexplorer.backends.opencl.runner import OpenCLRunner
from gpuexplorer.core.config import Block, RunRequest
from gpuexplorer.core.deadline import BUILD_DEADLINE_VARIABLE
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.measure.test_recipe import Diary
from tests.support.problems import MANIFEST

WORKLOAD = load()["matmul"]


@pytest.fixture
def laboratory() -> Iterator[Laboratory]:
    made = Laboratory(threads=1)
    yield made
    made.close()


@pytest.fixture
def plain_launches(monkeypatch: pytest.MonkeyPatch) -> list[Block | None]:
    """The block of each launch that was neither timed nor the first check."""
    found: list[Block | None] = []
    launch = OpenCLRunner.launch_plain

    def counted(self: OpenCLRunner) -> None:
        found.append(self.plan.config.block)
        launch(self)

    monkeypatch.setattr(OpenCLRunner, "launch_plain", counted)
    return found


def run(laboratory: Laboratory, *, in_search: bool, **request: object) -> None:
    wanted = RunRequest(workload="matmul", size={"N": 32}, device="cpu", **request)  # type: ignore[arg-type]
    config = complete(wanted, WORKLOAD, laboratory.devices())
    laboratory.run(
        WORKLOAD, config, Diary(), lambda: False,
        seconds=None, max_noise=None, allow_s=2.0, samples=1, in_search=in_search,
    )  # fmt: skip


def test_a_search_checks_each_program_twice_and_not_each_block(
    laboratory: Laboratory, plain_launches: list[Block | None]
) -> None:
    for block in ((8, 8), (16, 4), (32, 1)):
        run(laboratory, variant="naive", block=block, in_search=True)
    assert plain_launches == [(8, 8, 1)] * 2
    run(laboratory, variant="naive", precision="fp64", block=(8, 8), in_search=True)
    run(laboratory, variant="tiled", tunables={"TILE": 8}, in_search=True)
    run(laboratory, variant="tiled", tunables={"TILE": 16}, in_search=True)
    assert len(plain_launches) == 8


def test_a_run_of_its_own_is_checked_twice_each_time(
    laboratory: Laboratory, plain_launches: list[Block | None]
) -> None:
    for _ in range(2):
        run(laboratory, variant="naive", block=(8, 8), in_search=False)
    assert len(plain_launches) == 4


def test_a_configuration_is_timed_in_each_run_as_in_its_first(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = TimingChoice(group=40, short=True), TimingChoice(group=1, short=False)
    chosen = iter([first, None, second, None, None])
    kept: list[TimingChoice | None] = []

    def settle(
        self: OpenCLRunner, first_s: float, earlier: TimingChoice | None = None
    ) -> TimingChoice | None:
        kept.append(earlier)
        return next(chosen)

    monkeypatch.setattr(OpenCLRunner, "settle", settle)
    for block in ((8, 8), (8, 8), (8, 8), (16, 4), (8, 8)):
        run(laboratory, variant="naive", block=block, in_search=False)
    assert kept == [None, first, first, None, second]


def test_the_versions_of_what_is_loaded_are_read_once(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    versions = OpenCLBackend.versions

    def counted(self: OpenCLBackend) -> dict[str, str]:
        read.append("opencl")
        return versions(self)

    monkeypatch.setattr(OpenCLBackend, "versions", counted)
    config = complete(
        RunRequest(workload="matmul", variant="naive", size={"N": 32}, device="cpu"),
        WORKLOAD,
        laboratory.devices(),
    )
    device = laboratory.device(config.device)
    plan = make_plan(WORKLOAD, config, device)
    first, second = (laboratory.environment(plan, device) for _ in range(2))
    assert first == second and first.pyopencl
    assert read == ["opencl"]


def test_what_is_built_already_is_no_step_of_a_run(laboratory: Laboratory) -> None:
    def stages(block: Block) -> list[str]:
        request = RunRequest(
            workload="matmul", variant="naive", size={"N": 32}, device="cpu", block=block
        )
        diary = Diary()
        laboratory.run(
            WORKLOAD, complete(request, WORKLOAD, laboratory.devices()), diary, lambda: False,
            seconds=None, max_noise=None, allow_s=2.0, samples=1,
        )  # fmt: skip
        return diary.stages

    assert "build" in stages((8, 8, 1))
    assert "build" not in stages((16, 4, 1))


DOUBLES = """
__global__ void made(const real *A, real *B, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) B[i] = 2 * A[i];
}
"""


ANOTHER = MANIFEST[MANIFEST.index("[variants.only]") :]
"""Its only variant, once more."""


@pytest.mark.parametrize("reference", ['variant = "only"', 'python = "right.py:right"'])
@pytest.mark.parametrize(("said", "expected_s"), [(None, 120.0), ("30", 120.0), ("600", 600.0)])
def test_what_is_right_may_take_as_long_to_find_as_was_said(
    reference: str,
    said: str | None,
    expected_s: float,
    laboratory: Laboratory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(BUILD_DEADLINE_VARIABLE, raising=False)
    if said is not None:
        monkeypatch.setenv(BUILD_DEADLINE_VARIABLE, said)
    manifest = MANIFEST.replace('outputs = { B = "2 * A" }', reference)
    manifest += ANOTHER.replace("variants.only", "variants.another")
    files = {"made.cu": DOUBLES, "right.py": "def right(A):\n    return 2 * A\n"}
    workload = Workload(WorkloadSource(manifest=manifest, files=files, origin="made.toml"))
    request = RunRequest(workload="made", variant="another", device="cpu", precision="fp32")
    diary = Diary()
    laboratory.run(
        workload, complete(request, workload, laboratory.devices()), diary, lambda: False,
        seconds=None, max_noise=None, allow_s=2.0, samples=1,
    )  # fmt: skip
    found = dict(reversed(diary.deadlines_s))  # the first of each
    assert (found["check"], found["verify"]) == (expected_s, expected_s)
    assert diary.ready is not None and diary.ready.verified
