"""Is a user's model right? The same module in float64, with the same weights and inputs.

Forward, every output is compared; a training step by its loss and by the gradients of all weights
together, for a weight that does not matter has a gradient of rounding errors alone.
"""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any

from gpuexplorer.backends.torch import failures
from gpuexplorer.backends.torch.load import set_flags
from gpuexplorer.backends.torch.own_model import LEARNING_RATE, OwnModel
from gpuexplorer.backends.torch.own_model_file import tensors_in
from gpuexplorer.core.result import Verification

METHOD = "the same module in float64"
TWICE_BELOW_S = 20.0
"""A check that takes longer is not made twice, to see whether chance has a part in it."""
CHANCE = 1e-6
"""Two runs in float64 that differ by more than this part draw random numbers."""

Named = dict[str, Any]
"""Results in float64, by what they are."""


def check(model: OwnModel, results: Any) -> Verification | str:
    """Compare an iteration's results with float64; why not, where that cannot be."""
    torch = model.torch
    try:
        began = perf_counter()
        expected = _in_float64(model, seed=1)
        took_s = perf_counter() - began
        again = _in_float64(model, seed=2) if took_s < TWICE_BELOW_S else expected
    except Exception as error:  # noqa: BLE001 - whatever a model does in float64
        if failures.out_of_memory(torch, error):
            return "there is no memory for a second module in float64"
        return f"it cannot run in float64: {type(error).__name__}: {failures.first_line(error)}"
    found = _named(model, results)
    if not expected:
        return "its output holds no floating-point tensors"
    if found.keys() != expected.keys() or any(
        found[name].shape != expected[name].shape for name in expected
    ):
        return "in float64 it returns something of another shape"
    if not any(values.numel() for values in expected.values()):
        return "its output holds no elements"
    if not all(bool(torch.isfinite(values).all()) for values in expected.values()):
        return "its result is not finite in float64 either"
    if _distance(torch, again, expected) > CHANCE:
        return "two runs in float64 differ: it draws random numbers, as dropout does in training"
    worst = max(_error(torch, found[name], expected[name]) for name in expected)
    tolerance = model.declared.tolerances[model.plan.config.precision]
    return Verification(
        ok=worst <= tolerance,
        max_rel_error=worst,
        tolerance=tolerance,
        method=f"{METHOD}, loss and gradients" if model.trains else f"{METHOD}, every output",
        rms_rel_error=_distance(torch, found, expected),
    )


def like_fp32(model: OwnModel) -> tuple[bool | None, str]:
    """Return whether an iteration in fp32 gives the very same, or why that was not looked at."""
    torch = model.torch
    if model.precision in ("fp32", "fp64"):
        return None, ""
    if model.trains:
        return None, "a training step changes what it would be held against"
    with model.mode():
        model.reset()
        own = _named(model, model.step())
        model.wait()
    set_flags(torch)
    try:
        plain = _run(model, torch.float32, seed=1)
    except Exception as error:  # noqa: BLE001 - what cannot run in fp32 says nothing about it
        return None, f"it cannot run in fp32: {failures.first_line(error)}"
    finally:
        model.set_flags()
    same = own.keys() == plain.keys() and all(
        bool(torch.equal(own[name], plain[name])) for name in own
    )
    return same, ""


def _in_float64(model: OwnModel, *, seed: int) -> Named:
    return _run(model, model.torch.float64, seed=seed)


def _run(model: OwnModel, dtype: Any, *, seed: int) -> Named:
    """Run a fresh copy of the module, neither compiled nor under autocast; return its results."""
    torch = model.torch
    module = model.converted(dtype)
    args, kwargs = model.example_inputs(dtype)
    torch.manual_seed(seed)
    if not model.trains:
        with torch.no_grad():
            for _ in range(model.iterations - 1 if model.overwrites else 0):
                module(*args, **kwargs)
            return _results(torch, tensors_in(torch, module(*args, **kwargs)))
    weights = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(weights, lr=LEARNING_RATE)
    with torch.enable_grad():
        step = model.learning(module, optimizer, args, kwargs, plain=True)
        for _ in range(model.iterations):
            loss = step()
    return _learnt(torch, loss, weights)


def _named(model: OwnModel, results: Any) -> Named:
    """Return the run's own results in float64."""
    torch = model.torch
    if not model.trains:
        return _results(torch, tensors_in(torch, results))
    weights = [p for p in model.module.parameters() if p.requires_grad]
    return _learnt(torch, results, weights)


def _results(torch: Any, tensors: list[Any]) -> Named:
    return {
        f"output[{index}]": tensor.detach().to(torch.float64)
        for index, tensor in enumerate(tensors)
        if tensor.is_floating_point()
    }


def _learnt(torch: Any, loss: Any, weights: list[Any]) -> Named:
    gradients = [
        (torch.zeros_like(w) if w.grad is None else w.grad).detach().to(torch.float64).reshape(-1)
        for w in weights
    ]
    return {
        "loss": loss.detach().to(torch.float64).reshape(-1),
        "gradients": torch.cat(gradients),
    }


def _error(torch: Any, found: Any, expected: Any) -> float:
    """Return the largest ``|found - expected| / (|expected| + rms(expected))``."""
    if not expected.numel():
        return 0.0
    if not bool(torch.isfinite(found).all()):
        return math.inf
    rms = float(expected.square().mean().sqrt())
    apart = (found - expected).abs()
    if rms == 0:
        return math.inf if bool(apart.any()) else 0.0
    return float((apart / (expected.abs() + rms)).max())


def _distance(torch: Any, found: Named, expected: Named) -> float:
    """Return the root of the summed squares of what differs, over that of what is expected."""
    apart = sum(float((found[name] - expected[name]).square().sum()) for name in expected)
    size = sum(float(values.square().sum()) for values in expected.values())
    if size == 0:
        return 0.0 if apart == 0 else math.inf
    return math.sqrt(apart / size)
