"""A step compiled for an exact architecture, with its arguments in the declared types."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from gpuexplorer.backends.cuda import gate
from gpuexplorer.backends.cuda.build import builder, gate_compiler
from gpuexplorer.backends.cuda.describe import describe
from gpuexplorer.compile.nvrtc import target_for
from gpuexplorer.compile.targets import is_ptx
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.workloads import loader
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.plan import Plan, make_plan
from tests.backends.fake_cuda import FACTS

pytest.importorskip("cuda.bindings", reason="NVRTC is part of the nvrtc, cuda12 and cuda13 extras")
DEVICE = describe(FACTS, "CUDA 13.0", None, ())


def plan_of(name: str, variant: str, precision: str) -> Plan:
    workload = loader.load()[name]
    request = RunRequest(workload=name, variant=variant, precision=precision, device="cuda:0")
    config = complete(request, workload, DeviceList(devices=(DEVICE,)))
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
