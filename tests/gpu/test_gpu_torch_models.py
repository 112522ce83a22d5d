"""PyTorch's models on the GPU: right in every precision, and every switch really on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gpuexplorer.backends import registry
from gpuexplorer.backends.torch.compiled import Compiled, graphs
from gpuexplorer.backends.torch.evidence import kernel_names
from gpuexplorer.backends.torch.model_runner import TorchCudaModelRunner
from gpuexplorer.core.device import DeviceInfo, Unavailable
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.references import Reference
from tests.gpu.hardware import has_tensor_cores
from tests.support.problems import plan_of

SHIPPED = load()
SIZES: dict[str, dict[str, int]] = {
    "matmul": {"N": 256},
    "mlp": {"B": 32, "D": 128, "H": 256, "C": 10},
    "mlp_training": {"B": 32, "D": 128, "H": 256, "C": 10},
    "conv2d": {"B": 4, "C": 8, "K": 16, "H": 32, "R": 3},
    "attention": {"B": 2, "H": 4, "S": 128, "D": 64},
    "softmax": {"B": 64, "D": 1000},
    "layer_norm": {"B": 4, "S": 32, "D": 256},
    "transformer_block": {"B": 2, "S": 64, "D": 128, "H": 4},
    "cnn": {"B": 4, "C": 3, "K": 16, "H": 32, "N": 10},
}
Ready = Callable[..., TorchCudaModelRunner]


@pytest.fixture(scope="module")
def gpu() -> DeviceInfo:
    """Return PyTorch's first GPU; skipped where this PyTorch is built for the CPU alone."""
    found = registry.create("torch", 1).discover()
    if isinstance(found, Unavailable):
        pytest.skip(found.reason)
    gpus = [device for device in found if device.kind == "gpu"]
    if not gpus:
        pytest.skip("this PyTorch is built for the CPU alone")
    return gpus[0]


def plan_on(gpu: DeviceInfo, name: str, precision: str = "fp32", /, **request: Any) -> Plan:
    request.setdefault("size", SIZES[name])
    return plan_of(SHIPPED[name], gpu, variant="torch", precision=precision, **request)


@pytest.fixture
def ready(gpu: DeviceInfo) -> Iterator[Ready]:
    """Return what makes a runner with its arrays filled."""
    made: list[TorchCudaModelRunner] = []

    def make(name: str, precision: str = "fp32", /, **request: Any) -> TorchCudaModelRunner:
        runner = registry.create("torch", 1).runner(plan_on(gpu, name, precision, **request), gpu)
        assert isinstance(runner, TorchCudaModelRunner)
        made.append(runner)
        runner.build()
        runner.allocate()
        runner.upload(make_inputs(runner.plan))
        return runner

    yield make
    for runner in made:
        runner.free()


def error_of(runner: TorchCudaModelRunner) -> float:
    """Launch once and return the root-mean-square error; the result must be right."""
    plan = runner.plan
    workload = SHIPPED[plan.config.workload]
    inputs = make_inputs(plan)
    runner.upload({a.name: inputs[a.name] for a in plan.arrays if a.role == "inout"})
    runner.launch(1)
    outputs = runner.download(tuple(a.name for a in plan.outputs))
    reference = Reference(workload, plan, inputs)
    found = reference.verify(outputs)
    assert found.ok, reference.explain(outputs)
    assert found.rms_rel_error is not None
    return found.rms_rel_error


def kernels_of(runner: TorchCudaModelRunner) -> str:
    model = runner.made
    with model.mode():
        return " ".join(kernel_names(model)).lower()


@pytest.mark.parametrize(
    ("name", "precision"),
    [(name, p) for name in SIZES for p in SHIPPED[name].precisions_of("torch")],
)
def test_a_model_agrees_with_float64(
    name: str, precision: str, gpu: DeviceInfo, ready: Ready
) -> None:
    if precision not in gpu.precisions:
        pytest.skip(f"{gpu.name} has no {precision}")
    runner = ready(name, precision)
    assert error_of(runner) < {"fp64": 1e-13, "fp32": 1e-5}.get(precision, 0.2)
    told = runner.arithmetic()
    assert told is not None and told.asked == precision
    assert told.ran == precision, told.fallback


def test_tf32_is_on_when_asked_for_and_off_otherwise(gpu: DeviceInfo, ready: Ready) -> None:
    if "tf32" not in gpu.precisions:
        pytest.skip(f"{gpu.name} has no tf32")
    for name in ("matmul", "conv2d"):
        exact, rounded = error_of(ready(name)), error_of(ready(name, "tf32"))
        assert exact < 1e-5 < 1e-4 < rounded


