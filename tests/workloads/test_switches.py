"""A switch is offered where it means something, and refused with the reason everywhere else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.change import Change
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.knobs import switch_value
from gpuexplorer.workloads.change import changed
from gpuexplorer.workloads.frameworks import FRAMEWORKS, OWN_FAMILIES
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.models import MODELS
from gpuexplorer.workloads.switches import (
    SWITCHES,
    check,
    effective,
    kept,
    offered,
    read_switch,
    without_defaults,
)
from tests.support.problems import model_device, plan_of

SHIPPED = load()
CPU = model_device()
GPU = model_device(kind="gpu", threads=None)
MLP = SHIPPED["mlp"].variant("torch")
NAMES = {
    "compile", "cuda_graph", "channels_last", "sdpa", "fused_optimizer", "in_place", "grad_mode",
    "one_by_one", "pinned", "async_copies", "checkpointing", "reduced_accumulation", "jit",
    "tf_function", "xla", "memory_growth",
}  # fmt: skip


def names(workload: str, variant: str = "torch", *, gpu: bool = False) -> set[str]:
    on = GPU if gpu else CPU
    return {s.name for s in offered(SHIPPED[workload].variant(variant), on)}


def test_the_registry_is_sound() -> None:
    assert set(SWITCHES) == NAMES
    for switch in SWITCHES.values():
        assert switch.default in switch.values and len(switch.values) > 1
        assert set(switch.frameworks) <= set(FRAMEWORKS)
        assert set(switch.workloads) <= {*MODELS, *OWN_FAMILIES}
        assert switch.kinds and set(switch.kinds) <= {"cpu", "gpu"}
        assert switch.default in switch.values_on("cpu")
        assert switch.title and switch.teaches.endswith(".")


def test_what_is_offered_depends_on_framework_model_and_device() -> None:
    assert names("mlp") == {"compile", "in_place", "grad_mode", "one_by_one"}
    assert {"cuda_graph", "pinned", "async_copies"} <= names("mlp", gpu=True)
    assert {"channels_last"} == names("conv2d") - {"compile", "grad_mode", "one_by_one"}
    assert "sdpa" in names("attention") and "sdpa" not in names("mlp")
    assert {"fused_optimizer", "checkpointing"} <= names("mlp_training")
    assert "grad_mode" not in names("mlp_training")
    assert names("mlp", "jax") == {"jit", "one_by_one"}
    assert names("mlp", "tensorflow", gpu=True) == {
        "tf_function", "xla", "one_by_one", "memory_growth",
    }  # fmt: skip
    assert offered(SHIPPED["matmul"].variant("naive"), CPU) == ()


@given(st.data())
def test_a_value_as_it_is_written_is_read_again(data: st.DataObject) -> None:
    switch = data.draw(st.sampled_from(list(SWITCHES.values())))
    value = data.draw(st.sampled_from(switch.values))
    read = read_switch(switch.name, switch_value(value))
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize("word", ["on", "On", "true", "yes"])
def test_on_has_many_words(word: str) -> None:
    assert read_switch("in_place", word) is True


@given(st.text(max_size=12))
def test_any_other_word_is_refused_with_what_is_allowed(word: str) -> None:
    allowed = [switch_value(v) for v in SWITCHES["sdpa"].values]
    if word.strip().lower() in allowed:
        return
    with pytest.raises(InputError) as caught:
        read_switch("sdpa", word)
    assert "switch 'sdpa' cannot be" in str(caught.value)
    assert all(value in caught.value.remedy for value in allowed)


def test_an_unknown_name_is_refused_with_what_is_meant() -> None:
    with pytest.raises(InputError, match="no switch 'complie'; did you mean 'compile'"):
        read_switch("complie", "on")


@pytest.mark.parametrize(
    ("workload", "variant", "switches", "said"),
    [
        ("mlp", "torch", {"complie": "default"}, "no switch 'complie'"),
        ("mlp", "torch", {"compile": "fast"}, "'compile' cannot be 'fast'"),
        ("mlp", "torch", {"in_place": "on"}, "'in_place' cannot be 'on'"),
        ("mlp", "torch", {"in_place": 1}, "'in_place' cannot be 1"),
        ("mlp", "torch", {"jit": True}, "one of JAX, not of PyTorch"),
        ("mlp", "jax", {"compile": "default"}, "one of PyTorch, not of JAX"),
        ("mlp", "torch", {"channels_last": True}, "'channels_last' is for conv2d, cnn"),
        ("matmul", "naive", {"compile": "default"}, "variant 'naive' has no switch 'compile'"),
    ],
)
def test_what_a_variant_does_not_have(
    workload: str, variant: str, switches: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        check(SHIPPED[workload].variant(variant), variant, CPU, switches)
    assert said in str(caught.value)
    assert caught.value.remedy


def test_what_only_a_gpu_has_cannot_run_on_a_cpu() -> None:
    with pytest.raises(CannotRunHere, match="for a GPU, which torch:cpu is not; it has compile"):
        check(MLP, "torch", CPU, {"cuda_graph": True})
    with pytest.raises(CannotRunHere, match="can be 'reduce-overhead' on a GPU only"):
        check(MLP, "torch", CPU, {"compile": "reduce-overhead"})
    check(MLP, "torch", GPU, {"compile": "reduce-overhead"})


def test_what_does_not_go_together() -> None:
    with pytest.raises(InputError, match="records CUDA graphs itself"):
        check(MLP, "torch", GPU, {"cuda_graph": True, "compile": "max-autotune"})
    check(MLP, "torch", GPU, {"cuda_graph": True, "compile": "default"})
    with pytest.raises(InputError, match="changes copies, which are not timed; add --incl"):
        check(MLP, "torch", GPU, {"pinned": True})
    check(MLP, "torch", GPU, {"pinned": True, "include_transfers": True})
    for graph in ({"cuda_graph": True}, {"compile": "reduce-overhead"}):
        with pytest.raises(InputError, match="every sample has new ones; leave out --include"):
            check(MLP, "torch", GPU, {**graph, "include_transfers": True})
    check(MLP, "torch", CPU, {"compile": "max-autotune", "include_transfers": True})


def test_a_default_may_be_named_anywhere() -> None:
    check(MLP, "torch", CPU, {"cuda_graph": False, "channels_last": False, "sdpa": "auto"})


def test_only_what_differs_from_the_default_is_kept() -> None:
    said = {"compile": "off", "in_place": True, "memory_growth": False, "include_transfers": False}
    assert without_defaults(said) == {"in_place": True, "memory_growth": False}
    plan = plan_of(SHIPPED["mlp"], CPU, switches={"compile": "off", "in_place": True})
    assert plan.config.switches == {"in_place": True}
    assert plan.switches == {
        "compile": "off", "in_place": True, "grad_mode": "inference", "one_by_one": False,
    }  # fmt: skip
    assert effective(SHIPPED["matmul"].variant("naive"), CPU, {}) == {}


def test_another_variant_keeps_the_switches_that_it_has() -> None:
    switches = {"compile": "default", "one_by_one": True, "include_transfers": True}
    jax = SHIPPED["mlp"].variant("jax")
    assert kept(switches, jax) == {"one_by_one": True, "include_transfers": True}
    config = plan_of(SHIPPED["mlp"], CPU, switches=switches).config
    there = changed(config, Change(variant="jax"), SHIPPED["mlp"])
    assert there.switches == {"one_by_one": True, "include_transfers": True}
    faster = Change(switches={"compile": "max-autotune", "one_by_one": False})
    assert changed(config, faster, SHIPPED["mlp"]).switches == {
        "compile": "max-autotune", "include_transfers": True,
    }  # fmt: skip
    assert faster.words == "compile max-autotune, one by one off"
    assert faster.options == "--switch compile=max-autotune --switch one_by_one=off"
