"""The OpenCL backend on the CPU: right results, device times, and everything it must refuse."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpuexplorer.backends.base import MAX_QUEUED_LAUNCHES
from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.core.errors import (
    BlockTooLarge,
    CannotRunHere,
    InputError,
    WorkFailed,
    WrongResult,
)
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.backends.opencl_support import (
    ARRAYS,
    backend,
    device,
    made_workload,
    near,
    plan_for,
    ready_runner,
    run_once,
    verify,
)

SHIPPED = load()


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is compiled here out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


COPY = """\
__global__ void made(const real *A, real *B, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) B[i] = A[i];
}
"""
ARTICLE = """\
__global__ void matrixMul(float *A, float *B, float *C, int N) { \
int row = blockIdx.y * blockDim.y + threadIdx.y; int col = blockIdx.x * blockDim.x + threadIdx.x; \
if (row < N && col < N) { float sum = 0.0f; for (int k = 0; k < N; k++) { \
sum += A[row * N + k] * B[k * N + col]; } C[row * N + col] = sum; } }
"""


# ---- what ships: every kernel is verified by tests/selftest, and by night by tests/kernels


@pytest.mark.parametrize("block", [(1, 1), (1, 64), (64, 1), (32, 8), (7, 5), (1024, 1)])
def test_the_textbook_product_is_right_for_every_block_shape(block: tuple[int, int]) -> None:
    verify(SHIPPED["matmul"], variant="naive", size={"N": 45}, block=block)


def test_the_articles_kernel_runs_unchanged() -> None:
    manifest = SHIPPED["matmul"].source.manifest.split("[variants.naive]")[0]
    precisions = manifest[manifest.index("[precisions]") : manifest.index("[arrays]")]
    manifest = manifest.replace(precisions, "[precisions]\nfp32 = { tolerance = 2e-5 }\n")
    manifest += """
[variants.naive]
title = "Article"
teaches = "As printed."
[[variants.naive.launch]]
source = "article.cu"
entry = "matrixMul"
block = [16, 16]
grid = ["ceil_div(N, block_x)", "ceil_div(N, block_y)"]
args = ["A", "B", "C", "N"]
"""
    from gpuexplorer.workloads.workload import Workload, WorkloadSource

    workload = Workload(WorkloadSource(manifest=manifest, files={"article.cu": ARTICLE}))
    verify(workload, size={"N": 100}, precision="fp32")


# ---- CUDA's language


def test_dynamic_shared_memory_and_grid_size_reach_the_kernel() -> None:
    source = """
__global__ void made(const real *A, real *B, int N) {
    extern __shared__ real staged[];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) {
        staged[threadIdx.x] = A[i];
        B[i] = staged[threadIdx.x] + (real)gridDim.x;
    }
}
"""
    workload = made_workload(source, grid="[3]", shared="block_x * itemsize", reference="A + 3")
    verify(workload, size={"N": 1000}, block=(64,))


WARP_OPERATIONS: dict[str, tuple[str, Callable[[Any, int], Any]]] = {
    "down": ("__shfl_down_sync(0xffffffffu, v, 3)", lambda v, i: v[i + 3] if i < 29 else v[i]),
    "down in eights": (
        "__shfl_down_sync(0xffffffffu, v, 2, 8)",
        lambda v, i: v[i + 2] if i % 8 < 6 else v[i],
    ),
    "up": ("__shfl_up_sync(0xffffffffu, v, 5)", lambda v, i: v[i - 5] if i >= 5 else v[i]),
    "xor": ("__shfl_xor_sync(0xffffffffu, v, 13)", lambda v, i: v[i ^ 13]),
    "from one lane": ("__shfl_sync(0xffffffffu, v, 7)", lambda v, i: v[7]),
    "from a lane each": (
        "__shfl_sync(0xffffffffu, v, (threadIdx.x * 5 + 1) % 32)",
        lambda v, i: v[(i * 5 + 1) % 32],
    ),
    "from in eights": ("__shfl_sync(0xffffffffu, v, 3, 8)", lambda v, i: v[i // 8 * 8 + 3]),
    "ballot": (
        "(real)(float)__popc(__ballot_sync(0xffffffffu, threadIdx.x % 3 == 0))",
        lambda v, i: 11,
    ),
    "any": ("(real)(float)__any_sync(0xffffffffu, threadIdx.x == 5)", lambda v, i: 1),
    "all": ("(real)(float)__all_sync(0xffffffffu, threadIdx.x == 5)", lambda v, i: 0),
}


@pytest.mark.parametrize("precision", ["fp64", "fp32", "bf16", "fp16"])
def test_warp_exchanges_do_what_they_do_on_a_gpu(precision: str) -> None:
    body = "\n".join(
        f"    B[{k} * 32 + threadIdx.x] = {text};" for k, (text, _) in
        enumerate(WARP_OPERATIONS.values())
    )  # fmt: skip
    source = f"""
