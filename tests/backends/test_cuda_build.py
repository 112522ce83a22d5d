"""A step compiled for an exact architecture, with its arguments in the declared types."""

from __future__ import annotations

import ctypes

import msgspec
import numpy as np
import pytest

from gpuexplorer.backends.cuda import gate
from gpuexplorer.backends.cuda.arguments import PackedArguments
from gpuexplorer.backends.cuda.build import builder, gate_compiler
from gpuexplorer.backends.cuda.describe import describe
from gpuexplorer.compile.nvrtc import target_for
from gpuexplorer.compile.targets import is_ptx
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import CannotRunHere, InputError, WorkFailed
from gpuexplorer.workloads import loader
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import make_plan
from tests.backends.fake_cuda import FACTS
from tests.backends.opencl_support import made_workload

pytest.importorskip("cuda.bindings", reason="NVRTC is part of the nvrtc, cuda12 and cuda13 extras")
DEVICE = describe(FACTS, "CUDA 13.0", None, ())
DEVICES = DeviceList(devices=(DEVICE,))


def plan_of(name: str, variant: str, precision: str) -> Plan:
    workload = loader.load()[name]
    request = RunRequest(workload=name, variant=variant, precision=precision, device="cuda:0")
    config = complete(request, workload, DEVICES)
    return make_plan(workload, config, DEVICE)


@pytest.mark.parametrize("precision", ["fp16", "fp32", "fp64"])
def test_every_step_is_found_by_its_symbol_with_typed_arguments(precision: str) -> None:
    plan = plan_of("reduction", "tree", precision)
    assert len(plan.steps) == 2
    for step in plan.steps:
        built = builder("sm_90a")(plan, step)
        assert built.code.startswith(b"\x7fELF")
        assert built.target == "sm_90a"
        assert built.symbol.encode() in built.code
        assert len(built.arguments) == len(step.arguments)
        scalars = [a for a in built.arguments if not isinstance(a, str)]
        assert all(isinstance(a, np.generic) for a in scalars)


def test_scalars_have_the_type_of_arithmetic() -> None:
    plan = plan_of("stream", "triad", "fp16")
    built = builder("sm_80")(plan, plan.steps[0])
    assert [a.dtype for a in built.arguments if isinstance(a, np.floating)] == [np.float32]


def test_an_entry_that_is_not_in_the_source_is_refused() -> None:
    plan = plan_of("matmul", "naive", "fp32")
    step = msgspec.structs.replace(plan.steps[0], entry="nothing")
    with pytest.raises(InputError, match="no kernel 'nothing'"):
        builder("sm_90")(msgspec.structs.replace(plan, steps=(step,)), step)


@pytest.mark.parametrize(
    "arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
)
def test_the_gate_and_its_end_compile_for_every_generation(arch: str) -> None:
    code = gate_compiler(arch)()
    assert code.startswith(b"//" if is_ptx(target_for(arch)) else b"\x7fELF")
    assert all(entry.encode() in code for entry in gate.ENTRIES)


def test_a_gpu_newer_than_the_compiler_gets_ptx_for_its_driver() -> None:
    plan = plan_of("reduction", "tree", "fp16")
    target = target_for("sm_999")
    for step in plan.steps:
        built = builder("sm_999")(plan, step)
        assert built.target == target
        assert f".entry {built.symbol}(".encode() in built.code
        assert len(built.arguments) == len(step.arguments)
    gate_code = gate_compiler("sm_999")()
    assert all(f".entry {entry}(".encode() in gate_code for entry in gate.ENTRIES)


def test_a_gpu_older_than_the_compiler_is_told_what_would_help() -> None:
    plan = plan_of("matmul", "naive", "fp32")
    with pytest.raises(
        CannotRunHere, match=r"compiles for sm_\d\d and newer, and this GPU is sm_35"
    ):
        builder("sm_35")(plan, plan.steps[0])


# ---- scalars whose type the compiler has to tell

BEFORE = """\
typedef unsigned long long u64;
#if REAL_BITS == 64
typedef double scale_t;
#else
typedef float scale_t;
#endif
struct Pair { int a; float b; };
enum Mode { OFF, ON };
"""


