"""A GPU that the compiler does not know, or that has no gate, still does what it can."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from gpuexplorer.backends.cuda import driver as cu
from gpuexplorer.backends.cuda import timing
from gpuexplorer.backends.cuda.describe import architecture, describe
from gpuexplorer.backends.cuda.kernels import BuiltStep, KernelRunner
from gpuexplorer.backends.cuda.session import CudaSession
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, DeviceLost, InputError, WorkFailed
from gpuexplorer.search.ahead import exact_arch
from gpuexplorer.workloads.plan import KernelLaunch, Plan
from tests.backends.fake_cuda import FACTS, CUDARuntimeError, FakeCuda
from tests.backends.test_cuda_runner import DEVICE, N, X, axpy, build, make_plan


def raises(error: Exception) -> Callable[[], bytes]:
    """Return what compiles a gate and fails."""

    def compile_gate() -> bytes:
        raise error

    return compile_gate


def check_axpy(session: CudaSession) -> str:
    """Run the textbook sequence, compare its result, and return the words on how it was timed."""
    runner = KernelRunner(make_plan(), DEVICE, session, build)
    runner.build()
    runner.allocate()
    runner.upload({"x": X, "y": np.zeros(N, np.float32)})
    runner.launch(1)
    np.testing.assert_array_equal(runner.download(("y",))["y"], 2 * X)
    return runner.method


@pytest.mark.parametrize(
    "error",
    [
        InputError("NVRTC 13.0 does not compile for 'sm_130'"),
        CannotRunHere("NVRTC cannot be used here"),
        WorkFailed("the kernel does not compile"),
        CUDARuntimeError(222),
        KeyError("gpuexplorerGate"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_gate_that_does_not_compile_leaves_the_rest_of_the_device(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    fake = FakeCuda(kernels={"axpy": (2, axpy)})
    with caplog.at_level(logging.WARNING):
        session = CudaSession(FACTS, fake.api, raises(error))
    assert session.gate is None
    assert "not queued behind a gate: " in caplog.text
    assert timing.PLAIN in check_axpy(session)
    session.close()


def test_a_gate_that_cannot_be_loaded_or_given_memory_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> int:
        raise CUDARuntimeError(2)

    for call in ("cu_moduleGetFunction", "rt_hostAlloc"):
        with monkeypatch.context() as patch:
            patch.setattr(FakeCuda, call, refuse)
            session = CudaSession(FACTS, FakeCuda().api, lambda: b"gate")
        assert session.gate is None and not session.lost


def test_a_device_that_the_gate_loses_is_lost() -> None:
    fake = FakeCuda(fail_wait=719)
    with pytest.raises(DeviceLost, match="while opening the gate"):
        CudaSession(FACTS, fake.api, lambda: b"gate")


def test_a_run_says_that_the_driver_compiled_its_kernels() -> None:
    def build_ptx(plan: Plan, step: KernelLaunch) -> BuiltStep:
        return msgspec.structs.replace(build(plan, step), code=b"// PTX\0", target="compute_90")

    session = CudaSession(FACTS, FakeCuda(kernels={"axpy": (2, axpy)}).api, None)
    runner = KernelRunner(make_plan(), DEVICE, session, build_ptx)
    runner.build()
    assert runner.method.endswith(
        "; the driver compiled PTX for compute_90, as NVRTC does not know this GPU"
    )
    assert runner.resources().registers_per_thread == 32, "by the driver's word"
    assert "PTX" not in check_axpy(session)


def device_of(capability: tuple[int, int], target: str | None) -> DeviceInfo:
    attributes = {**FACTS.attributes, **dict(zip(cu.CAPABILITY, capability, strict=True))}
    facts = msgspec.structs.replace(FACTS, attributes=attributes)
    return describe(facts, "CUDA 13.0", None, (), target)


def test_with_ptx_no_instruction_newer_than_it_is_claimed() -> None:
    known = device_of((12, 0), architecture((12, 0)))
    assert known.has("sm_120") and known.has("sm_120a") and known.has("sm_90")
    assert exact_arch(known) == "sm_120a"
    unknown = device_of((12, 0), "compute_90")
    assert unknown.has("sm_90") and unknown.has("sm_80") and unknown.has("fp16")
    assert not any(unknown.has(f"sm_{name}") for name in ("90a", "100", "120", "120a"))
    assert exact_arch(unknown) == "compute_90"
    assert unknown.compute_capability == (12, 0)
