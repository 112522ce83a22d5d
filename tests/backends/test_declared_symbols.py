"""Variables outside of functions hold what the manifest says, as after ``cudaMemcpyToSymbol``."""

from __future__ import annotations

import ctypes
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from gpuexplorer.backends.cuda.kernels import BuiltStep, KernelRunner
from gpuexplorer.compile.bound_symbols import bound_symbols, filled_B, kept_variables, with_room
from gpuexplorer.compile.nvrtc import compile_kernels
from gpuexplorer.core.accesses import AccessLook
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.workloads.cuda_source import CudaSource
from gpuexplorer.workloads.declared_symbols import symbols_of, symbols_used
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.kernel_manifest import kernel_manifest
from gpuexplorer.workloads.plan import Argument
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.backends.fake_cuda import LaunchCall
from tests.backends.opencl_support import made_workload, plan_for, ready_runner
from tests.backends.test_cuda_runner import DEVICE, N, X, floats, make_plan, open_fake

MASK = """\
#define WIDTH 5
static __constant__ float mask[WIDTH];
__constant__ int shift;  // N again, for whoever reads it
__device__ const float *nobodys[2];
__device__ float middle(const float *a) { return mask[2] * a[0]; }
__global__ void made(const float *A, float *B, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    float sum = 0;
    for (int j = 0; j < WIDTH; j++)
        if (j != 2 && i + j - 2 >= 0 && i + j - 2 < shift) sum += mask[j] * A[i + j - 2];
    B[i] = sum + middle(A + i);
}
"""
ARRAYS = """\
A = { shape = ["N"], role = "in" }
mask = { shape = [5], role = "in" }
B = { shape = ["N"], role = "out" }
"""
SYMBOLS = '["A", "B", "N"]\nsymbols = ["mask", "shift"]'
SCALARS = '[scalars]\nshift = { type = "int", value = "N" }\n'


