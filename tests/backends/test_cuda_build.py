"""A step compiled for an exact architecture, with its arguments in the declared types."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from gpuexplorer.backends.cuda import gate
from gpuexplorer.backends.cuda.build import builder, gate_compiler
from gpuexplorer.backends.cuda.describe import describe
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads import loader
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.plan import Plan, make_plan
from tests.backends.fake_cuda import FACTS

pytest.importorskip("cuda.core", reason="NVRTC is part of the nvrtc, cuda12 and cuda13 extras")
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
        assert built.cubin.startswith(b"\x7fELF")
        assert built.symbol.encode() in built.cubin
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
    cubin = gate_compiler(arch)()
    assert cubin.startswith(b"\x7fELF")
    assert all(entry.encode() in cubin for entry in gate.ENTRIES)
