"""Barriers at which a block's threads vote: right on the CPU, or refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.compile.rewriter import rewrite
from gpuexplorer.core.errors import WorkFailed
from tests.backends.opencl_support import device, made_workload, ready_runner

pytestmark = pytest.mark.skipif("Portable" in device().driver, reason="plain C has no votes")


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


SOURCE = """
__global__ void made(const int *A, int *B, int N)
{
    __shared__ int staged[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    staged[threadIdx.x] = A[i];
    int count = __syncthreads_count(staged[threadIdx.x] > 0);
    if (count > 3) __syncthreads();
    int next = staged[(threadIdx.x + 1) % blockDim.x];
    int all = __syncthreads_and(A[i] > -5), any = __syncthreads_or(A[i] == 4);
    int rounds = 0, left = A[i];
    while (__syncthreads_or(left > 0)) {
        staged[threadIdx.x] = left;
        __syncthreads();
        left -= 1;
        rounds++;
    }
    B[i] = count * 1000 + (all != 0) * 100 + (any != 0) * 10 + rounds + 100000 * (next + 4);
}
"""


@pytest.mark.parametrize("block", [1, 7, 32, 64, 100, 256])
def test_votes_count_every_thread_of_the_block(block: int) -> None:
    arrays = (
        'A = { shape = ["N"], role = "in", type = "int", fill = "integers" }\n'
        'B = { shape = ["N"], role = "out", type = "int" }'
    )
    workload = made_workload(SOURCE, arrays=arrays)
    runner, inputs = ready_runner(workload, size={"N": 5 * block}, block=(block,), precision="fp32")
    runner.launch(2)
    runner.check_guards()
    found = runner.download(("B",))["B"].reshape(5, block)
    runner.free()
    a = inputs["A"].reshape(5, block)
    whole = (a > 0).sum(1) * 1000 + 100 + (a == 4).any(1) * 10 + np.maximum(a.max(1), 0)
    assert np.array_equal(found, whole[:, None] + 100000 * (np.roll(a, -1, 1) + 4))


def test_a_vote_that_only_some_threads_reach_is_refused() -> None:
    for inside in (
        "if (threadIdx.x < 3) x = __syncthreads_or(1);",
        "if (threadIdx.x < 3 && __syncthreads_or(1)) x = 1;",
        "if (threadIdx.x < 3) return; x = __syncthreads_count(1);",
    ):
        source = f"__global__ void k(int *A) {{ int x = 0; {inside} A[0] = x; }}\n"
        with pytest.raises(WorkFailed, match=r"k\.cu:1: .*(depends on the thread|a return before)"):
            rewrite("k.cu", {"k.cu": source})


def test_where_the_language_has_no_votes_the_reason_is_said() -> None:
    source = "__global__ void k(int *A) {\n    A[0] = __syncthreads_count(1);\n}\n"
    with pytest.raises(WorkFailed, match=r"k\.cu:2: __syncthreads_count\(\), which this driver's"):
        rewrite("k.cu", {"k.cu": source}, "c")