@pytest.mark.parametrize("value", ["math", "flash", "efficient", "cudnn"])
def test_the_attention_that_was_chosen_runs(value: str, gpu: DeviceInfo, ready: Ready) -> None:
    words = {"math": "softmax", "flash": "flash", "efficient": "fmha", "cudnn": "cudnn"}
    since = {"flash": (8, 0), "cudnn": (9, 0)}.get(value, (5, 0))
    if (gpu.compute_capability or (0, 0)) < since:
        pytest.skip(f"{gpu.name} has no such attention")
    precision = "bf16" if "bf16" in gpu.precisions else "fp16"
    runner = ready("attention", precision, switches={"sdpa": value})
    error_of(runner)
    assert words[value] in kernels_of(runner)


def test_flash_attention_of_fp32_is_refused_with_the_reason(ready: Ready) -> None:
    runner = ready("attention", "fp32", switches={"sdpa": "flash"})
    with pytest.raises(CannotRunHere, match="'flash' attention cannot run this in fp32"):
        runner.launch(1)


@pytest.mark.parametrize("name", ["mlp", "mlp_training", "transformer_block"])
def test_a_graph_replays_the_same_step(name: str, ready: Ready) -> None:
    plain, graph = ready(name), ready(name, switches={"cuda_graph": True})
    assert error_of(graph) == pytest.approx(error_of(plain), rel=0.5)
    assert graph.made.step.__name__ == "replay"
    plain.launch(20)
    graph.launch(20)
    assert graph._clock.queue_s < plain._clock.queue_s  # one launch for a dozen


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_what_is_compiled_is_right_and_compiled_once(
    mode: str, gpu: DeviceInfo, ready: Ready
) -> None:
    import torch

    pytest.importorskip("triton")
    if (gpu.compute_capability or (0, 0)) < (7, 0):
        pytest.skip("Triton begins with compute capability 7.0")
    if not any(shutil.which(name) for name in ("gcc", "clang", "cc")):
        pytest.skip("no C compiler is installed")
    Compiled.forget(torch)
    runner = ready("mlp", switches={"compile": mode})
    error_of(runner)
    built = graphs(torch)
    runner.launch(10)
    assert graphs(torch) == built
    assert "triton" in kernels_of(runner) or mode == "reduce-overhead"


def test_channels_last_convolutions_do_not_rearrange(gpu: DeviceInfo, ready: Ready) -> None:
    if not has_tensor_cores(gpu):
        pytest.skip("cuDNN has such convolutions of halves for tensor cores alone")
    runner = ready("conv2d", "fp16", switches={"channels_last": True})
    error_of(runner)
    assert "nchwtonhwc" not in kernels_of(runner)


def test_a_fused_optimiser_launches_fewer_kernels(ready: Ready) -> None:
    count = {}
    for fused in (True, False):
        runner = ready("mlp_training", switches={"fused_optimizer": fused})
        error_of(runner)
        with runner.made.mode():
            count[fused] = len(kernel_names(runner.made))
    assert count[True] < count[False]


@pytest.mark.parametrize("switches", [{"pinned": True}, {"async_copies": True}, {}])
def test_runs_with_transfers_are_right_however_they_copy(
    switches: dict[str, bool], ready: Ready
) -> None:
    runner = ready("mlp", switches={"include_transfers": True, **switches})
    error_of(runner)
    if switches:
        locked = runner.made.locked  # type: ignore[attr-defined]
        assert locked and all(tensor.is_pinned() for tensor in locked.values())


def test_a_step_is_timed_as_the_hosts_clock_has_it_where_it_is_long(ready: Ready) -> None:
    import torch

    runner = ready("matmul", size={"N": 4096})
    runner.launch(3)
    batch = runner.launch(10)
    torch.cuda.synchronize()
    began = runner.now_ns()
    for _ in range(10):
        runner.made.step()
    torch.cuda.synchronize()
    host_s = (runner.now_ns() - began) * 1e-10
    assert float(np.median(batch.seconds)) == pytest.approx(host_s, rel=0.1)
    assert "queueing one takes the host" in runner.method


def test_running_out_of_memory_is_survived(gpu: DeviceInfo, ready: Ready) -> None:
    import torch

    free_B, _ = torch.cuda.mem_get_info(0)
    runner = ready("softmax", size={"B": 1024, "D": 1024})
    runner.made.data["X"] = torch.empty(1, device="cuda:0").expand(free_B // 1024, 1024)
    with pytest.raises(WorkFailed, match="ran out of memory"):
        runner.launch(1)
    runner.free()
    assert torch.cuda.memory_allocated(0) < 1 << 28  # what cuBLAS keeps
    assert error_of(ready("softmax")) < 1e-5


def test_the_engine_runs_a_model_on_the_gpu(gpu: DeviceInfo) -> None:
    laboratory = Laboratory(1)
    try:
        assert laboratory.device(gpu.id).libraries == gpu.libraries
        with laboratory.held(SHIPPED["mlp"], plan_on(gpu, "mlp").config) as runner:
            assert (runner.launch(5).seconds > 0).all()
    finally:
        laboratory.close()
