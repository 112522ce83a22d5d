"""TensorFlow, Keras and JAX on a real GPU, as far as this Python has builds for CUDA."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.models import MODELS

SHIPPED = load()


@pytest.fixture(scope="module")
def session() -> Iterator[EngineSession]:
    with EngineSession() as opened:
        yield opened


def gpu_of(session: EngineSession, framework: str) -> DeviceInfo:
    """Return a framework's first GPU; the test is skipped where it has no build for CUDA here."""
    for device in session.devices().devices:
        if device.backend == framework and device.kind == "gpu":
            return device
    pytest.skip(f"{framework} has no build for CUDA in this Python")


@pytest.mark.parametrize("framework", ["tensorflow", "keras", "jax"])
@pytest.mark.parametrize("workload", MODELS)
def test_each_computes_what_float64_says(
    session: EngineSession, workload: str, framework: str
) -> None:
    device = gpu_of(session, framework)
    errors = {}
    for precision in ("fp32", "tf32", "bf16", "fp16"):
        offered = SHIPPED[workload].precisions_of(framework)
        if precision not in offered or precision not in device.precisions:
            continue
        wanted = RunRequest(
            workload=workload, variant=framework, device=device.id, precision=precision
        )
        config = complete(wanted, SHIPPED[workload], session.devices())
        run = session.measure(
            config, SHIPPED[workload], RunOptions(seconds=2.0, samples=20)
        ).result()
        assert run.verified and run.config.device == device.id
        assert "one wait" in run.timing.method or "each step" in run.timing.method
        assert run.verification is not None
        errors[precision] = run.verification.rms_rel_error
    if workload == "matmul" and "tf32" in errors:  # fp32 is fp32, and tf32 is not
        assert (errors["fp32"] or 0.0) < 1e-5 < (errors["tf32"] or 0.0) < 2e-3


@pytest.mark.parametrize(
    ("framework", "switch"), [("tensorflow", "xla"), ("keras", "tf_function"), ("jax", "jit")]
)
def test_a_compiled_model_computes_the_same(
    session: EngineSession, framework: str, switch: str
) -> None:
    device = gpu_of(session, framework)
    wanted = RunRequest(
        workload="transformer_block", variant=framework, device=device.id, switches={switch: True}
    )
    chosen = SHIPPED["transformer_block"]
    config = complete(wanted, chosen, session.devices())
    assert session.measure(config, chosen, RunOptions(seconds=2.0, samples=20)).result().verified


def test_frameworks_share_the_gpu(session: EngineSession) -> None:
    """Two frameworks hold arrays in one engine, neither having taken all of the memory."""
    for framework in ("tensorflow", "jax"):
        device = gpu_of(session, framework)
        wanted = RunRequest(workload="matmul", variant=framework, device=device.id)
        config = complete(wanted, SHIPPED["matmul"], session.devices())
        run = session.measure(
            config, SHIPPED["matmul"], RunOptions(seconds=2.0, samples=5)
        ).result()
        assert run.verified
        used_B, memory_B = run.telemetry.memory_used_B, device.limits.memory_B
        assert used_B is None or memory_B is None or used_B < 0.5 * memory_B
