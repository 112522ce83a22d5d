"""A source four times as long is read in about four times the time, whatever it is long of."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from gpuexplorer.compile.device_part import device_part
from gpuexplorer.compile.rewriter import rewrite

KERNEL = "__global__ void k{name}(const float *A, float *B, int N) {{\n{body}\n}}\n"


def many_kernels(number: int) -> str:
    """Return kernels that each have a name of their own for the thread's index."""
    return "".join(
        KERNEL.format(
            name=i,
            body=f"int t{i} = threadIdx.x; int i = blockIdx.x * blockDim.x + t{i};\n"
            f"__shared__ float s[8]; s[t{i}] = A[i]; B[i + gridDim.x] = s[0]; // the end",
        )
        for i in range(number)
    )


def chain_of_helpers(number: int) -> str:
    calls = "".join(
        f"__device__ float h{i}(float x) {{ return h{i + 1}(x); }}\n" for i in range(number)
    )
    last = f"__device__ float h{number}(float x) {{ return __shfl_sync(1, x, 2); }}\n"
    return calls + last + KERNEL.format(name="", body="B[0] = h0(A[0]);")


def chain_of_assignments(number: int) -> str:
    lines = "".join(f"x{i} = x{i + 1};\n" for i in range(number))
    return KERNEL.format(name="", body=f"{lines}x{number} = threadIdx.x; __syncthreads();")


def shared_arrays(number: int) -> str:
    lines = "".join(f"__shared__ float s{i}[4];\n" for i in range(number))
    return KERNEL.format(name="", body=f"{lines}B[0] = A[0];")


def unsigned_names(number: int) -> str:
    lines = "".join(f"unsigned u{i} = threadIdx.x; B[u{i}] = A[u{i} + 1];\n" for i in range(number))
    return KERNEL.format(name="", body=lines)


def host_functions(number: int) -> str:
    functions = "".join(f"void f{i}() {{ g{i}++; }}\nint g{i};\n" for i in range(number))
    return functions + KERNEL.format(name="", body="B[0] = A[0];")


def rewritten(text: str) -> object:
    return rewrite("a.cu", {"a.cu": text})


def for_nvrtc(text: str) -> object:
    return device_part(text, lambda name: True)


def least_s(work: Callable[[str], object], text: str) -> float:
    """Return the least processor time of a few tries."""
    took = []
    for _ in range(3):
        began = time.process_time()
        work(text)
        took.append(time.process_time() - began)
    return min(took)


@pytest.mark.parametrize(
    ("made", "number", "read"),
    [
        (many_kernels, 100, rewritten),
        (chain_of_helpers, 200, rewritten),
        (chain_of_assignments, 400, rewritten),
        (shared_arrays, 400, rewritten),
        (unsigned_names, 400, rewritten),
        (host_functions, 500, for_nvrtc),
    ],
)
def test_four_times_as_much_takes_about_four_times_as_long(
    made: Callable[[int], str], number: int, read: Callable[[str], object]
) -> None:
    assert least_s(read, made(4 * number)) < 10 * least_s(read, made(number))


def test_what_many_kernels_say_of_the_grid_is_counted_for_each() -> None:
    several = rewrite(
        "a.cu",
        {
            "a.cu": "__global__ void own(int *A) { A[0] = gridDim.x; }\n"
            "__global__ void none(int *A) { A[0] = 1; }\n"
        },
    ).kernels
    assert [(k.takes_grid, k.splittable) for k in several.values()] == [(True, True), (False, True)]
    helped = rewrite(
        "a.cu",
        {
            "a.cu": "__device__ int grid() { return gridDim.x; }\n"
            "__global__ void own(int *A) { A[0] = gridDim.x; }\n"
            "__global__ void none(int *A) { A[0] = grid(); }\n"
        },
    ).kernels
    assert not any(kernel.splittable for kernel in helped.values())
