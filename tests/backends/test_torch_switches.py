"""Every switch of PyTorch's models does what it says, seen by an effect other than time."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from gpuexplorer.backends.keras.underlying import OnTorch
from gpuexplorer.backends.torch import compiled
from gpuexplorer.backends.torch.compiled import Compiled, graphs
from gpuexplorer.backends.torch.load import set_flags
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from tests.support.torch_models import SMALL, operators_of, outputs_of, plan_for, ready, verified
from tests.support.torch_models import runner_of as runner_for

HEADERS = Path(sysconfig.get_path("include")) / "Python.h"


def result_of(name: str, **switches: bool | str) -> np.ndarray:
    runner = ready(name, switches=switches)
    runner.launch(1)
    found = outputs_of(runner)
    runner.free()
    return np.asarray(found[runner.plan.outputs[0].name])


@pytest.mark.parametrize(
    ("value", "operator"),
    [
        ("math", "aten::_scaled_dot_product_attention_math"),
        ("flash", "aten::_scaled_dot_product_flash_attention_for_cpu"),
    ],
)
@pytest.mark.parametrize("name", ["attention", "transformer_block"])
def test_the_attention_that_was_chosen_runs(name: str, value: str, operator: str) -> None:
    runner = ready(name, switches={"sdpa": value})
    attention = [n for n in operators_of(runner) if "scaled_dot_product" in n and "_" in n[6:7]]
    assert attention and set(attention) == {operator}
    runner.free()
    verified(plan_for(name, switches={"sdpa": value}), name)


def test_an_attention_of_another_device_is_refused() -> None:
    for value in ("efficient", "cudnn"):
        with pytest.raises(CannotRunHere, match="GPU"):
            plan_for("attention", switches={"sdpa": value})


def test_an_attention_that_cannot_run_says_so() -> None:
    plan = plan_for("attention")
    plan.switches["sdpa"] = "cudnn"
    runner = runner_for(plan)
    runner.build()
    runner.allocate()
    with pytest.raises(CannotRunHere, match="'cudnn' attention cannot run this in fp32"):
        runner.launch(1)
    runner.free()


@pytest.mark.parametrize("name", ["conv2d", "cnn"])
def test_channels_last_is_how_images_and_filters_lie(name: str) -> None:
    import torch

    last = torch.channels_last
    runner = ready(name, switches={"channels_last": True})
    model = runner.made
    assert model.data["X"].is_contiguous(memory_format=last)
    assert not model.data["X"].is_contiguous()
    filters = [p for p in model.module.parameters() if p.dim() == 4]
    assert filters and all(p.is_contiguous(memory_format=last) for p in filters)
    runner.free()
    assert not ready(name).made.data["X"].is_contiguous(memory_format=last)
    verified(plan_for(name, switches={"channels_last": True}), name)


def test_gradients_are_recorded_as_the_mode_says() -> None:
    import torch

    seen = {}
    for mode in ("grad", "no_grad", "inference"):
        runner = ready("mlp", switches={"grad_mode": mode})
        model = runner.made
        with model.mode():
            result = model.step()
        assert isinstance(result, torch.Tensor)
        seen[mode] = (result.requires_grad, result.is_inference())
        runner.launch(2)
        outputs_of(runner)
        runner.free()
    assert seen == {
        "grad": (True, False),
        "no_grad": (False, False),
        "inference": (False, True),
    }
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()


@pytest.mark.parametrize(("name", "count"), [("mlp", 2), ("cnn", 2)])
def test_in_place_activations_overwrite_their_inputs(name: str, count: int) -> None:
    for in_place, operator in ((True, "aten::relu_"), (False, "aten::relu")):
        runner = ready(name, switches={"in_place": in_place})
        called = operators_of(runner)
        assert called.count(operator) == count
        assert ("aten::relu_" in called) == in_place
        runner.free()


def test_one_by_one_calls_the_model_for_each_sample() -> None:
    runner = ready("mlp", switches={"one_by_one": True})
    assert operators_of(runner).count("aten::linear") == 3 * SMALL["mlp"]["B"]
    runner.free()
    np.testing.assert_allclose(
        result_of("mlp", one_by_one=True), result_of("mlp"), rtol=1e-4, atol=1e-5
    )


def test_a_fused_optimiser_is_one_operator() -> None:
    for fused in (True, False):
        runner = ready("mlp_training", switches={"fused_optimizer": fused})
        called = operators_of(runner)
        assert called.count("aten::_fused_sgd_") == int(fused)
        training = runner.made.training
        assert training is not None and bool(training.optimizer.defaults["fused"]) is fused
        runner.free()
    plan = plan_for("mlp_training", switches={"fused_optimizer": True})
    verified(plan, "mlp_training")


def test_checkpointing_computes_activations_again() -> None:
    counts = {}
    for checkpointing in (True, False):
        runner = ready("mlp_training", switches={"checkpointing": checkpointing})
        counts[checkpointing] = operators_of(runner).count("aten::gelu")
        runner.free()
    assert counts == {True: 4, False: 2}
    plan = plan_for("mlp_training", switches={"checkpointing": True})
    verified(plan, "mlp_training")


def test_flags_of_the_process_are_set_for_each_run() -> None:
    import torch

    products = torch.backends.cuda.matmul
    for wanted in (True, False):
        set_flags(torch, tf32=wanted, reduced=wanted)
        assert products.allow_tf32 is wanted and torch.backends.cudnn.allow_tf32 is wanted
        assert products.allow_bf16_reduced_precision_reduction is wanted
        assert products.allow_fp16_reduced_precision_reduction is wanted
    set_flags(torch, tf32=True, reduced=True)
    ready("mlp").free()
    assert not products.allow_tf32 and not products.allow_bf16_reduced_precision_reduction


def test_newer_names_of_the_flags_do_not_have_the_last_word() -> None:
    import torch

    backends = torch.backends
    if not hasattr(backends, "fp32_precision"):
        pytest.skip("this version has the older names alone")
    backends.fp32_precision = "tf32"
    backends.mkldnn.matmul.fp32_precision = "bf16"
    set_flags(torch)
    assert torch.get_float32_matmul_precision() == "highest"
    assert backends.cudnn.allow_tf32 is False
    assert backends.mkldnn.matmul.fp32_precision == "none"


def test_keras_on_pytorch_states_its_flags_and_threads() -> None:
    import torch

    products, threads = torch.backends.cuda.matmul, torch.get_num_threads()
    ready("mlp").free()
    set_flags(torch, tf32=True, reduced=True)
    torch.set_num_threads(threads + 1)
    torch.use_deterministic_algorithms(True)
    keras = OnTorch(threads, "keras:cpu", memory_growth=False)
    with keras.mode("fp32", trains=False):
        assert not products.allow_tf32 and not products.allow_bf16_reduced_precision_reduction
        assert not torch.are_deterministic_algorithms_enabled()
        assert torch.get_num_threads() == threads


# ---- torch.compile


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have torch.compile trace alone, which needs no compiler and takes no seconds."""
    import torch

    monkeypatch.setattr(Compiled, "backend", "eager")
    monkeypatch.setattr(compiled, "check_compiler", lambda torch, kind: None)
    Compiled.forget(torch)