def filtered(inputs: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.convolve(inputs["A"], inputs["mask"][::-1], "same")


def workload(source: str = MASK, arrays: str = ARRAYS) -> Workload:
    return made_workload(source, arrays=f"{arrays}\n{SCALARS}", args=SYMBOLS)


def test_runners_of_one_program_have_values_of_their_own() -> None:
    runners = [ready_runner(workload(), size={"N": 1000}, precision="fp32", seed=s) for s in (1, 2)]
    for runner, inputs in (*runners, *runners):
        runner.launch(1)
        found = runner.download(("B",))["B"]
        assert np.allclose(found, filtered(inputs), rtol=1e-5, atol=1e-5)
    first, inputs = runners[0]
    first.poison()
    first.accesses(AccessLook())  # one block runs in a program of its own
    found = first.download(("B",))["B"][:64]
    assert np.allclose(found, filtered(inputs)[:64], rtol=1e-5, atol=1e-5)
    for runner, _ in runners:
        runner.free()


@pytest.mark.parametrize(
    ("source", "arrays", "said"),
    [
        (MASK, ARRAYS.replace("[5]", "[6]"), "fills mask with 24 bytes, which is more"),
        (MASK.replace("float mask", "double mask"), ARRAYS, "'mask' points to double"),
        (MASK.replace("mask[WIDTH];", "mask[WIDTH] = {1};"), ARRAYS, "has no __constant__"),
        (MASK.replace("int shift", "float2 shift"), ARRAYS, "'shift' is float2"),
    ],
)
def test_what_does_not_fit_a_variable_is_refused(source: str, arrays: str, said: str) -> None:
    with pytest.raises((WorkFailed, InputError), match=said):
        ready_runner(workload(source, arrays), size={"N": 10}, precision="fp32")


COUNTING = """\
__device__ int found = 0;
__device__ float table[4];
__global__ void made(const float *A, float *B, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    B[i] = A[i];
    if (A[i] > 0) atomicAdd(&found, 1);
    if (i < 4) table[i] += 2 * A[i];
}
"""
COUNTED = """\
A = { shape = ["N"], role = "in" }
B = { shape = ["N"], role = "out" }
found = { shape = [1], role = "out", type = "int" }
table = { shape = [4], role = "inout" }
"""


def test_what_a_kernel_leaves_in_a_variable_is_an_output() -> None:
    made = made_workload(
        COUNTING, arrays=COUNTED, args='["A", "B", "N"]\nsymbols = ["found", "table"]',
        variant='reset = ["found", "table"]',
    )  # fmt: skip
    runners = [ready_runner(made, size={"N": 1000}, precision="fp32", seed=s) for s in (1, 2)]
    for runner, inputs in (*runners, *runners):
        runner.launch(3)  # each begins anew
        outputs = runner.download(("found", "table"))
        assert outputs["found"][0] == np.count_nonzero(inputs["A"] > 0)
        assert np.allclose(outputs["table"], inputs["table"] + 2 * inputs["A"][:4])
    first, inputs = runners[0]
    profile = first.accesses(AccessLook())
    kinds = {(row.array, row.kind) for row in profile.rows}
    assert {("found", "atomic"), ("table", "read"), ("table", "write")} <= kinds
    assert {a.name: a.nbytes for a in profile.arrays} == {
        "A": 4000, "B": 4000, "found": 4, "table": 16
    }  # fmt: skip
    for runner, _ in runners:
        runner.free()


def test_what_neither_host_nor_user_looks_at_is_no_symbol() -> None:
    scratch = ARRAYS.replace('[5], role = "in"', '[5], role = "scratch"')
    with pytest.raises(InputError, match="'mask', which nobody reads or fills"):
        workload(arrays=scratch)


LAST_BLOCK = """\
__device__ volatile unsigned int count = 0;
static __device__ unsigned long long visits[3];
__device__ float2 nowhere;
__device__ double beside;
__device__ int begun = 0, kept_itself;
__device__ unsigned int retired = 0;
__device__ void arrive() { atomicAdd(&visits[1], 1ull); }
__global__ void total(const float *x, float *part, float *out, int n) {
    __shared__ float s[256];
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
    if (t == 0) {
        part[blockIdx.x] = s[0];
        __threadfence();
        last = atomicAdd((unsigned int *)&count, 1u) == gridDim.x - 1;
        arrive();
        nowhere.x += 1.0f;
        beside += 1.0;
        if (atomicAdd(&retired, 1u) == gridDim.x - 1) retired = 0;
    }
    __syncthreads();
    if (last && t == 0) {
        float a = 0;
        for (int b = 0; b < gridDim.x; ++b) a += part[b];
        out[0] = a + visits[1] - gridDim.x;
    }
}
int main() { int n = 5000; total<<<(n + 255) / 256, 256>>>(x, part, out, n); }
"""


def test_a_counter_of_blocks_is_zero_before_each_launch_as_in_a_program_that_launches_once() -> (
    None
):
    path = Path("total.cu")
    manifest = kernel_manifest(LAST_BLOCK, path, "total", Answers(unchecked=True))
    found = tomllib.loads(manifest)["variants"]["total"]
    assert set(found["launch"][0]["symbols"]) == {"count", "visits"} <= set(found["reset"])
    made = Workload(WorkloadSource(manifest=manifest, files={path.name: LAST_BLOCK}, origin="here"))
    plan = plan_for(made, size={"n": 5000}, precision="fp32")
    assert kept_variables(plan) == ["nowhere", "beside", "retired"]
    files = with_room(plan.files, path.name, filled_B(plan, plan.steps[0]))
    built = compile_kernels(
        path.name, files, "sm_90", entries=["total"], variables=["count", "visits"]
    )
    assert set(built.variables) == {"count", "visits"}
    for seed in (1, 2):
        runner, inputs = ready_runner(made, size={"n": 5000}, precision="fp32", seed=seed)
        for launch in (lambda: runner.launch(3), runner.launch_plain, lambda: runner.launch(1)):  # noqa: B023
            runner.poison()
            launch()
            out = runner.download(("out",))["out"]
            assert out[0] == pytest.approx(inputs["x"].sum(), abs=1e-2)
        runner.free()


def test_a_kernel_needs_what_it_and_its_helpers_read() -> None:
    source = CudaSource(MASK + "__constant__ float others[3];\n__device__ int state;\n")
    assert list(symbols_of(source)) == ["mask", "shift", "others", "state"]
    used = symbols_used(source, source.kernels["made"])
    assert [(s.name, s.type, s.sides) for s in used] == [
        ("mask", "float", ("WIDTH",)), ("shift", "int", ()),
    ]  # fmt: skip


def test_cudas_compiler_says_what_the_variables_are_called() -> None:
    plan = plan_for(workload(), size={"N": 10}, precision="fp32")
    step = plan.steps[0]
    sizes = filled_B(plan, step)
    assert sizes == (("mask", 20), ("shift", 4))
    files = with_room(plan.files, step.source, sizes)
    built = compile_kernels(
        "made.cu", files, "sm_90", entries=["made"], variables=["mask", "shift"]
    )
    assert built.variables["shift"] == "shift"
    for symbol in built.variables.values():
        assert symbol.encode() + b"\0" in built.code
    small = with_room(plan.files, step.source, (("mask", 24), ("shift", 4)))
    with pytest.raises(WorkFailed, match="24 bytes"):
        compile_kernels("made.cu", small, "sm_90", entries=["made"])


def test_on_a_gpu_a_variable_is_filled_before_each_batch() -> None:
    offset = ctypes.c_float(-1.0)
    table = (ctypes.c_float * N)()
    seen: list[tuple[float, float]] = []

    def kernel(call: LaunchCall) -> None:
        seen.append((offset.value, table[7]))
        floats(call.words[1])[:] = floats(call.words[0]) + offset.value

    fake, session = open_fake(kernel)
    fake.variables = {"_offset": ctypes.addressof(offset), "_table": ctypes.addressof(table)}
    plan = make_plan()
    values: dict[str, str | npt.NDArray[np.generic]] = {
        "_offset": np.array([np.float32(3)]), "_table": "x"
    }  # fmt: skip
    arguments: list[str | np.generic] = ["x", "y"]
    runner = KernelRunner(
        plan, DEVICE, session, lambda _, step: BuiltStep(b"c", "sm_90a", "axpy", arguments, values)
    )
    runner.build()
    runner.allocate()
    runner.upload({"x": X, "y": np.zeros(N, np.float32)})
    launches: list[Callable[[], object]] = [
        lambda: runner.launch(2), runner.launch_plain, runner.launch_alone
    ]  # fmt: skip
    for launch in launches:
        offset.value = 0.0
        launch()
    assert len(seen) == 4 and set(seen) == {(3.0, X[7])}
    assert np.array_equal(runner.download(("y",))["y"], X + 3)
    runner.free()


def test_on_a_gpu_a_variable_is_set_back_before_each_launch_and_read_back() -> None:
    table = (ctypes.c_float * N)()

    def kernel(call: LaunchCall) -> None:
        table[:] = [value + 1 for value in table]

    fake, session = open_fake(kernel)
    fake.variables = {"_table": ctypes.addressof(table)}
    plan = make_plan(reset=("y",))
    (step,) = plan.steps
    step = msgspec.structs.replace(step, symbols=(Argument(kind="array", name="y"),))
    plan = msgspec.structs.replace(plan, steps=(step,))
    arguments: list[str | np.generic] = ["x", "y"]
    runner = KernelRunner(
        plan, DEVICE, session,
        lambda _, step: BuiltStep(b"c", "sm_90a", "axpy", arguments, {"_table": "y"}),
    )  # fmt: skip
    runner.build()
    runner.allocate()
    launches: list[Callable[[], object]] = [
        lambda: runner.launch(3), runner.launch_plain, runner.launch_alone
    ]  # fmt: skip
    for launch in launches:
        runner.upload({"x": X, "y": X})
        launch()
        assert np.array_equal(runner.download(("y",))["y"], X + 1)
    runner.free()


def test_bound_values_have_the_declared_types() -> None:
    plan = plan_for(workload(MASK.replace("int shift", "short shift")), size={"N": 10})
    found = bound_symbols(plan, plan.steps[0])
    assert found["mask"] == "mask" and isinstance(found["shift"], np.ndarray)
    assert found["shift"].dtype == np.int16
