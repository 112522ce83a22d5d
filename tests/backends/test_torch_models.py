"""Every model in PyTorch on the CPU: right in every precision, by the engine's own recipe."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from gpuexplorer.backends import registry
from gpuexplorer.backends.caches import CacheInfo, Flush
from gpuexplorer.backends.torch.formats import FORMATS, LINEAR_MODELS, gpu_precisions, refusal
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.models import MODELS
from gpuexplorer.workloads.models.training import LEARNING_RATE, MOMENTUM, loss_and_gradients
from tests.support.problems import plan_of
from tests.support.torch_models import (
    SHIPPED,
    SMALL,
    cpu,
    operators_of,
    outputs_of,
    plan_for,
    ready,
    runner_of,
    verified,
)

PLAIN = ("fp64", "fp32", "bf16", "fp16")
ROUNDING = {"fp64": 1e-14, "fp32": 1e-5, "bf16": 3e-2, "fp16": 4e-3}
"""Root-mean-square errors that a precision's rounding explains, well below the tolerances."""
OFFERED = [
    (name, precision)
    for name in SMALL
    for precision in SHIPPED[name].precisions_of("torch")
    if precision not in ("tf32", *PLAIN)
]


@pytest.mark.parametrize("precision", PLAIN)
@pytest.mark.parametrize("name", SMALL)
def test_a_model_agrees_with_float64(name: str, precision: str) -> None:
    found = verified(plan_for(name, precision), name)
    assert found.rms_rel_error is not None
    assert found.rms_rel_error < ROUNDING[precision]
    assert precision in ("fp64", "fp32") or found.rms_rel_error > ROUNDING["fp32"] / 10


@pytest.mark.parametrize(("name", "precision"), OFFERED)
def test_the_other_precisions_agree_within_their_rounding(name: str, precision: str) -> None:
    found = verified(plan_for(name, precision), name)
    assert found.rms_rel_error is not None
    assert 1e-6 < found.rms_rel_error < 0.15


@pytest.mark.parametrize("name", SMALL)
def test_results_have_the_plans_shapes_and_types(name: str) -> None:
    runner = ready(name, "bf16")
    runner.launch(1)
    for array in runner.plan.outputs:
        values = outputs_of(runner)[array.name]
        assert values.shape == array.shape and values.dtype == np.float32
        assert np.isfinite(values).all()
    runner.free()


def test_a_training_step_takes_the_gradients_that_were_written_by_hand() -> None:
    plan = plan_for("mlp_training", "fp64")
    runner = ready("mlp_training", "fp64")
    inputs = make_inputs(plan)
    runner.launch(1)
    found = outputs_of(runner)
    loss, gradients = loss_and_gradients({k: np.asarray(v, np.float64) for k, v in inputs.items()})
    assert found["loss"][0] == pytest.approx(loss, rel=1e-12)
    for name, gradient in gradients.items():
        velocity = MOMENTUM * inputs[f"v{name}"] + gradient
        np.testing.assert_allclose(found[f"v{name}"], velocity, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            found[name], inputs[name] - LEARNING_RATE * velocity, rtol=1e-9, atol=1e-12
        )
    runner.free()


def test_a_second_step_goes_on_with_the_momentum_of_the_first() -> None:
    runner = ready("mlp_training", "fp64")
    runner.launch(1)
    first = outputs_of(runner)
    runner.launch(1)
    second = outputs_of(runner)
    step = (first["W1"] - second["W1"]) / LEARNING_RATE
    np.testing.assert_allclose(step, second["vW1"], rtol=1e-6, atol=1e-12)
    assert second["loss"][0] < first["loss"][0]
    runner.free()


def test_weights_that_are_written_again_begin_anew() -> None:
    plan = plan_for("mlp_training")
    runner = ready("mlp_training")
    runner.launch(1)
    first = outputs_of(runner)
    runner.launch(5)
    inputs = make_inputs(plan)
    runner.upload({a.name: inputs[a.name] for a in plan.arrays if a.role == "inout"})
    runner.launch(1)
    again = outputs_of(runner)
    assert all(np.array_equal(again[name], first[name]) for name in first)
    runner.free()


