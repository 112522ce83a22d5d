"""A vector that lies where a GPU would stop is found on the CPU, which takes any address."""

from __future__ import annotations

import pytest

from gpuexplorer.core.errors import WrongResult
from tests.backends.opencl_support import device, made_workload, ready_runner

pytestmark = pytest.mark.skipif("Portable" in device().driver, reason="notes need C++ for OpenCL")

KERNEL = """\
struct pair {{ float first, second; }};
__device__ float sum(const float *p) {{ float2 v = *(const float2 *)p; return v.x + v.y; }}
__global__ void made(const float *A, float *B, int N) {{
    __shared__ __align__(16) float s[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    s[t] = A[i];
    __syncthreads();
    if (4 * i + 8 < N) {{ {} }}
}}
"""


@pytest.mark.parametrize(
    ("inside", "elements"),
    [
        ("float2 v = *reinterpret_cast<const float2*>(A + i); B[i] = v.x;", 8),
        ("float4 v = *(const float4 *)&A[2 * i]; B[i] = v.x;", 16),
        (
            "auto a = reinterpret_cast<const float4 *>(A + 1); float4 v = a[i]; B[i] = v.y;",
            16,
        ),
        ("*reinterpret_cast<float2 *>(&B[i]) = make_float2(A[i], A[i]);", 8),
        ("B[i] = sum(A + i);", 8),
        ("float2 v = *reinterpret_cast<float2 *>(s + t); B[i] = v.x;", 8),
        ("float4 v = __ldg(reinterpret_cast<const float4 *>(A + i)); B[i] = v.x;", 16),
    ],
)
def test_a_vector_at_an_address_of_its_elements_is_named_with_its_line(
    inside: str, elements: int
) -> None:
    runner, _ = ready_runner(
        made_workload(KERNEL.format(inside)), size={"N": 2000}, precision="fp32"
    )
    runner.launch(1)
    line = 2 if "sum" in inside else 8
    said = rf"^made\.cu:{line}: .* no multiple of {elements}, .*'misaligned address'"
    with pytest.raises(WrongResult, match=said):
        runner.check_alignment()
    runner.free()


@pytest.mark.parametrize(
    "inside",
    [
        "float4 v = reinterpret_cast<const float4 *>(A)[i]; B[4 * i] = v.x;",
        "float2 v = *(const float2 *)(A + 2 * i); B[i] = v.y;",
        "float3 v = *(const float3 *)(A + i); B[i] = v.z;",
        "pair v = *reinterpret_cast<const pair *>(A + i); B[i] = v.second;",
        "B[i] = sum(A + 4 * i);",
        "B[i] = reinterpret_cast<float4 *>(s)[t / 4].x;",
        "if (i < 0) B[i] = sum(A + i);",
    ],
)
def test_what_is_aligned_as_a_gpu_wants_it_passes(inside: str) -> None:
    runner, _ = ready_runner(
        made_workload(KERNEL.format(inside)), size={"N": 2000}, precision="fp32"
    )
    runner.launch(1)
    before = runner.download(("B",))["B"].tobytes()
    runner.check_alignment()
    assert runner.download(("B",))["B"].tobytes() == before
    runner.free()


def test_a_block_that_waits_for_those_before_it_is_not_run_alone() -> None:
    kernel = """\
__device__ int done = 0;
__global__ void made(const float *A, float *B, int N) {
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (threadIdx.x == 0) {
        while (atomicAdd(&done, 0) < blockIdx.x) { }
        atomicAdd(&done, 1);
    }
    if (i + 1 < N) *(float2 *)(B + i) = *(const float2 *)(A + i);
}
"""
    runner, _ = ready_runner(made_workload(kernel), size={"N": 2000}, precision="fp32")
    runner.check_alignment()
    runner.free()
