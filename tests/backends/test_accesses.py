"""The accesses that kernels note on the CPU device are those that they make, and nothing else."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.core.accesses import AccessLook, AccessRow, Trace
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.workloads.loader import load, pick
from gpuexplorer.workloads.plan import KernelLaunch, Plan
from gpuexplorer.workloads.workload import Workload
from tests.backends.opencl_support import device, made_workload, plan_for, ready_runner
from tests.support import access_model as model
from tests.support.crossed import crossed
from tests.support.cuda_in_step import Place

pytestmark = pytest.mark.skipif("Portable" in device().driver, reason="notes need C++ for OpenCL")


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


FIRST = AccessLook()
Inputs = Mapping[str, npt.NDArray[Any]]


def trace(workload: Workload, look: AccessLook = FIRST, **request: Any) -> Trace:
    runner, _ = ready_runner(workload, **request)
    try:
        return runner.accesses(look)
    finally:
        runner.free()


@functools.cache
def shipped(name: str) -> Workload:
    return pick(load([]), name)


def counts(row: AccessRow) -> model.Counted:
    return model.Counted(
        row.requests, row.lanes, row.used_B, row.sectors, row.least_sectors,
        row.passes, row.least_passes,
    )  # fmt: skip


# ---- the shipped kernels against a model of their own

Blocks = Sequence[tuple[int, ...]]
FLAT: Blocks = [(x,) for x in (1, 7, 32, 33, 48, 64, 96, 100, 128, 256, 512, 1024)]
WARPS: Blocks = [(32 * x,) for x in (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32)]
ROWS: Blocks = [(32, y) for y in (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32)]
PLANE: Blocks = [(16, 16), (32, 8), (8, 32), (1, 64), (64, 1), (32, 32), (4, 4), (7, 5), (33, 3),
         (128, 2), (2, 128), (1, 1)]  # fmt: skip
SOLID: Blocks = [(8, 8, 4), (32, 4, 2), (4, 4, 4), (32, 1, 1), (1, 32, 1), (1, 1, 32), (7, 5, 3),
         (16, 2, 8), (2, 16, 4), (33, 1, 2), (64, 2, 1), (1, 1, 1)]  # fmt: skip
FIXED = {"block_x == 32": ROWS, "block_x % 32 == 0": WARPS, "block_x == 256": [(256,)]}
SIZES = {
    "attention": ("B=1 H=2 S=21 D=8", "B=2 H=1 S=40 D=16", "B=1 H=1 S=33 D=9"),
    "conv2d": ("B=1 C=2 K=3 H=12 R=3", "B=2 C=1 K=9 H=7 R=5", "B=1 C=3 K=2 H=16 R=1"),
    "histogram": ("N=1000 BINS=64", "N=4096 BINS=256", "N=9999 BINS=8"),
    "layer_norm": ("B=1 S=5 D=40", "B=2 S=3 D=128", "B=1 S=9 D=300"),
    "matmul": ("N=16", "N=45", "N=96"),
    "softmax": ("B=3 D=40", "B=17 D=256", "B=9 D=1001"),
    "spmv": ("N=50 K=4", "N=300 K=16", "N=1001 K=33"),
    "stencil2d": ("H=20 W=30", "H=64 W=64", "H=7 W=129"),
    "stencil3d": ("D=5 H=9 W=20", "D=16 H=16 W=32", "D=3 H=40 W=33"),
    "transpose": ("N=16", "N=45", "N=96"),
}
LINES = ("N=1000", "N=4096", "N=100000")
"""Sizes of the workloads that have a single vector."""
PRECISIONS = ("fp32", "fp64", "bf16", "fp16")
WRITTEN = [
    f"{workload.name}/{name}"
    for workload in load([]).values()
    for name, variant in workload.manifest.variants.items()
    if variant.launch and "cuda" not in variant.requires
]


def blocks_of(workload: Workload, variant: str) -> Blocks:
    """Return twelve shapes of the block that a variant takes, or the only one."""
    spec = workload.manifest.variants[variant]
    for rule in spec.constraints:
        if rule.rule in FIXED:
            return FIXED[rule.rule]
    return {1: FLAT, 2: PLANE, 3: SOLID}[len(spec.launch[-1].block)]


def case(name: str, turn: int) -> tuple[Workload, dict[str, Any]]:
    """Return what is run in a turn: a block, a size, a precision, and values of the tunables."""
    workload, variant = shipped(name.split("/")[0]), name.split("/")[1]
    blocks = blocks_of(workload, variant)
    sizes = SIZES.get(workload.name, LINES)[turn // 12].split()
    request: dict[str, Any] = {
        "variant": variant,
        "size": {name: int(number) for name, number in (one.split("=") for one in sizes)},
        "precision": PRECISIONS[(turn + turn // 12) % len(PRECISIONS)],
    }
    known = workload.manifest.variants[variant].tunables
    values = {n: t.values[turn // 2 % len(t.values)] for n, t in known.items() if t.values}
    for at, chosen in itertools.product(range(12), (values if turn % 2 else {}, {})):
        request |= {"block": blocks[(turn + at) % len(blocks)], "tunables": chosen}
        with suppress(InputError):  # more shared memory than there is
            plan_for(workload, **request)
            break
    return workload, request


@pytest.mark.parametrize(("name", "turn"), crossed(WRITTEN, range(36), every=3))
def test_counts_equal_those_of_an_independent_model(name: str, turn: int) -> None:
    """Every shipped kernel: in 36 turns twelve blocks in each of three sizes."""
    workload, request = case(name, turn)
    runner, inputs = ready_runner(workload, **request)
    try:
        for launch, step in enumerate(runner.plan.steps):
            grid_x, grid_y, grid_z = step.grid
            warps = -(-step.threads_per_block // 32)
            place = (turn * 7) % grid_x, (turn * 5) % grid_y, (turn * 3) % grid_z
            look = AccessLook(launch=launch, block=place, warp=turn % warps)
            check(runner.plan, step, inputs, look, runner.accesses(look))
    finally:
        runner.free()


def check(plan: Plan, step: KernelLaunch, inputs: Inputs, look: AccessLook, found: Trace) -> None:
    functions, arrays = model.functions_of(plan, step), model.arrays_of(plan, inputs)
    block, memory = model.run_block(plan, step, functions, arrays, look.block, look.warp)
    expected = model.counted(block.requests, memory)
    assert joined(found.rows) == expected
    assert found.requests_total == sum(one.requests for one in expected.values())
    for array in found.arrays:
        mine = memory[array.name]
        assert (array.warp_B, array.block_B) == (mine.of_warp.sum(), mine.of_block.sum())
        assert (array.block_read_B, array.block_written_B) == (mine.read_B, mine.written_B)


def joined(rows: tuple[AccessRow, ...]) -> dict[Place, model.Counted]:
    """Return the counts of what lies at the same line together."""
    found: dict[Place, model.Counted] = {}
    for row in rows:
        place = Place(row.line, row.kind, row.array, row.width_B)
        both = zip(found.get(place, (0,) * 7), counts(row), strict=True)
        found[place] = model.Counted(*(a + b for a, b in both))
    return found


BY_DAY = ("matmul/naive", "scan/look_back")


@pytest.mark.parametrize(
    "name",
    [name if name in BY_DAY else pytest.param(name, marks=pytest.mark.long) for name in WRITTEN],
)
def test_the_model_comes_to_what_the_kernel_comes_to(name: str) -> None:
    workload, request = case(name, 0)
    runner, inputs = ready_runner(workload, **request)
    plan = runner.plan
    try:
        runner.launch(1)
        outputs = runner.download(tuple(a.name for a in plan.outputs))
    finally:
        runner.free()
    arrays = model.arrays_of(plan, inputs)
    for step in plan.steps:
        functions = model.functions_of(plan, step)
        for x, y, z in itertools.product(*map(range, step.grid)):
            model.run_block(plan, step, functions, arrays, (x, y, z))
    for array, values in outputs.items():
        mine = arrays[array].view(values.dtype).reshape(values.shape)
        rounding = 1e-6 * np.abs(values).max()  # of long sums, which the model adds in float64
        assert np.allclose(mine, values, rtol=1e-5, atol=1e-5 + rounding), array


@pytest.mark.parametrize(
    ("block", "expected"),
    [((32, 8), {"A": 1, "B": 4, "C": 4}), ((1, 64), {"A": 32, "B": 1, "C": 32})],
)
def test_the_textbook_product_is_what_theory_says(
    block: tuple[int, int], expected: dict[str, int]
) -> None:
    matmul = shipped("matmul")
    found = trace(matmul, variant="naive", size={"N": 64}, block=block, precision="fp32")
    assert {row.array: row.sectors_per_request for row in found.rows} == expected


# ---- random index expressions

COUNTED = """
__global__ void made(const float *A, float *B, int N)
{{
    __shared__ float s[4096];
    int x = threadIdx.x, y = threadIdx.y, b = blockIdx.x;
    s[{index} & 4095] = A[{index} & 65535];
    __syncthreads();
    B[0] = s[0];
}}
"""


@st.composite
def expressions(draw: st.DrawFn) -> tuple[str, Callable[[int, int, int], int]]:
    """Draw an index of x, y and b as text, and as what computes it."""
    a, c, d, shift = (draw(st.integers(0, most)) for most in (70, 70, 300, 3))
    odd = draw(st.booleans())
    if odd:
        return f"((x * {a} ^ y * {c}) + b * {d})", lambda x, y, b: (x * a ^ y * c) + b * d
    return (
        f"((x << {shift}) + y * {c} + b * {d} + x / 3)",
        lambda x, y, b: (x << shift) + y * c + b * d + x // 3,
    )


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(expressions(), st.sampled_from([(32, 4), (8, 16), (5, 7), (64, 1)]), st.integers(0, 1))
def test_counts_of_random_indices_equal_the_model(
    drawn: tuple[str, Callable[[int, int, int], int]], block: tuple[int, int], place: int
) -> None:
    text, computed = drawn
    found = trace(
        made_workload(COUNTED.format(index=text), block="[32, 4]", grid="[2, 1]"),
        AccessLook(block=(place, 0, 0)),
        size={"N": 65536},
        block=block,
        precision="fp32",
    )
    at = [computed(lane % block[0], lane // block[0], place) for lane in range(math.prod(block))]
    read = [(lane, (one & 65535) * 4) for lane, one in enumerate(at[:32])]
    written = [(lane, (one & 4095) * 4) for lane, one in enumerate(at[:32])]
    mine = {(r.array, r.kind): counts(r) for r in found.rows}
    assert mine["A", "read"] == model.count_of(read, 4, in_banks=False)
    assert mine["s", "write"] == model.count_of(written, 4, in_banks=True)


# ---- what a kernel may be made of


def rows_of(body: str, **made: Any) -> dict[tuple[str, str], AccessRow]:
    request = {"size": {"N": 256}, "block": (64,), "precision": "fp32", **made.pop("request", {})}
    found = trace(made_workload(body, **made), **request)
    return {(row.text, row.kind): row for row in found.rows}


def kernel(body: str, before: str = "") -> str:
    head = "__global__ void made(const float *A, float *B, int N)\n{\nint i = threadIdx.x;"
    return f"{before}\n{head}\n{body}\n}}\n"


def test_wide_elements_are_requests_of_their_own_width() -> None:
    rows = rows_of(
        kernel(
            "float4 v = reinterpret_cast<const float4 *>(A)[i];\n"
            "const float2 *p = (const float2 *)A; float2 w = p[i];\n"
            "float y = ((const float4 *)A)[i].y;\n"
            "B[i] = v.x + w.y + y;"
        )
    )
    four = rows["reinterpret_cast<const float4 *>(A)[i]", "read"]
    assert (four.width_B, four.sectors, four.used_B, four.requests) == (16, 16, 512, 1)
    assert (rows["p[i]", "read"].width_B, rows["p[i]", "read"].sectors) == (8, 8)
    member = rows["((const float4 *)A)[i].y", "read"]
    assert (member.width_B, member.sectors, member.used_B) == (4, 16, 128)


def test_a_structure_comes_in_pieces_as_its_alignment_allows() -> None:
    before = "struct Three { float a, b, c; };"
    rows = rows_of(
        kernel("Three t = ((const Three *)A)[i]; B[i] = t.a + ((const Three *)A)[i].b;", before)
    )
    whole = rows["((const Three *)A)[i]", "read"]
    assert (whole.width_B, whole.requests, whole.lanes) == (4, 3, 96)
    assert rows["((const Three *)A)[i].b", "read"].sectors == 12


def test_wide_elements_in_shared_memory_go_in_the_phases_of_the_hardware() -> None:
    rows = rows_of(
        kernel(
            "__shared__ float4 s[64]; __shared__ float2 t[64 * 16];\n"
            "s[i] = make_float4(1, 2, 3, 4); t[i * 16] = make_float2(1, 2);\n"
            "__syncthreads(); B[i] = s[i].x;"
        )
    )
    straight, strided = rows["s[i]", "write"], rows["t[i * 16]", "write"]
    assert (straight.passes, straight.least_passes, straight.conflicts) == (4, 4, 0)
    assert (strided.passes, strided.least_passes) == (32, 2)
    assert rows["s[i].x", "read"].passes == 4


def test_pointers_in_helpers_and_loops_keep_the_lanes_together() -> None:
    before = (
        "__device__ float total(const float *__restrict__ p, int n, int step)\n"
        "{\nfloat sum = 0;\nfor (int k = 0; k < n; k++) { sum += *p; p += step; }\nreturn sum;\n}\n"
    )
    rows = rows_of(
        kernel(
            "float sum = i < 16 ? total(A + i, 4, 32) : total(&A[i], 2 + i % 2, 32);\n"
            "for (int k = i; k < 128; k += blockDim.x) { if (k % 3 == 0) continue; B[k] = sum; }",
            before,
        )
    )
    read = rows["*p", "read"]
    assert (read.requests, read.lanes) == (4 + 3, 16 * 4 + 8 * 2 + 8 * 3)
    assert rows["B[k]", "write"].requests == 2
    assert ("A[i]", "read") not in rows, "an address alone is no access"


def test_changes_and_atomics_are_named_as_such() -> None:
    arrays = 'A = { shape = ["N"], role = "in" }\nB = { shape = ["N"], role = "out", type = "int" }'
    rows = rows_of(
        "__global__ void made(const float *A, int *B, int N)\n{\nint i = threadIdx.x;\n"
        "__shared__ int counts[8]; __shared__ int first;\n"
        "if (i < 8) counts[i] = 0;\nif (i == 0) first = 7;\n__syncthreads();\n"
        "atomicAdd(&counts[i % 8], 1);\n__syncthreads();\n"
        "B[i] += first; B[i]++; atomicAdd(B + 3, counts[1]);\n}\n",
        arrays=arrays,
    )
    atomic = rows["&counts[i % 8]", "atomic"]
    assert (atomic.lanes, atomic.passes) == (32, 1)
    assert rows["B + 3", "atomic"].sectors == 1
    assert rows["B[i]", "read"].requests == rows["B[i]", "write"].requests == 1
    assert rows["first", "read"].lanes == 32 and rows["first", "write"].lanes == 1


def test_what_a_macro_names_is_counted_at_the_line_that_uses_it() -> None:
    found = trace(
        made_workload(
            kernel(
                "#define CELL(p, k) /* an element */ p[(k) + \\\n    2]\n"
                "#define BOTH(k) CELL(A, k) + *(A + (k) * N / 64)\n"
                "#define REPEAT(k, n) for (int k = 0; k < (n); k++)\n"
                "#define OFF 2\n__shared__ float s[64];\n#define MINE s[i]\n"
                "MINE = BOTH(i);\n__syncthreads();\n"
                "REPEAT(k, 3) {\nif (i % 2 == k % 2) continue;\nCELL(B,\n(i + k)) = MINE; }"
            )
        ),
        size={"N": 256}, block=(64,), precision="fp32",
    )  # fmt: skip
    assert [(r.line, r.text, r.kind, r.requests, r.lanes) for r in found.rows] == [
        (12, "s[i]", "write", 1, 32),
        (12, "A[(i) + 2]", "read", 1, 32),
        (12, "*(A + (i) * N / 64)", "read", 1, 32),
        (16, "B[((i + k)) + 2]", "write", 3, 48),
        (17, "s[i]", "read", 3, 48),
    ]


def test_rows_of_shared_arrays_and_arrays_in_registers_are_no_accesses() -> None:
    before = "__device__ float third(const float *row) { return row[3]; }\n"
    rows = rows_of(
        kernel(
            "__shared__ float tile[64][17]; float mine[4] = {1, 2, 3, 4}, *p = mine;\n"
            "alignas(16) float four[4], other[4]; float __align__(8) two[2];\n"
            "four[0] = two[1] = 1; other[0] = four[0];\n"
            "tile[i][3] = A[i] * mine[i % 4] + p[1] * other[0] * two[1];\n"
            "__syncthreads();\nB[i] = third(tile[i]);",
            before,
        )
    )
    assert set(rows) == {
        ("tile[i][3]", "write"), ("A[i]", "read"), ("row[3]", "read"), ("B[i]", "write")
    }  # fmt: skip
    assert rows["row[3]", "read"].passes == 1


def test_shared_memory_in_nested_blocks_and_helpers_keeps_its_name() -> None:
    before = (
        "__device__ float turned(float v)\n{\n__shared__ float mine[64]; __shared__ float one;\n"
        "mine[threadIdx.x] = v; if (threadIdx.x == 0) one = 2;\n__syncthreads();\n"
        "return mine[63 - threadIdx.x] * one;\n}\n"
    )
    rows = rows_of(
        kernel(
            "if (N > 0) {\n__shared__ float inner[64];\ninner[i] = turned(A[i]);\n"
            "__syncthreads();\nB[i] = inner[i];\n}",
            before,
        )
    )
    names = {key: row.array for key, row in rows.items()}
    assert names["inner[i]", "write"] == names["inner[i]", "read"] == "inner"
    assert names["mine[63 - threadIdx.x]", "read"] == "mine"
    assert names["one", "read"] == "one" and rows["one", "write"].lanes == 1


def test_a_copy_past_the_registers_reads_and_writes_so_many_bytes() -> None:
    rows = rows_of(
        kernel(
            "#define BRING(k) __pipeline_memcpy_async(&s[4 * i], A + (k), 16)\n"
            "__shared__ float s[256]; const float *from[1] = {A + 4 * i};\n"
            "if (i < 16) BRING(8 * i);\n__pipeline_memcpy_async(s + i, from[0],\n8, 4);\n"
            "__pipeline_wait_prior(0);\n__syncthreads();\nB[i] = s[i];",
            "#include <cuda_pipeline_primitives.h>",
        )
    )
    read, written = rows["A + (8 * i)", "read"], rows["&s[4 * i]", "write"]
    assert (read.width_B, read.lanes, read.sectors, read.used_B) == (16, 16, 16, 256)
    assert (written.width_B, written.passes, written.least_passes) == (16, 2, 2)
    assert (rows["s + i", "write"].width_B, rows["from[0]", "read"].width_B) == (8, 4)


def test_threads_that_left_before_a_barrier_ask_for_nothing() -> None:
    rows = rows_of(
        kernel(
            "__shared__ float s[64]; int at = blockIdx.x * blockDim.x + i;\n"
            "if (at >= 20) return;\ns[i] = A[at];\n__syncthreads();\nB[at] = s[19 - i];"
        )
    )
    lanes = {key: row.lanes for key, row in rows.items()}
    assert set(lanes.values()) == {20} and len(lanes) == 4, lanes


def test_cooperative_groups_know_the_place_of_the_block_that_is_looked_at() -> None:
    before = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
    source = kernel(
        "cg::thread_block block = cg::this_thread_block();\n"
        "int at = block.group_index().x * 64 + block.thread_rank();\n"
        "if (gridDim.x == 4) B[at] = A[at];",
        before,
    )
    found = trace(
        made_workload(source), AccessLook(block=(2, 0, 0)),
        size={"N": 256}, block=(64,), precision="fp32",
    )  # fmt: skip
    assert [r.offsets_B[0] for r in found.requests] == [512, 512]


def test_requests_are_in_the_order_of_the_program() -> None:
    found = trace(
        made_workload(kernel("for (int k = 0; k < 2; k++) B[i + k] = A[i];\nif (i > 3) B[i] = 0;")),
        size={"N": 256}, block=(64,), precision="fp32",
    )  # fmt: skip
    order = [(found.rows[r.row].array, r.offsets_B[5], r.offsets_B[0]) for r in found.requests]
    assert order == [("A", 20, 0), ("B", 20, 0), ("A", 20, 0), ("B", 24, 4), ("B", 20, None)]


def test_what_finds_no_room_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuexplorer.backends.opencl.recording.MOST_NOTES", 32 * 10)
    found = trace(
        shipped("matmul"), variant="naive", size={"N": 16}, block=(16, 16), precision="fp32"
    )
    assert found.lost == 32 * (33 - 10)
    assert all(array.block_B is None for array in found.arrays)
    assert found.requests_total == 10


@pytest.mark.parametrize("variant", ["tiled", "streamed"])
def test_a_warp_that_is_recorded_alone_asks_for_what_it_asks_in_its_block(variant: str) -> None:
    known = {"variant": variant, "size": {"N": 128}, "block": (32, 4)}
    look = AccessLook(launch=0, block=(0, 0, 0), warp=1)
    whole = trace(shipped("transpose"), look, **known)
    alone = trace(shipped("transpose"), msgspec.structs.replace(look, alone=True), **known)
    assert alone.rows == whole.rows and alone.requests == whole.requests
    assert {one.block_B for one in alone.arrays} == {None}
    assert None not in {one.block_B for one in whole.arrays}


def test_a_warp_that_is_recorded_alone_finds_the_arrays_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gpuexplorer.backends.opencl.recording.MOST_NOTES", 64 * 2)
    source = (
        "__global__ void made(const float *A, float *B, int *drawn, int N)\n{\n"
        "__shared__ int tile; int i = threadIdx.x;\nif (i == 0) tile = atomicAdd(drawn, 1);\n"
        "__syncthreads();\nB[tile * 64 + i] = A[tile * 64 + i];\n}\n"
    )
    arrays = (
        'A = { shape = ["N"], role = "in" }\nB = { shape = ["N"], role = "out" }\n'
        'drawn = { shape = ["1"], role = "inout", type = "int", fill = "zeros" }'
    )
    made = made_workload(
        source, arrays=arrays, args='["A", "B", "drawn", "N"]', variant='reset = ["drawn"]'
    )
    found = trace(made, size={"N": 256}, block=(64,), precision="fp32")
    assert all(one.block_B is None for one in found.arrays), "the whole block found room"
    read = [r for r in found.requests if found.rows[r.row].array == "A"]
    assert read[0].offsets_B[:2] == (0, 4)


@pytest.mark.parametrize(
    ("body", "where", "what"),
    [
        ("#define PART(k) A ## k[i]\nB[i] = PART();", "made.cu:5", "inside the macro 'PART'"),
        ("float &b = B[i];\nb = A[i];", "made.cu:5", "the reference to 'B[i]'"),
        ("const float (*rows)[8] = (const float (*)[8])A;\nB[i] = rows[0][i];", "made.cu:5",
         "pointer or reference to an array"),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_refused_with_its_line(body: str, where: str, what: str) -> None:
    with pytest.raises(WorkFailed) as refused:
        rows_of(kernel(body))
    assert where in str(refused.value) and what in str(refused.value)


def test_a_helper_that_takes_an_element_by_reference_is_refused_only_for_elements() -> None:
    before = "__device__ void put(float &to, float value) { to = value; }\n"
    rows = rows_of(kernel("float mine[2]; put(mine[0], A[i]); B[i] = mine[0];", before))
    assert set(rows) == {("A[i]", "read"), ("B[i]", "write")}
    with pytest.raises(WorkFailed, match="reference to 'B\\[i\\]'"):
        rows_of(kernel("put(B[i], A[i]);", before))


@pytest.mark.parametrize(
    "look", [AccessLook(launch=1), AccessLook(block=(4, 0, 0)), AccessLook(warp=2)]
)
def test_what_is_not_there_is_refused(look: AccessLook) -> None:
    with pytest.raises(InputError, match="there is no"):
        trace(
            made_workload(kernel("B[i] = A[i];")), look,
            size={"N": 256}, block=(64,), precision="fp32",
        )  # fmt: skip
