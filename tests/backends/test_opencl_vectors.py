"""CUDA's vector types on the CPU: its layout, its members, and no arithmetic that it lacks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.compile.prelude import opencl_prelude
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from tests.backends.opencl_support import made_workload, ready_runner

BASES = {
    "char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8,
    "longlong": 8, "ulonglong": 8, "float": 4, "double": 8,
}  # fmt: skip
LAYOUTS = {
    f"{base}{count}": (size * count, size if count == 3 else min(size * count, 16))
    for base, size in BASES.items()
    for count in (1, 2, 3, 4)
}
"""Bytes and alignment of each type in CUDA under Linux."""


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


def facts(lines: str, count: int, before: str = "") -> list[int]:
    """Return the whole numbers that a kernel stores in ``B``."""
    source = f"{before}\n__global__ void made(const int *A, int *B, int N)\n{{\n{lines}\n}}\n"
    arrays = (
        'A = { shape = ["N"], role = "in", type = "int" }\n'
        'B = { shape = ["N"], role = "out", type = "int" }'
    )
    workload = made_workload(source, arrays=arrays, block="[1]", grid="[1]")
    runner, _ = ready_runner(workload, size={"N": count}, precision="fp32")
    try:
        runner.launch(1)
        runner.check_guards()
        return [int(x) for x in runner.download(("B",))["B"]]
    finally:
        runner.free()


def test_every_type_has_cudas_size_and_alignment() -> None:
    lines = [
        f"    struct S_{name} {{ char first; {name} then; }};\n"
        f"    B[{2 * i}] = (int)sizeof({name});\n"
        f"    B[{2 * i + 1}] = (int)(sizeof(struct S_{name}) - sizeof({name}));"
        for i, name in enumerate(LAYOUTS)
    ]
    found = facts("\n".join(lines), 2 * len(LAYOUTS))
    assert dict(zip(LAYOUTS, zip(found[::2], found[1::2], strict=True), strict=True)) == LAYOUTS


def test_those_are_the_sizes_that_cudas_own_compiler_has() -> None:
    from gpuexplorer.compile.nvrtc import compile_kernels

    checks = "\n".join(
        f'static_assert(sizeof({n}) == {s} && alignof({n}) == {a}, "{n}");'
        for n, (s, a) in LAYOUTS.items()
        if n not in ("long4", "ulong4", "longlong4", "ulonglong4", "double4")  # named anew in 13
    )
    source = f"{checks}\n__global__ void k(float *A) {{ A[0] = 1.0f; }}\n"
    try:
        compile_kernels("k.cu", {"k.cu": source}, "sm_90")
    except CannotRunHere as error:
        pytest.skip(str(error))


def test_an_array_of_float3_is_read_as_it_lies_in_memory() -> None:
    source = """
