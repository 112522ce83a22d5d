"""What a model must compute is what loops over single numbers give, and gradients are slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.models import MODELS, layers, training
from gpuexplorer.workloads.plan import Plan
from tests.support import naive
from tests.support.problems import model_device, plan_of

Array = npt.NDArray[np.float64]
Arrays = dict[str, Array]
SHIPPED = load()
SMALL: dict[str, dict[str, int]] = {
    "matmul": {"N": 7},
    "mlp": {"B": 3, "D": 16, "H": 17, "C": 4},
    "mlp_training": {"B": 4, "D": 16, "H": 16, "C": 4},
    "conv2d": {"B": 2, "C": 3, "K": 2, "H": 5, "R": 3},
    "attention": {"B": 2, "H": 3, "S": 6, "D": 8},
    "softmax": {"B": 5, "D": 9},
    "layer_norm": {"B": 2, "S": 3, "D": 16},
    "transformer_block": {"B": 3, "S": 5, "D": 16, "H": 2},
    "cnn": {"B": 2, "C": 2, "K": 4, "H": 9, "N": 4},
}


def problem(name: str, size: dict[str, int] | None = None) -> tuple[Plan, Arrays]:
    plan = plan_of(SHIPPED[name], model_device(), variant="torch", size=size or SMALL[name],
                   precision="fp64")  # fmt: skip
    return plan, {n: a.astype(np.float64) for n, a in make_inputs(plan).items()}


def answers(name: str, size: dict[str, int] | None = None) -> tuple[Arrays, Arrays, Plan]:
    plan, arrays = problem(name, size)
    return MODELS[name].compute(arrays, plan.config.size), arrays, plan


BY_HAND: dict[str, Callable[[Any, Plan], Array]] = {
    "matmul": lambda a, plan: np.array(naive.linear(a["A"].tolist(), a["B"].T, np.zeros(7))),
    "mlp": lambda a, plan: naive.mlp(a),
    "conv2d": lambda a, plan: np.stack([naive.conv2d(x, a["W"], a["b"]) for x in a["X"]]),
    "attention": lambda a, plan: np.stack(
        [
            [naive.attention(q, k, v) for q, k, v in zip(*heads, strict=True)]
            for heads in zip(a["Q"], a["K"], a["V"], strict=True)
        ]
    ),
    "softmax": lambda a, plan: np.array([naive.softmax(row) for row in a["X"].tolist()]),
    "layer_norm": lambda a, plan: np.array(
        [[naive.layer_norm(r, a["g"], a["b"]) for r in rows] for rows in a["X"].tolist()]
    ),
    "transformer_block": lambda a, plan: naive.transformer_block(a, plan.config.size["H"]),
    "cnn": lambda a, plan: naive.cnn(a),
}


def test_every_model_has_a_workload_of_its_name_and_a_computation_by_hand() -> None:
    assert set(MODELS) == set(SMALL) <= set(SHIPPED)
    assert set(BY_HAND) == set(MODELS) - {"mlp_training"}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_model_is_what_loops_give(name: str) -> None:
    found, arrays, plan = answers(name)
    (output,) = MODELS[name].outputs
    assert set(found) == {output}
    by_hand = BY_HAND[name](arrays, plan)
    assert found[output].shape == by_hand.shape == plan.array(output).shape
    np.testing.assert_allclose(found[output], by_hand, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_a_filter_of_any_odd_size_keeps_the_image(size: int) -> None:
    sizes = {"B": 1, "C": 2, "K": 3, "H": 4, "R": size}
    found, arrays, _ = answers("conv2d", sizes)
    by_hand = naive.conv2d(arrays["X"][0], arrays["W"], arrays["b"])
    np.testing.assert_allclose(found["Y"][0], by_hand, rtol=1e-11, atol=1e-12)


def test_attention_works_through_long_sequences_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    q, k, v = rng.standard_normal((3, 2, 11, 4))
    whole = layers.attention(q, k, v, causal=True)
    monkeypatch.setattr(layers, "MAX_SCORES", 25)  # two queries at a time
    np.testing.assert_allclose(layers.attention(q, k, v, causal=True), whole, rtol=1e-14)


@given(st.lists(st.floats(-30, 30), min_size=1, max_size=8))
def test_gelu_and_its_slope(values: list[float]) -> None:
    x = np.array(values)
    np.testing.assert_allclose(layers.gelu(x), [naive.gelu(v) for v in values], atol=1e-12)
    step = 1e-5
    slope = (layers.gelu(x + step) - layers.gelu(x - step)) / (2 * step)
    np.testing.assert_allclose(layers.gelu_slope(x), slope, atol=1e-6)


# ---- a training step


def test_the_loss_is_the_mean_cross_entropy() -> None:
    found, arrays, _ = answers("mlp_training")
    assert found["loss"].shape == (1,)
    assert found["loss"][0] == pytest.approx(naive.mlp_loss(arrays), rel=1e-12)


@pytest.mark.parametrize("name", training.WEIGHTS)
def test_a_gradient_is_the_slope_of_the_loss(name: str) -> None:
    """Central differences of a loss that is computed another way."""
    _, arrays = problem("mlp_training")
    _, gradients = training.loss_and_gradients(arrays)
    rng = np.random.default_rng(5)
    flat = rng.choice(arrays[name].size, min(12, arrays[name].size), replace=False)
    step = 1e-6
    for index in flat:
        sides = []
        for sign in (step, -step):
            moved = arrays[name].copy()
            moved.reshape(-1)[index] += sign
            sides.append(naive.mlp_loss({**arrays, name: moved}))
        slope = (sides[0] - sides[1]) / (2 * step)
        assert gradients[name].reshape(-1)[index] == pytest.approx(slope, abs=1e-8)


def test_the_optimiser_is_gradient_descent_with_momentum() -> None:
    _, arrays = problem("mlp_training")
    arrays["vW2"] = np.random.default_rng(1).standard_normal(arrays["W2"].shape)
    _, gradients = training.loss_and_gradients(arrays)
    found = training.mlp_training(arrays, {})
    assert set(found) == set(MODELS["mlp_training"].outputs)
    for name in training.WEIGHTS:
        velocity = 0.9 * arrays[f"v{name}"] + gradients[name]
        np.testing.assert_allclose(found[f"v{name}"], velocity, rtol=1e-13)
        np.testing.assert_allclose(found[name], arrays[name] - 0.1 * velocity, rtol=1e-13)


def test_steps_make_the_loss_smaller() -> None:
    _, arrays = problem("mlp_training")
    losses = []
    for _ in range(20):
        found = training.mlp_training(arrays, {})
        losses.append(found.pop("loss")[0])
        arrays |= found
    assert losses[-1] < 0.5 * losses[0]


# ---- samples


@pytest.mark.parametrize("name", [n for n, m in MODELS.items() if m.per_sample])
@given(data=st.data())
@settings(max_examples=5, deadline=None)
def test_samples_are_computed_alone(name: str, data: st.DataObject) -> None:
    """What the check of a large batch rests on: some samples give those rows of the whole."""
    model = MODELS[name]
    whole, arrays, plan = answers(name)
    axes = model.sample_axes
    total = int(np.prod(arrays[model.per_sample[0]].shape[:axes]))
    chosen = data.draw(st.lists(st.integers(0, total - 1), min_size=1, max_size=3))
    part = {
        n: a.reshape(total, *a.shape[axes:])[chosen].reshape(
            len(chosen), *(1,) * (axes - 1), *a.shape[axes:]
        )
        if n in model.per_sample
        else a
        for n, a in arrays.items()
    }
    for output, found in model.compute(part, plan.config.size).items():
        right = whole[output].reshape(total, *whole[output].shape[axes:])[chosen]
        np.testing.assert_allclose(found.reshape(right.shape), right, rtol=1e-12, atol=1e-13)


def test_a_training_step_needs_its_whole_batch() -> None:
    assert MODELS["mlp_training"].per_sample == ()
