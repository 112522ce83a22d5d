"""A kernel that overwrites its input is named, and the next one finds intact inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gpuexplorer.backends.base import Batch
from gpuexplorer.backends.opencl.runner import OpenCLRunner
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import WrongResult
from gpuexplorer.measure.job import Stopped
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.measure.test_recipe import Diary

MANIFEST = """
format = 1
name = "made"
title = "Made"
summary = "Made in a test."
[sizes.N]
max = 1048576
default = 1000
[precisions]
fp32 = { tolerance = 1e-6 }
bf16 = { tolerance = 1e-2 }
[arrays]
A = { shape = ["N"], role = "in" }
K = { shape = ["N"], role = "in", type = "int" }
B = { shape = ["N"], role = "out" }
[work]
flops = "N"
read_bytes = "N * itemsize"
write_bytes = "N * itemsize"
[reference]
outputs = { B = "A + K" }
"""
VARIANT = """
[variants.{name}]
title = "A variant"
teaches = "Nothing."
"""
LAUNCH = """
[[variants.{name}.launch]]
source = "made.cu"
entry = "{entry}"
block = [64]
grid = ["ceil_div(N, block_x)"]
args = ["A", "K", "B", "N"]
"""
KERNELS = {
    "right": "B[i] = A[i] + (real)(float)K[i];",
    "overwrites": "B[i] = A[i] + (real)(float)K[i]; A[i] = B[i];",
    "one_index": "B[i] = A[i] + (real)(float)K[i]; if (i == N - 1) K[i] += 1;",
    "at_last": "B[i] = A[i] + (real)(float)K[i]; if (i == N / 2) A[i] = A[i] + A[i];",
    "clears": "K[i] = 0;",
}
VARIANTS = {**{name: [name] for name in KERNELS}, "pipeline": ["right", "clears"]}


def workload() -> Workload:
    source = "\n".join(
        f"__global__ void {name}(real *A, int *K, real *B, int N) {{\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"    if (i < N) {{ {body} }}\n}}"
        for name, body in KERNELS.items()
    )
    manifest = MANIFEST + "".join(
        VARIANT.format(name=name) + "".join(LAUNCH.format(name=name, entry=e) for e in entries)
        for name, entries in VARIANTS.items()
    )
    return Workload(WorkloadSource(manifest=manifest, files={"made.cu": source}))


@pytest.fixture
def laboratory() -> Iterator[Laboratory]:
    made = Laboratory(threads=1)
    yield made
    made.close()


def run(
    laboratory: Laboratory,
    variant: str,
    sink: Diary | None = None,
    *,
    in_search: bool = False,
    precision: str | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> None:
    made = workload()
    wanted = RunRequest(workload="made", variant=variant, device="cpu", precision=precision)
    laboratory.run(
        made, complete(wanted, made, laboratory.devices()), sink or Diary(), cancelled,
        seconds=None, max_noise=None, allow_s=2.0, samples=3, in_search=in_search,
    )  # fmt: skip


@pytest.mark.parametrize("in_search", [False, True])
@pytest.mark.parametrize(
    ("variant", "array"),
    [("overwrites", "A"), ("one_index", "K"), ("at_last", "A"), ("pipeline", "K")],
)
def test_a_kernel_that_overwrites_its_input_is_named_and_the_next_one_is_right(
    laboratory: Laboratory, variant: str, array: str, in_search: bool
) -> None:
    """As in a comparison, whose turns come back to each: the right one stays right."""
    for _ in range(2):
        run(laboratory, "right", in_search=in_search)
        with pytest.raises(WrongResult) as caught:
            run(laboratory, variant, in_search=in_search)
        assert caught.value.what == f"made/{variant} overwrites its input '{array}'"
        assert "inout" in caught.value.remedy
    run(laboratory, "right", in_search=in_search)


def test_an_input_of_bf16_is_compared_as_it_was_stored(laboratory: Laboratory) -> None:
    run(laboratory, "right", precision="bf16")
    with pytest.raises(WrongResult, match="overwrites its input 'A'"):
        run(laboratory, "overwrites", precision="bf16")
    run(laboratory, "right", precision="bf16")


def test_an_input_overwritten_while_launches_were_timed_is_noticed(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launch that was checked may leave alone what a later one does not."""
    sink, launch = Diary(), OpenCLRunner.launch

    def spoiling(self: OpenCLRunner, count: int) -> Batch:
        batch = launch(self, count)
        if sink.ready is not None:
            self.upload({"A": self.download(("A",))["A"] + 1})
        return batch

    with monkeypatch.context() as patch:
        patch.setattr(OpenCLRunner, "launch", spoiling)
        with pytest.raises(WrongResult, match="made/right overwrites its input 'A'"):
            run(laboratory, "right", sink)
    run(laboratory, "right")


def test_what_a_run_that_was_stopped_before_its_check_overwrote_is_there_again(
    laboratory: Laboratory,
) -> None:
    sink = Diary()
    with pytest.raises(Stopped):
        run(laboratory, "overwrites", sink, cancelled=lambda: "predict" in sink.stages)
    run(laboratory, "right", again := Diary())
    assert "upload" in again.stages and "allocate" not in again.stages


def test_arrays_that_are_intact_are_not_copied_again(laboratory: Laboratory) -> None:
    run(laboratory, "right")
    run(laboratory, "right", again := Diary())
    assert "upload" not in again.stages