def passed(
    type_: str, value: str, arch: str, *, kind: str = "int", precision: str = "fp32"
) -> np.generic:
    """Return what a kernel is given for a parameter of a type."""
    source = f"{BEFORE}__global__ void made(const real *A, real *B, {type_} x) {{ B[0] = A[0]; }}\n"
    arguments = f'["A", "B", {{ type = "{kind}", value = "{value}" }}]'
    workload = made_workload(source, args=arguments)
    request = RunRequest(workload=workload.name, device="cuda:0", precision=precision)
    plan = make_plan(workload, complete(request, workload, DEVICES), DEVICE)
    argument = builder(arch)(plan, plan.steps[0]).arguments[2]
    assert isinstance(argument, np.generic)
    return argument


LONG = np.dtype("l")
"""The host's, which NVRTC follows."""


@pytest.mark.parametrize("arch", ["sm_90", "sm_999"])
@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("long", "-5", LONG.type(-5)),
        ("unsigned long", "5", np.dtype("L").type(5)),
        ("u64", "7", np.uint64(7)),
        ("const u64", "7", np.uint64(7)),
        ("size_t", "7", np.uint64(7)),
        ("scale_t", "2", np.float32(2)),
        ("short", "-2", np.int16(-2)),
    ],
)
def test_a_scalar_has_the_bytes_that_the_kernel_reads(
    type_: str, value: str, expected: np.generic, arch: str
) -> None:
    found = passed(type_, value, arch)
    assert found == expected
    assert found.dtype == expected.dtype
    packed = PackedArguments([found], {})
    address = ctypes.c_void_p.from_address(packed.address).value
    assert address is not None
    assert ctypes.string_at(address, found.dtype.itemsize) == expected.tobytes()


def test_an_alias_follows_the_precision() -> None:
    assert passed("scale_t", "0.1", "sm_90", kind="real", precision="fp64") == np.float64(0.1)
    assert passed("scale_t", "0.1", "sm_90", kind="real", precision="fp32") == np.float32(0.1)


@pytest.mark.parametrize("arch", ["sm_90", "sm_999"])
@pytest.mark.parametrize("type_", ["int2", "float4", "dim3", "Pair", "struct Pair", "Mode"])
def test_what_no_number_fills_is_refused_with_parameter_and_type(type_: str, arch: str) -> None:
    name = type_.removeprefix("struct ")
    with pytest.raises(InputError, match=rf"made\.cu:\d+: 'x' is {name}, which a manifest cannot"):
        passed(type_, "1", arch)


@pytest.mark.parametrize(
    ("type_", "value", "kind"),
    [
        ("u64", "-1", "int"),
        ("bool", "2", "int"),
        ("long", "0.5", "real"),
        ("scale_t", "1e39", "accum"),
    ],
)
def test_what_a_type_does_not_hold_is_refused(type_: str, value: str, kind: str) -> None:
    with pytest.raises(InputError, match=f"'x' is {type_}, which cannot hold"):
        passed(type_, value, "sm_90", kind=kind)


WHOLE_GRID = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void made(const real *A, real *B, int N) {{
    {waits}
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) B[i] = A[i];
}}
__global__ void other(real *B) {{ cg::this_grid().sync(); }}
"""


@pytest.mark.parametrize(
    "waits",
    [
        "cg::grid_group grid = cg::this_grid(); grid.sync();",
        "auto all = cg::this_grid(); cg::sync(all);",
        "cg::this_grid().sync();",
        "",
    ],
)
def test_a_barrier_of_the_whole_grid_is_refused_where_it_stands(waits: str) -> None:
    workload = made_workload(WHOLE_GRID.format(waits=waits))
    config = complete(RunRequest(workload="made", device="cuda:0"), workload, DEVICES)
    plan = make_plan(workload, config, DEVICE)
    if not waits:
        assert builder("sm_90a")(plan, plan.steps[0]).code
        return
    with pytest.raises(WorkFailed, match=r"made\.cu:5: 'made' waits for the whole grid"):
        builder("sm_90a")(plan, plan.steps[0])
