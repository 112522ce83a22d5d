"""One training step of the MLP, gradients written by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpuexplorer.workloads.models.layers import gelu, gelu_slope, linear, softmax
from gpuexplorer.workloads.models.reference import Array

LEARNING_RATE = 0.1
MOMENTUM = 0.9
WEIGHTS = ("W1", "b1", "W2", "b2", "W3", "b3")
VELOCITIES = tuple(f"v{name}" for name in WEIGHTS)


def mlp_training(arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> dict[str, Array]:
    """Forward, cross-entropy (mean over the batch), backward, SGD with momentum: one step.

    The network is X (B, D) → linear → GELU → linear → GELU → linear → logits (B, C). GELU rather
    than ReLU because its slope has no jump: a rounding error then changes a gradient a little, and
    float64 can say whether it is right. The optimiser is ``torch.optim.SGD(momentum=0.9)`` with a
    learning rate of 0.1: v ← 0.9 v + gradient, w ← w − 0.1 v.

    Returns ``loss`` (1,), the new weights and the new velocities.
    """
    loss, gradients = loss_and_gradients(arrays)
    outputs: dict[str, Array] = {"loss": np.array([loss])}
    for name in WEIGHTS:
        velocity = MOMENTUM * arrays[f"v{name}"] + gradients[name]
        outputs[f"v{name}"] = velocity
        outputs[name] = arrays[name] - LEARNING_RATE * velocity
    return outputs


def loss_and_gradients(arrays: Mapping[str, Array]) -> tuple[float, dict[str, Array]]:
    """Return the mean cross-entropy and its gradient for every weight."""
    x, labels = arrays["X"], arrays["labels"].astype(np.int64)
    batch = np.arange(len(x))
    z1 = linear(x, arrays["W1"], arrays["b1"])
    a1 = gelu(z1)
    z2 = linear(a1, arrays["W2"], arrays["b2"])
    a2 = gelu(z2)
    logits = linear(a2, arrays["W3"], arrays["b3"])
    shifted = logits - logits.max(axis=1, keepdims=True)
    loss = float(np.mean(np.log(np.exp(shifted).sum(axis=1)) - shifted[batch, labels]))

    d_logits = softmax(logits)
    d_logits[batch, labels] -= 1.0
    d_logits /= len(x)
    d_z2 = (d_logits @ arrays["W3"]) * gelu_slope(z2)
    d_z1 = (d_z2 @ arrays["W2"]) * gelu_slope(z1)
    gradients = {
        "W1": d_z1.T @ x,
        "b1": d_z1.sum(axis=0),
        "W2": d_z2.T @ a1,
        "b2": d_z2.sum(axis=0),
        "W3": d_logits.T @ a2,
        "b3": d_logits.sum(axis=0),
    }
    return loss, gradients
