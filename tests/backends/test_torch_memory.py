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
from gpuexplorer.workloads.planning import make_plan

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


MLP = {"B": 2048, "D": 256, "H": 512, "C": 10}
TRANSFORMER = {"B": 4, "S": 256, "D": 256, "H": 4}
CNN = {"B": 16, "C": 3, "H": 32, "K": 32, "N": 10}
ATTENTION = {"B": 2, "H": 4, "S": 512, "D": 64}
FORWARD = {
    "matmul": {"N": 512},
    "mlp": MLP,
    "softmax": {"B": 1024, "D": 512},
    "layer_norm": {"B": 8, "S": 128, "D": 256},
    "attention": ATTENTION,
    "transformer_block": TRANSFORMER,
    "conv2d": {"B": 4, "C": 16, "H": 64, "K": 32, "R": 3},
    "cnn": CNN,
}


@needs_torch
@pytest.mark.parametrize(
    ("precision", "switches"),
    [
        ("fp64", {}),
        ("bf16", {}),
        ("fp16", {}),
        ("autocast_bf16", {}),
        ("fp32", {"checkpointing": True}),
        ("autocast_bf16", {"checkpointing": True}),
        ("fp32", {"fused_optimizer": True}),
    ],
)
def test_a_training_step_is_predicted_in_precisions_and_with_switches(
    precision: str, switches: dict[str, bool | int | float | str]
) -> None:
    use = counted("mlp_training", MLP, precision, switches)
    assert use.relative_error == pytest.approx(0.0, abs=WITHIN)


@needs_torch
@pytest.mark.parametrize("mode", ["inference", "grad"])
@pytest.mark.parametrize("name", FORWARD)
def test_a_forward_pass_is_predicted(name: str, mode: str) -> None:
    use = counted(name, FORWARD[name], switches={"grad_mode": mode})
    assert use.relative_error == pytest.approx(0.0, abs=WITHIN)


@needs_torch
@pytest.mark.parametrize(
    ("name", "precision", "switches"),
    [
        ("mlp", "fp32", {"in_place": True}),
        ("mlp", "autocast_bf16", {}),
        ("mlp", "int8", {}),
        ("mlp", "fp8_e4m3", {}),
        ("matmul", "int8", {}),
        ("transformer_block", "fp32", {"sdpa": "math"}),
        ("transformer_block", "fp32", {"one_by_one": True}),
        ("transformer_block", "autocast_bf16", {}),
        ("cnn", "fp32", {"channels_last": True}),
        ("cnn", "fp64", {}),
        ("attention", "bf16", {"sdpa": "math"}),
    ],
)
def test_what_changes_a_forward_pass_changes_its_prediction(
    name: str, precision: str, switches: dict[str, bool | int | float | str]
) -> None:
    use = counted(name, FORWARD[name], precision, switches)
    assert use.relative_error == pytest.approx(0.0, abs=WITHIN)