def test_results_are_the_same_from_run_to_run() -> None:
    seen = []
    for _ in range(2):
        runner = ready("transformer_block")
        runner.launch(1)
        seen.append(outputs_of(runner)["Y"])
        runner.free()
    assert np.array_equal(*seen)


def test_a_batch_has_one_positive_duration_a_step_and_keeps_the_last_result() -> None:
    runner = ready("mlp")
    before = runner.now_ns()
    batch = runner.launch(9)
    after = runner.now_ns()
    assert before <= batch.start_ns <= after
    assert batch.seconds.shape == (9,) and (batch.seconds > 0).all()
    assert batch.seconds.sum() <= (after - before) * 1e-9
    assert outputs_of(runner)["Y"].shape == (8, 10)
    runner.free()


def test_arrays_that_are_reset_are_set_back_before_each_step() -> None:
    plan = plan_for("mlp_training")
    learned = tuple(a.name for a in plan.arrays if a.role == "inout")
    once, often = ready("mlp_training"), runner_of(msgspec.structs.replace(plan, reset=learned))
    once.launch(1)
    often.build()
    often.allocate()
    often.upload(make_inputs(plan))
    often.launch(4)
    first, last = outputs_of(once), outputs_of(often)
    assert all(np.array_equal(first[name], last[name]) for name in first)
    once.free()
    often.free()


def test_the_cache_is_emptied_before_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    flush = Flush(2 << 20, CacheInfo(1 << 20, 2, 1, "test"))
    monkeypatch.setattr("gpuexplorer.backends.torch.model_runner.cpu_flush", lambda: flush)
    runner = ready("mlp", cache="cold")
    emptied: list[int] = []
    monkeypatch.setattr(runner, "_flusher", lambda: lambda: emptied.append(1))
    runner.launch(5)
    assert len(emptied) == 5
    assert "cold: 2.10 MB read before each launch" in runner.method
    runner.free()


def test_poison_forgets_the_last_result() -> None:
    runner = ready("softmax")
    runner.launch(1)
    runner.poison()
    with pytest.raises(WorkFailed, match="has not run"):
        outputs_of(runner)
    runner.free()


def test_a_run_with_its_transfers_allocates_and_frees_each_time() -> None:
    verified(plan_for("mlp", switches={"include_transfers": True}), "mlp")


def test_freeing_twice_and_running_again_does_no_harm() -> None:
    runner = ready("cnn")
    runner.launch(1)
    first = outputs_of(runner)["Y"]
    runner.free()
    runner.free()
    runner.allocate()
    runner.upload(make_inputs(runner.plan))
    runner.launch(1)
    assert np.array_equal(outputs_of(runner)["Y"], first)
    runner.free()


def test_memory_that_is_not_there_is_survived() -> None:
    import torch

    runner = ready("mlp")
    runner.made.data["X"] = torch.empty(1).expand(2**50, 32)  # a batch of petabytes
    with pytest.raises(WorkFailed, match="ran out of memory") as failed:
        runner.launch(1)
    assert failed.value.__context__ is None  # which would hold the arrays
    runner.free()
    verified(plan_for("mlp"), "mlp")


def test_threads_are_those_of_the_engine() -> None:
    import torch

    before = torch.get_num_threads()
    for threads in (2, 1):
        backend = registry.create("torch", threads)
        found = backend.discover()
        assert isinstance(found, tuple)
        plan = plan_of(SHIPPED["mlp"], found[0], variant="torch", size=SMALL["mlp"])
        backend.runner(plan, found[0]).build()
        assert torch.get_num_threads() == threads
    torch.set_num_threads(before)


@pytest.mark.alone
def test_a_long_step_is_estimated_from_a_few_samples_and_a_short_one_is_not() -> None:
    short = ready("mlp")
    assert short.predict_s() is None
    short.free()
    for name, size in (
        ("mlp", {"B": 2048, "D": 512, "H": 512, "C": 10}),
        ("mlp_training", {"B": 1024, "D": 256, "H": 512, "C": 10}),
        ("matmul", {"N": 900}),
    ):
        runner = ready(name, size=size)
        predicted_s = runner.predict_s()
        took_s = float(runner.launch(3).seconds.min())
        assert predicted_s is not None
        assert took_s / 20 < predicted_s < took_s * 30
        runner.free()