__global__ void made(const real *A, real *B, int N) {{
    real v = A[threadIdx.x];
{body}
}}
"""
    count = 32 * len(WARP_OPERATIONS)
    workload = made_workload(source, grid="[1]")
    runner, inputs = ready_runner(workload, size={"N": count}, block=(32,), precision=precision)
    runner.launch(1)
    got = runner.download(("B",))["B"].reshape(-1, 32)
    runner.free()
    for row, (name, (_, expected)) in zip(got, WARP_OPERATIONS.items(), strict=True):
        lanes = inputs["A"][:32]
        assert list(row) == [expected(lanes, i) for i in range(32)], name


def test_a_block_that_cannot_form_warps_is_refused() -> None:
    source = COPY.replace("B[i] = A[i]", "B[i] = __shfl_sync(0xffffffffu, A[i], 0)")
    with pytest.raises(InputError, match="multiple of 32"):
        backend().runner(plan_for(made_workload(source), block=(16,)), device()).build()


def test_atomics_helpers_templates_and_long_long() -> None:
    source = """
template <typename T> __device__ __forceinline__ T twice(T x) { return x + x; }
__device__ void add(float *where, float what) { atomicAdd(where, what); }
__global__ void made(const float * __restrict__ A, float *B, size_t N, bool negative) {
    __shared__ float total;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) total = 0.0f;
    __syncthreads();
    if (i < N) add(&total, twice(A[i]));
    __syncthreads();
    if (i < N) B[i] = negative ? -total : total;
}
"""
    workload = made_workload(
        source, grid="[1]", args='["A", "B", "N", { type = "int", value = "1" }]'
    )
    result = run_once(workload, size={"N": 64}, fill="integers")
    runner, inputs = ready_runner(workload, size={"N": 64}, fill="integers")
    runner.free()
    assert near(result, np.full(64, -2 * inputs["A"].sum()))


def test_included_files_of_the_folder_are_found() -> None:
    source = '#include "helper.cuh"\n#include <stdio.h>\n' + COPY.replace("= A[i]", "= same(A[i])")
    helper = "#pragma once\n__device__ real same(real x) { return x; }\n"
    verify(made_workload(source, files={"helper.cuh": helper}), size={"N": 100})


@pytest.mark.parametrize("rows", ["A[][8]", "(*A)[8]", "A[32][8]", "(*__restrict__ A)[8]"])
def test_pointers_to_rows_take_arrays(rows: str) -> None:
    source = f"""