__global__ void made(const float3 *A, float *B, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N / 3) {
        float3 v = A[i];
        v = make_float3(v.z, v.x, v.y);
        float3 *C = (float3 *)B;
        C[i] = v;
        B[3 * i + 2] += 1.0f;
    }
}
"""
    runner, inputs = ready_runner(made_workload(source), size={"N": 300}, precision="fp32")
    runner.launch(1)
    runner.check_guards()
    rolled = np.roll(inputs["A"].reshape(-1, 3), 1, axis=1)
    rolled[:, 2] += 1.0
    assert np.array_equal(runner.download(("B",))["B"].reshape(-1, 3), rolled)
    runner.free()


@pytest.mark.parametrize("name", ["float2", "float3", "float4", "int3", "uchar4", "double2"])
def test_arithmetic_that_cuda_leaves_to_the_user_is_refused(name: str) -> None:
    for line in (f"{name} s = x + x;", f"{name} s = x * 2;", f"{name} s = -x;", "x += x;"):
        text = f"{name} x; x.x = 1; {line} B[0] = (int)x.x;"
        with pytest.raises(WorkFailed, match=r"made\.cu:4: .*(?:invalid|viable)") as caught:
            facts(text, 1)
        assert name in caught.value.detail
        assert "gpux" not in str(caught.value) + caught.value.detail


CPP = """
inline __host__ __device__ float3 operator+(float3 a, float3 b)
{ return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
inline __device__ float3 operator*(const float3 &a, float s) { return {a.x * s, a.y * s, a.z * s}; }
inline __device__ void operator+=(float4 &a, float4 b) { a.x += b.x; a.w += b.w; }
__constant__ float4 table[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
__device__ float second(const float *p) { return p[1]; }
__constant__ float weights[3] = {0.5f, 0.25f, 0.125f};
struct Body { float4 place; float3 speed; };
union Words { float4 whole; float each[4]; };
__device__ Body moved(Body b, float t) { b.speed = b.speed * t; return b; }
"""


@pytest.fixture
def cpp() -> None:
    from tests.backends.opencl_support import device

    if "Portable" in device().driver:
        pytest.skip("operators need C++ for OpenCL")


def test_operators_of_ones_own_and_everything_else_that_structures_can(cpp: None) -> None:
    lines = """
    __shared__ float4 staged[2];
    float3 sum = make_float3(1, 2, 3) + make_float3(4, 5, 6) * 2.0f;
    B[0] = (int)sum.x; B[1] = (int)sum.z;
    float4 v = table[threadIdx.x + 1];
    v += table[0];
    B[2] = (int)v.x; B[3] = (int)v.w; B[4] = (int)v.y;
    staged[0] = v;
    __syncthreads();
    float4 copies[2] = {staged[0], {1, 2, 3, 4}}, none = {};
    B[5] = (int)(copies[0].w + copies[1].y + none.z);
    const float4 *wide = reinterpret_cast<const float4 *>(A);
    B[6] = (reinterpret_cast<const int4 *>(A)[1].y == A[5]) && wide[0].x == ((float *)A)[0];
    Body body = {{1, 2, 3, 4}, {5, 6, 7}};
    B[7] = (int)moved(body, 3.0f).speed.z;
    Words words;
    words.whole = v;
    B[8] = (int)words.each[3];
    B[9] = (int)(100 * second(weights));
    uint3 here = threadIdx;
    dim3 grid = gridDim, three(3);
    B[10] = here.x + grid.y + three.x + three.z;
    float4 chosen = N > 3 ? v : none;
    B[11] = (int)chosen.x;
"""
    assert facts(lines, 12, CPP) == [9, 15, 6, 12, 6, 14, 1, 21, 12, 25, 5, 6]


def test_a_constant_array_that_only_a_host_could_fill_is_refused() -> None:
    with pytest.raises(WorkFailed, match=r"made\.cu:1: '__constant__ float t\[16\]'.*no values"):
        facts("B[0] = (int)t[0];", 1, "__constant__ float t[16];")


@pytest.mark.parametrize("type_", ["int", "uint2", "int4", "float4", "double2"])
def test_what_is_written_past_the_caches_is_there_afterwards(type_: str) -> None:
    """Vectors go by an instruction of their own, which single elements have none for."""
    lines = f"{type_} *to = ({type_} *)B; const {type_} *from = (const {type_} *)A;\n"
    body = f"{lines}for (int i = 0; i * sizeof({type_}) < N * 4; i++) __stcs(to + i, from[i]);"
    assert facts(body, 64) == facts("for (int i = 0; i < N; i++) B[i] = A[i];", 64)


def test_a_vector_is_written_past_the_caches_and_one_element_is_not() -> None:
    prelude = opencl_prelude("fp32", {}, "clc++", "__stcs(p, v);", fp64=True)
    assert "__builtin_nontemporal_store(v.native" in prelude
    assert "nontemporal" not in opencl_prelude("fp32", {}, "clc++", "*p = v;", fp64=True)