def test_what_is_compiled_is_compiled_before_the_first_launch(traced: None) -> None:
    import torch

    runner = ready("mlp", switches={"compile": "default"})
    built = graphs(torch)
    runner.launch(3)
    assert graphs(torch) == built
    assert "again" not in runner.method
    assert type(runner.made.called()).__name__ == "OptimizedModule"
    first = outputs_of(runner)["Y"]
    runner.free()
    np.testing.assert_allclose(first, result_of("mlp"), rtol=1e-5, atol=1e-6)


def test_runs_in_turns_compile_once(traced: None) -> None:
    import torch

    ready("mlp", switches={"compile": "default"}).free()
    ready("softmax").free()
    before = graphs(torch)
    runner = ready("mlp", switches={"compile": "default"})
    runner.launch(2)
    assert graphs(torch) == before
    runner.free()


def test_a_batch_in_which_something_was_compiled_is_taken_again(traced: None) -> None:
    import torch

    runner = ready("mlp", switches={"compile": "default"})
    runner.launch(1)
    model = runner.made
    model.data["X"] = torch.zeros(5, 32)
    model._bound = None
    runner.launch(4)
    assert "torch.compile compiled 1 × again, outside the times" in runner.method
    runner.free()


def test_compiling_in_every_batch_is_an_error(traced: None) -> None:
    import torch

    runner = ready("mlp", switches={"compile": "default"})
    runner.launch(1)
    model = runner.made
    lengths = iter(range(20, 30))
    plain = model.called()
    model._bound = lambda: plain(torch.zeros(next(lengths), 32))
    with pytest.raises(WorkFailed, match="again in each of 3 batches"):
        runner.launch(1)
    runner.free()


def test_whole_number_layers_are_compiled_too(traced: None) -> None:
    plan = plan_for("mlp", "int8", switches={"compile": "default"})
    verified(plan, "mlp")
    runner = runner_for(plan)
    runner.build()
    runner.allocate()
    assert operators_of(runner).count("aten::_int_mm") == 3
    runner.free()


def test_training_is_compiled_with_its_backward_pass(traced: None) -> None:
    plan = plan_for("mlp_training", switches={"compile": "default"})
    verified(plan, "mlp_training")


def test_without_a_compiler_there_is_one_clear_sentence() -> None:
    import torch
    import torch._inductor.config as config

    Compiled.forget(torch)
    runner = runner_for(plan_for("mlp", switches={"compile": "default"}))
    without = config.patch({"cpp.cxx": (None, "no-such-compiler")})
    with without, pytest.raises(CannotRunHere, match="needs a C") as found:
        runner.build()
    assert found.value.what == "torch.compile needs a C++ compiler, and none was found"
    assert "CXX" in found.value.remedy
    runner.free()


@pytest.mark.skipif(
    shutil.which("g++") is None or not HEADERS.is_file(), reason="no C++ compiler is installed"
)
def test_torch_compile_makes_one_kernel_of_several_operators() -> None:
    import torch

    Compiled.forget(torch)
    runner = ready("softmax", switches={"compile": "default"})
    called = operators_of(runner)
    assert "aten::softmax" not in called and "aten::_softmax" not in called
    runner.launch(1)
    np.testing.assert_allclose(outputs_of(runner)["Y"], result_of("softmax"), rtol=1e-5, atol=1e-7)
    runner.free()