__global__ void made(const float {rows}, float (*B)[4][2], unsigned int N) {{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) B[i / 8][i / 2 % 4][i % 2] = A[i / 8][i % 8];
}}
"""
    verify(made_workload(source), precision="fp32")


def test_tunables_are_macros() -> None:
    source = COPY.replace("= A[i]", "= A[i] * (real)(float)WIDTH")
    workload = made_workload(
        source, reference="A * 4", variant="[variants.only.tunables.WIDTH]\nvalues = [2, 4]"
    )
    verify(workload, size={"N": 100}, tunables={"WIDTH": 4})


# ---- timing


def test_launches_are_timed_one_by_one_in_order() -> None:
    runner, _ = ready_runner(made_workload(COPY), size={"N": 65536})
    batch = runner.launch(50)
    runner.free()
    assert len(batch.seconds) == 50
    assert (batch.seconds > 0).all()


@pytest.mark.parametrize(("told_ns", "step_s"), [(1000, 1e-6), (1, 1e-9), (0, 1e-9)])
def test_the_clocks_step_is_what_the_driver_says(
    monkeypatch: pytest.MonkeyPatch, told_ns: int, step_s: float
) -> None:
    runner = backend().runner(plan_for(SHIPPED["vector_add"]), device())
    told = SimpleNamespace(profiling_timer_resolution=told_ns)
    monkeypatch.setattr(runner, "_session", SimpleNamespace(device=told))
    assert runner.resolution_s == pytest.approx(step_s)


@pytest.mark.alone
def test_a_full_queue_costs_the_host_little() -> None:
    runner, _ = ready_runner(made_workload(COPY), size={"N": 64})
    runner.launch(8)
    costs = []
    for _ in range(5):
        started = runner.now_ns()
        batch = runner.launch(MAX_QUEUED_LAUNCHES)
        costs.append((runner.now_ns() - started) / MAX_QUEUED_LAUNCHES - batch.seconds.mean() * 1e9)
    runner.free()
    assert min(costs) < 100_000, "nanoseconds of host time a launch"


@pytest.mark.parametrize("role", ["out", "inout"])
def test_reset_arrays_start_each_launch_as_the_first(role: str) -> None:
    source = "__global__ void made(const real *A, real *B, int N) { B[threadIdx.x] += A[0]; }\n"
    arrays = f'A = {{ shape = ["N"], role = "in" }}\nB = {{ shape = ["N"], role = "{role}" }}'
    workload = made_workload(source, grid="[1]", arrays=arrays, variant='reset = ["B"]')
    runner, inputs = ready_runner(workload, size={"N": 64})
    runner.launch(7)
    got = runner.download(("B",))["B"]
    runner.free()
    before = inputs["B"] if role == "inout" else np.zeros(64)
    assert near(got, before + inputs["A"][0])


@pytest.mark.alone
@pytest.mark.parametrize("block", [(16, 16), (1, 64), (256, 1)])
def test_prediction_is_of_the_order_of_the_launch(block: tuple[int, int]) -> None:
    runner, _ = ready_runner(SHIPPED["matmul"], variant="naive", size={"N": 256}, block=block)
    predicted = min(runner.predict_s() or 0.0 for _ in range(3))
    runner.poison()
    actual = min(runner.launch(20).seconds)
    runner.free()
    assert actual / 5 < predicted < actual * 5


def test_each_part_of_a_grid_begins_with_the_arrays_set_back() -> None:
    size = {"N": 1 << 16}
    runner, _ = ready_runner(SHIPPED["scan"], variant="look_back", size=size, block=(32,))
    runner.launch(1)
    tried: Any = _counted(runner)
    runner.predict_s()
    drawn = int(runner.download(("drawn",))["drawn"][0])
    runner.free()
    assert drawn == tried[-1][0] // 32 > 0


@pytest.mark.alone
def test_a_rough_prediction_runs_no_more_than_shows_that_a_launch_is_short() -> None:
    runner, _ = ready_runner(SHIPPED["matmul"], variant="naive", size={"N": 256}, block=(16, 16))
    launched = _counted(runner)
    assert runner.predict_s() is not None
    fine = len(launched)
    runner.rough_below_s = 10.0
    launched.clear()
    rough_s = runner.predict_s()
    actual_s = float(min(runner.launch(3).seconds))
    runner.free()
    assert len(launched) == 1 < fine
    assert rough_s is not None
    assert actual_s / 5 < rough_s


def _counted(runner: Any) -> list[tuple[int, ...]]:
    """Return a list to which every part of a grid that the runner tries is added."""
    tried: list[tuple[int, ...]] = []
    time_part = runner._time_part

    def counted(launch: Any, size: tuple[int, ...]) -> float:
        tried.append(size)
        taken: float = time_part(launch, size)
        return taken

    runner._time_part = counted
    return tried


@pytest.mark.parametrize("waits", [1, 2])
def test_a_block_that_waited_for_a_processor_is_not_taken_for_the_whole_grid(waits: int) -> None:
    made, _ = ready_runner(SHIPPED["vector_add"], variant="direct", size={"N": 1 << 22})
    runner: Any = made
    time_part, left = runner._time_part, [0.03] * waits

    def waiting(launch: Any, size: tuple[int, ...]) -> float:
        taken: float = time_part(launch, size)
        return max(taken, left.pop()) if left else min(taken, 2e-3)

    runner._time_part = waiting
    predicted_s = runner.predict_s()
    runner.free()
    assert not left and predicted_s is not None
    assert predicted_s < 60  # 16,384 blocks of 30 ms would be eight minutes


@pytest.mark.alone
def test_a_launch_of_a_minute_is_foreseen_in_a_moment() -> None:
    runner, _ = ready_runner(SHIPPED["matmul"], variant="naive", size={"N": 2048}, block=(1, 1))
    started = runner.now_ns()
    predicted = runner.predict_s()
    took_s = (runner.now_ns() - started) * 1e-9
    runner.free()
    assert predicted is not None
    assert predicted > 2
    assert took_s < 2


def test_a_part_of_a_grid_strides_as_the_whole_would() -> None:
    source = """
