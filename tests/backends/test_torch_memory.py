"""The formula against PyTorch's own count, for models as they really run."""

from __future__ import annotations

import importlib.util

import pytest

from gpuexplorer.backends.torch import TorchBackend
from gpuexplorer.backends.torch.memory import CPU_COUNTER, peak_of
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.memory.predict import predict
from gpuexplorer.workloads.plan import make_plan

WITHIN = 0.10
WORKLOADS = load()
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)


def counted(
    name: str,
    size: dict[str, int],
    precision: str = "fp32",
    switches: dict[str, bool | int | float | str] | None = None,
) -> MemoryUse:
    """Return the prediction for a model on the CPU, and what PyTorch counted."""
    backend = TorchBackend(1)
    found = backend.discover()
    assert isinstance(found, tuple)
    device = next(d for d in found if d.kind == "cpu")
    config = RunConfig(
        workload=name, variant="torch", size=size, precision=precision, device=device.id,
        threads=1, switches=switches or {},
    )  # fmt: skip
    plan = make_plan(WORKLOADS[name], config, device)
    runner = backend.runner(plan, device)
    runner.build()
    try:
        assert runner.counts_memory
        peak = runner.peak_memory(make_inputs(plan))
        assert peak is not None
        runner.launch(1)  # the arrays are left filled
    finally:
        runner.free()
    return MemoryUse(predicted=predict(plan), peak_B=peak[0], counter=peak[1])


def test_the_peak_is_the_largest_sum_after_the_beginning() -> None:
    changes = [(1, 100), (2, 900), (3, -900), (5, 20), (6, 30), (7, -50), (8, 10)]
    assert peak_of(changes, began_ns=4) == 150.0
    assert peak_of(changes, began_ns=0) == 1000.0
    assert peak_of([(1, 100)], began_ns=4) == 100.0


@needs_torch
@pytest.mark.parametrize(
    "size",
    [
        {"B": 1024, "D": 256, "H": 512, "C": 10},  # activations
        {"B": 64, "D": 512, "H": 1024, "C": 1000},  # weights
        {"B": 512, "D": 1024, "H": 256, "C": 4096},  # logits
    ],
    ids=lambda size: "-".join(f"{k}{v}" for k, v in size.items()),
)
def test_a_training_step_is_predicted(size: dict[str, int]) -> None:
    use = counted("mlp_training", size)
    assert use.counter == CPU_COUNTER
    assert use.relative_error == pytest.approx(0.0, abs=WITHIN)


@needs_torch
@pytest.mark.parametrize("precision", ["fp64", "bf16", "fp16", "autocast_bf16"])
def test_a_training_step_is_predicted_in_other_precisions(precision: str) -> None:
    use = counted("mlp_training", {"B": 2048, "D": 256, "H": 512, "C": 100}, precision)
    assert use.relative_error == pytest.approx(0.0, abs=WITHIN)


@needs_torch
@pytest.mark.parametrize("switch", ["checkpointing", "fused_optimizer"])
def test_a_training_step_is_predicted_with_switches(switch: str) -> None:
    size = {"B": 2048, "D": 128, "H": 256, "C": 10}
    use = counted("mlp_training", size, switches={switch: True})
    assert use.relative_error == pytest.approx(0.0, abs=WITHIN)


@needs_torch
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("matmul", {"N": 512}),
        ("mlp", {"B": 2048, "D": 256, "H": 512, "C": 10}),
        ("softmax", {"B": 1024, "D": 512}),
        ("layer_norm", {"B": 8, "S": 128, "D": 256}),
        ("attention", {"B": 2, "H": 4, "S": 512, "D": 64}),
        ("transformer_block", {"B": 4, "S": 256, "D": 256, "H": 4}),
        ("conv2d", {"B": 4, "C": 16, "H": 64, "K": 32, "R": 3}),
        ("cnn", {"B": 16, "C": 3, "H": 32, "K": 32, "N": 10}),
    ],
)
@pytest.mark.parametrize("mode", ["inference", "grad"])
def test_a_forward_pass_is_predicted(name: str, size: dict[str, int], mode: str) -> None:
    use = counted(name, size, switches={"grad_mode": mode})
    assert use.relative_error == pytest.approx(0.0, abs=WITHIN)
