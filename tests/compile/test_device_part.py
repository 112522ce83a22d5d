"""A whole program without its host code: every line keeps its number, device code its text."""

from __future__ import annotations

import pytest

from gpuexplorer.compile.device_part import device_part
from gpuexplorer.workloads.loader import load


def nothing(_: str) -> bool:
    return False


def of_the_toolkit(header: str) -> bool:
    return header in ("cuda_pipeline_primitives.h", "mma.h")


@pytest.mark.parametrize(
    ("name", "text"),
    [(f"{w.name}/{file}", text) for w in load().values() for file, text in w.source.files.items()],
)
def test_shipped_kernels_have_no_host_code(name: str, text: str) -> None:
    assert device_part(text, of_the_toolkit) == (text, [])


@pytest.mark.parametrize(
    "kept",
    [
        "typedef struct { float x; } P;",
        "const int sizes[3] = {1, 2, 3};",
        "enum E { X, Y };",
        "__device__ float d;",
        "__constant__ float c[4] = {1, 2, 3, 4};",
        'extern "C" { __global__ void k(float *A) { A[0] = 1; } }',
        "namespace a { __device__ int h(int n) { return n; } }",
        "template <int N> __device__ void f() { }",
        "#define RUN(x) do { x; } while (0)",
        "// int main() { return 0; }",
        "struct Q { float x; __device__ float t() { return x; } };",
        "extern __shared__ float tile[];",
        "using real4 = float4;",
    ],
)
def test_what_a_kernel_may_need_stays(kept: str) -> None:
    assert device_part(kept, nothing) == (kept, [])


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("int main()\n{\n    k<<<1, 2>>>();\n}\n", ["main()"]),
        ("template <typename T> static void run(T x) { x(); }", ["run()"]),
        ("#include <vector>\n", ["<vector>"]),
        ("float *memory; std::vector<float> v;", []),
        ("void fill(float *v, int n = 3);", []),
        ("static float table[2] = {1, 2};", []),
    ],
)
def test_host_code_becomes_spaces(text: str, left_out: list[str]) -> None:
    out, names = device_part(text, nothing)
    assert names == left_out
    assert out.split() == []
    assert [len(line) for line in out.split("\n")] == [len(line) for line in text.split("\n")]


def test_constants_that_are_computed_stay_for_the_kernels() -> None:
    out, names = device_part("template <int N> constexpr int f() { return N; }", nothing)
    assert out == "template <int N> __device__ constexpr int f() { return N; }"
    assert names == []


def test_headers_that_are_there_stay() -> None:
    text = '#include <cuda_fp16.h>\n#include "mine.cuh"\n#include <stdio.h>\n#include <map>\n'
    out, names = device_part(text, {"cuda_fp16.h", "mine.cuh"}.__contains__)
    assert names == ["<map>"]
    assert out == text.replace("#include <map>", " " * 14)