__global__ void made(const real *A, real *B, int N) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) {
        float x = (float)A[i];
        for (int k = 0; k < 500; k++) x = sinf(x);
        B[i] = (real)x;
    }
}
"""
    runner, _ = ready_runner(made_workload(source, grid="[512]"), size={"N": 1 << 16}, block=(64,))
    runner.predict_s()
    written = np.count_nonzero(~np.isnan(runner.download(("B",))["B"]))
    runner.free()
    assert 0 < written < (1 << 16), "the first blocks did the work of all"


# ---- arrays


def test_arrays_are_taken_over_with_what_they_hold() -> None:
    first, inputs = ready_runner(made_workload(COPY), size={"N": 500}, block=(64,))
    plan = plan_for(made_workload(COPY), size={"N": 500}, block=(128,))
    second = backend().runner(plan, device())
    second.build()
    assert second.adopt(first)
    first.free()
    second.launch(1)
    assert np.array_equal(second.download(("B",))["B"], inputs["A"])
    other = backend().runner(plan_for(made_workload(COPY), size={"N": 501}), device())
    assert not other.adopt(second)
    second.free()
    second.free()


def test_runners_of_one_program_do_not_take_each_others_arguments() -> None:
    workload = made_workload(SCALED, args='["A", "B", "N"]', reference="N * A")
    small, small_inputs = ready_runner(workload, size={"N": 100})
    large, large_inputs = ready_runner(workload, size={"N": 300})
    for _ in range(2):
        for runner, inputs, n in ((small, small_inputs, 100), (large, large_inputs, 300)):
            runner.launch(1)
            assert near(runner.download(("B",))["B"], n * inputs["A"])
    small.free()
    large.free()


SCALED = """
__global__ void made(const real *A, real *B, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) B[i] = A[i] * N;
}
"""


def test_a_kernel_that_a_plan_launches_twice_has_arguments_of_each_launch() -> None:
    second = """
