"""What ran is told, and a precision that was not used is found out."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from gpuexplorer.backends.torch import evidence
from gpuexplorer.backends.torch.formats import FORMATS
from gpuexplorer.backends.torch.instructions import (
    capabilities,
    instructions_words,
)
from gpuexplorer.backends.torch.model_runner import TorchModelRunner
from tests.support.torch_models import ready


@pytest.fixture(autouse=True)
def _nothing_known() -> None:
    TorchModelRunner._known.clear()


def test_fp32_is_what_it_says() -> None:
    runner = ready("mlp")
    runner.launch(1)
    told = runner.arithmetic()
    assert told is not None
    assert (told.asked, told.ran, told.accumulates_in) == ("fp32", "fp32", "fp32")
    assert told.fallback is None and "float32" in told.how
    runner.free()


@pytest.mark.parametrize("precision", ["bf16", "fp16", "autocast_bf16", "int8"])
def test_a_lower_precision_is_told_by_results_that_are_not_fp32s(precision: str) -> None:
    runner = ready("mlp", precision)
    runner.launch(1)
    told = runner.arithmetic()
    assert told is not None and told.ran == precision and told.fallback is None
    assert "the results are not those of fp32" in told.how
    assert told.accumulates_in == ("int32" if precision == "int8" else "fp32")
    runner.free()


def test_sums_are_told_by_a_sum_that_sixteen_bits_could_not_hold() -> None:
    runner = ready("matmul", "bf16")
    runner.launch(1)
    told = runner.arithmetic()
    assert told is not None and "8192 products of ones add up" in told.how
    runner.free()


def test_sums_that_may_be_rounded_early_are_told() -> None:
    runner = ready("matmul", "bf16")
    runner.made.switches["reduced_accumulation"] = True
    runner.launch(1)
    told = runner.arithmetic()
    assert told is not None and "parts of a sum may be added in 16 bits" in told.how
    runner.free()


def test_autocast_that_changes_nothing_is_found_out() -> None:
    runner = ready("layer_norm", "fp32")
    model = runner.made
    # The manifest does not offer it, for this very reason.
    config = msgspec.structs.replace(runner.plan.config, precision="autocast_bf16")
    model.plan = msgspec.structs.replace(runner.plan, config=config)
    model.precision, model.format = "autocast_bf16", FORMATS["autocast_bf16"]
    told = evidence.look(model)
    assert told is not None and told.ran == "fp32" and told.fallback is not None
    assert "autocast leaves this model's operators in fp32" in told.fallback
    runner.free()


def test_whole_inputs_are_no_evidence() -> None:
    runner = ready("matmul", "bf16", fill="integers")
    runner.launch(1)
    told = runner.arithmetic()
    assert told is not None and told.ran == "bf16" and told.fallback is None
    assert "every precision holds these inputs" in told.how
    runner.free()


def test_a_training_step_is_not_moved_on_by_looking() -> None:
    runner = ready("mlp_training", "bf16")
    runner.launch(1)
    first = runner.download(("W1",))["W1"]
    told = runner.arithmetic()
    assert told is not None and told.fallback is None
    runner.launch(1)
    assert np.array_equal(runner.download(("W1",))["W1"], first)
    runner.free()


def test_what_is_known_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = ready("mlp", "bf16")
    runner.launch(1)
    told = runner.arithmetic()
    monkeypatch.setattr(evidence, "look", lambda model: pytest.fail("looked again"))
    again = ready("mlp", "bf16")
    again.launch(1)
    assert again.arithmetic() == told
    runner.free()
    again.free()


def test_fp8_on_a_cpu_says_what_it_is() -> None:
    runner = ready("matmul", "fp8_e4m3")
    runner.launch(1)
    told = runner.arithmetic()
    assert told is not None
    assert told.fallback is not None and "multiplied in fp32" in told.fallback
    assert told.ran == "fp32"
    runner.free()


def test_kernels_of_fp32_products_give_a_silent_fallback_away() -> None:
    runner = ready("matmul", "bf16")
    model = runner.made
    simt = ["ampere_sgemm_128x64_tn", "vectorized_elementwise_kernel<4>"]
    assert evidence.fallback_of(model, None, simt) is not None
    tensor = ["sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32"]
    assert evidence.fallback_of(model, None, tensor) is None
    assert evidence.fallback_of(model, None, []) is None
    runner.free()


def test_instructions_are_told_as_far_as_a_version_knows_them() -> None:
    newer = SimpleNamespace(
        cpu=SimpleNamespace(get_capabilities=lambda: {"architecture": "x86", "avx512_bf16": True})
    )
    assert instructions_words(newer, "bf16") == "this CPU has instructions for it (avx512_bf16)"
    assert "no instructions" in (instructions_words(newer, "fp16") or "")
    assert instructions_words(newer, "fp32") is None
    older = SimpleNamespace(cpu=SimpleNamespace(_is_amx_tile_supported=lambda: True))
    assert capabilities(older) == {"amx_int8": True}
    assert instructions_words(older, "fp16") is None