def test_what_the_cpu_offers_is_what_runs() -> None:
    device = cpu()
    assert set(device.precisions) == set(FORMATS) - {"tf32"}
    assert {f"torch.{name}" for name in MODELS} <= set(device.libraries)
    with pytest.raises(CannotRunHere, match="tf32"):
        plan_for("mlp", "tf32")


def test_precisions_follow_the_gpu() -> None:
    assert set(gpu_precisions((7, 0))) == {"fp64", "fp32", "fp16", "autocast_fp16"}
    assert "int8" in gpu_precisions((7, 5)) and "bf16" not in gpu_precisions((7, 5))
    assert {"tf32", "bf16"} <= set(gpu_precisions((8, 0))) and "fp8_e4m3" not in gpu_precisions(
        (8, 6)
    )
    assert set(gpu_precisions((9, 0))) == set(FORMATS)


@pytest.mark.parametrize("precision", ["fp8_e4m3", "int8"])
def test_forms_for_products_are_refused_where_there_are_none(precision: str) -> None:
    for name in set(SMALL) - set(LINEAR_MODELS):
        assert precision not in SHIPPED[name].precisions_of("torch")


def test_lengths_that_a_gpus_product_cannot_have_are_refused_with_the_array() -> None:
    plan = plan_for("mlp", "int8", size={"B": 8, "D": 36, "H": 48, "C": 10})
    assert refusal(plan, "cpu") is None
    refused = refusal(plan, "gpu")
    assert refused is not None and "'W1' is 48 × 36" in refused[0] and "8" in refused[1]
    fits = plan_for("mlp", "int8", size={"B": 32, "D": 32, "H": 48, "C": 10})
    assert refusal(fits, "gpu") is None  # ten classes are filled up to sixteen
    few = plan_for("mlp", "int8", size={"B": 16, "D": 32, "H": 48, "C": 10})
    refused = refusal(few, "gpu")
    assert refused is not None and "more than 16 rows, and there are 16" in refused[0]
    assert refusal(plan_for("transformer_block", "int8"), "gpu") is None  # 2 × 12 rows
    assert refusal(plan_for("attention", "bf16"), "gpu") is None


def test_int8_and_fp8_call_the_operators_that_they_name() -> None:
    for precision, operator in (
        ("int8", "quantized::linear_dynamic"),
        ("fp8_e4m3", "aten::mm"),
    ):
        runner = ready("mlp", precision)
        called = operators_of(runner)
        assert called.count(operator) == 3
        assert "aten::_scaled_mm" not in called, "on some CPUs that takes minutes"
        runner.free()


def test_autocast_computes_products_in_the_lower_type_and_keeps_the_weights() -> None:
    import torch

    runner = ready("mlp", "autocast_bf16")
    model = runner.made
    assert {p.dtype for p in model.module.parameters()} == {torch.float32}
    with model.mode():
        result = model.step()
    assert isinstance(result, torch.Tensor) and result.dtype == torch.bfloat16
    runner.free()


def test_quantised_layers_agree_with_an_independent_computation() -> None:
    """Dynamic int8 by hand in NumPy: the layer's own error, not the tolerance."""
    plan = plan_for("matmul", "int8", size={"N": 64})
    runner = ready("matmul", "int8", size={"N": 64})
    runner.launch(1)
    found = outputs_of(runner)["C"]
    inputs = make_inputs(plan)
    a, b = inputs["A"].astype(np.float64), inputs["B"].astype(np.float64)
    scale = np.abs(b).max(axis=0) / 127
    low, high = min(a.min(), 0.0), max(a.max(), 0.0)
    width = (high - low) / 255
    rounded = np.round(a / width) * width @ (np.round(b / scale) * scale)
    error = np.linalg.norm(found - rounded) / np.linalg.norm(rounded)
    assert error < 0.02  # the CPU may give inputs 7 bits and not 8
    runner.free()