[[variants.only.launch]]
source = "made.cu"
entry = "made"
block = [64]
grid = ["ceil_div(N, block_x)"]
args = ["T", "B", "N"]
"""
    manifest = made_workload(
        SCALED,
        arrays=ARRAYS + '\nT = { shape = ["N"], role = "scratch" }',
        args='["A", "T", "N"]',
        reference="N * N * A",
    ).source.manifest
    twice = Workload(WorkloadSource(manifest=manifest + second, files={"made.cu": SCALED}))
    verify(twice, size={"N": 100})


def test_unwritten_elements_show_as_nan() -> None:
    source = COPY.replace("i < N", "i < N - 1")
    result = run_once(made_workload(source), size={"N": 100})
    assert np.isnan(result[-1])
    assert not np.isnan(result[:-1]).any()


@pytest.mark.parametrize(
    ("index", "words"), [("N + 2", "3 elements behind"), ("-1", "1 element before")]
)
def test_a_write_outside_an_array_is_seen_and_names_it(index: str, words: str) -> None:
    source = COPY.replace("B[i] = A[i];", f"B[i] = A[i]; if (i == 0) B[{index}] = A[0];")
    runner, _ = ready_runner(made_workload(source), size={"N": 1000})
    runner.launch(1)
    with pytest.raises(WrongResult, match=f"outside array B: {words}"):
        runner.check_guards()
    runner.free()


# ---- refusals


def test_a_kernel_that_does_not_compile_names_the_users_file_and_line() -> None:
    with pytest.raises(WorkFailed, match=r"made\.cu:4: .*'oops'") as caught:
        ready_runner(made_workload(COPY.replace("A[i]", "A[i] + oops")))
    assert caught.value.detail.startswith("made.cu:4:")
    assert "prelude" not in caught.value.detail


def test_an_error_in_an_included_file_names_that_file() -> None:
    with pytest.raises(WorkFailed, match=r"helper\.cuh:2: "):
        ready_runner(
            made_workload('#include "helper.cuh"\n' + COPY, files={"helper.cuh": "\nint x = oops;"})
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"entry": "other"}, "no kernel 'other'"),
        ({"args": '["A", "B"]'}, r"made\.cu:1: .*takes 3 arguments"),
        ({"args": '["N", "B", "N"]'}, "'A' is a pointer"),
        ({"args": '["A", "B", "A"]'}, "'N' is not a pointer"),
        ({"shared": "64"}, "no extern __shared__"),
    ],
)
def test_a_manifest_that_does_not_fit_the_source_is_refused(
    change: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        ready_runner(made_workload(COPY, **change))


def test_shared_memory_without_a_size_is_refused_where_it_is_used() -> None:
    declared = COPY.replace("{\n", "{\n    extern __shared__ real s[];\n", 1)
    used = declared.replace("B[i] = A[i]", "s[threadIdx.x] = A[i], B[i] = s[threadIdx.x]")
    helper = (
        "__device__ void put(real v) { extern __shared__ real s[]; s[threadIdx.x] = v; }\n"
        + COPY.replace("B[i] = A[i]", "put(A[i]), B[i] = A[i]")
    )
    for text, line in ((used, 1), (helper, 2)):
        words = rf"made\.cu:{line}: 'made' uses an extern __shared__ array, .* no bytes"
        with pytest.raises(InputError, match=words):
            ready_runner(made_workload(text))
    verify(made_workload(used, shared="block_x * itemsize"))
    verify(made_workload(declared))
    staged = declared.replace("    if (i", "#if STAGED\n    s[0] = N;\n#endif\n    if (i")
    verify(made_workload(staged, variant="[variants.only.tunables.STAGED]\nvalues = [0, 1]"))


def test_a_number_that_the_declared_type_cannot_hold_is_refused() -> None:
    workload = made_workload(COPY.replace("int N", "size_t N"), args='["A", "B", { value = "-1" }]')
    with pytest.raises(InputError, match="size_t, which cannot hold -1"):
        ready_runner(workload)


def test_float_in_the_source_is_not_handed_doubles() -> None:
    source = COPY.replace("real", "float")
    verify(made_workload(source), precision="fp32")
    with pytest.raises(InputError, match="points to float"):
        ready_runner(made_workload(source), precision="fp64")


def test_bf16_is_handed_to_nothing_else() -> None:
    source = COPY.replace("real", "__nv_bfloat16")
    verify(made_workload(source), precision="bf16")
    with pytest.raises(InputError, match=r"points to __nv_bfloat16, and in fp32 .* float32"):
        ready_runner(made_workload(source), precision="fp32")
    with pytest.raises(InputError, match=r"points to float, and in bf16 .* holds bfloat16"):
        ready_runner(made_workload(COPY.replace("real", "float")), precision="bf16")


@pytest.mark.parametrize("kind", ["real", "__nv_bfloat16"])
def test_bf16_by_value_is_refused_as_the_cpus_language_has_it_not(kind: str) -> None:
    source = COPY.replace("int N", f"{kind} by, int N")
    made = made_workload(source, args='["A", "B", { value = "1" }, "N"]')
    with pytest.raises(CannotRunHere, match=r"made\.cu:1: 'by' is a bf16 passed by value"):
        ready_runner(made, precision="bf16")


@pytest.mark.parametrize(
    ("before", "bounds"),
    [
        ("", "__launch_bounds__(32)"),
        ("#define WARP 32\n", "__launch_bounds__(WARP)"),
        ("#ifndef WIDE\n#define WIDE 7\n#endif\n", "__launch_bounds__(WIDE * 8, 2)"),
        (
            "constexpr int W = 32;\n#define MOST (W * sizeof(float) / 4)\n",
            "__launch_bounds__(MOST)",
        ),
    ],
)
def test_a_block_larger_than_the_launch_bounds_is_refused(before: str, bounds: str) -> None:
    source = before + COPY.replace("void ", f"void {bounds} ")
    made = made_workload(source, variant="[variants.only.tunables.WIDE]\nvalues = [4, 16]")
    verify(made, block=(32,), tunables={"WIDE": 4})
    line = before.count("\n") + 1
    with pytest.raises(BlockTooLarge, match=rf"made\.cu:{line}: .*'made' .* 32 threads, not 33"):
        ready_runner(made, block=(33,), tunables={"WIDE": 4})


def test_launch_bounds_that_the_text_does_not_tell_refuse_nothing() -> None:
    before = "#if REAL_BITS == 32\n#define MOST 128\n#else\n#define MOST 32\n#endif\n"
    source = before + COPY.replace("void ", "void __launch_bounds__(MOST) ")
    verify(made_workload(source), block=(128,))


def test_more_shared_memory_than_a_gpu_gives_is_refused() -> None:
    source = COPY.replace("{\n", "{\n    __shared__ float big[13000];\n    big[N % 7] = 0;\n", 1)
    with pytest.raises(InputError, match="shared memory"):
        ready_runner(made_workload(source.replace("A[i];", "A[i] + (real)big[0];")))


@pytest.mark.parametrize("block", [(1025,), (33, 33), (1, 1, 65)])
def test_blocks_that_no_gpu_launches_are_refused(block: tuple[int, ...]) -> None:
    shape = str([16, 16, 1][: len(block)])
    workload = made_workload(COPY, block=shape)
    with pytest.raises(InputError, match="block"):
        plan_for(workload, block=block)


# ---- processes


def test_the_framework_is_not_imported_with_the_backend() -> None:
    code = (
        "import sys; from gpuexplorer.backends.opencl import OpenCLBackend; OpenCLBackend(1); "
        "sys.exit('pyopencl' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=root()).returncode == 0


def root() -> Path:
    return Path(__file__).resolve().parents[2]


def test_device_and_thread_count_are_as_asked() -> None:
    info = device()
    assert (info.id, info.kind, info.threads) == ("opencl:0", "cpu", 1)
    assert info.hardware_id.startswith("cpu:")
    assert {"fp32"} <= set(info.precisions)
    assert info.limits.max_threads_per_block == 1024


@pytest.mark.alone
@pytest.mark.parametrize("threads", [1, 2])
def test_a_kernel_uses_exactly_the_threads_it_may(threads: int) -> None:
    code = f"""
import time
from gpuexplorer.backends.opencl import OpenCLBackend
import tests.backends.opencl_support as support
from gpuexplorer.workloads.loader import load
support.backend = lambda: made
made = OpenCLBackend({threads})
matmul = load()["matmul"]
runner, _ = support.ready_runner(matmul, variant="naive", size={{"N": 256}}, block=(16, 16))
runner.launch(2)
wall, cpu = time.perf_counter(), time.process_time()
while time.perf_counter() - wall < 0.4:
    runner.launch(8)
print((time.process_time() - cpu) / (time.perf_counter() - wall))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=root(), capture_output=True, text=True
    )
    used = float(done.stdout.split()[-1])
    # One thread more would be all of 1 more; a busy neighbour makes threads wake up more often.
    assert used < threads + 0.5, "more threads than allowed, or a host thread that polls"
    assert used > 0.1


def test_a_driver_that_is_not_there_is_a_reason_and_a_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gpuexplorer.backends.opencl import OpenCLBackend
    from gpuexplorer.core.device import Unavailable

    monkeypatch.setenv("GPUEXPLORER_OPENCL_CPU", "nonsense")
    found = OpenCLBackend(1).discover()
    assert isinstance(found, Unavailable)
    assert "nonsense" in found.reason
    assert "pip install" in found.remedy
