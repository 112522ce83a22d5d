"""The models that only compute: one function each, from inputs by name to outputs by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpuexplorer.workloads.models import layers
from gpuexplorer.workloads.models.reference import Array

Arrays = Mapping[str, Array]
Sizes = Mapping[str, int]


def matmul(arrays: Arrays, sizes: Sizes) -> dict[str, Array]:
    """C = A B for (N, N) matrices."""
    return {"C": arrays["A"] @ arrays["B"]}


def mlp(arrays: Arrays, sizes: Sizes) -> dict[str, Array]:
    """Three linear layers with ReLU between them: X (B, D) → H → H → Y (B, C)."""
    hidden = layers.relu(layers.linear(arrays["X"], arrays["W1"], arrays["b1"]))
    hidden = layers.relu(layers.linear(hidden, arrays["W2"], arrays["b2"]))
    return {"Y": layers.linear(hidden, arrays["W3"], arrays["b3"])}


def conv2d(arrays: Arrays, sizes: Sizes) -> dict[str, Array]:
    """One convolution with bias, stride 1, same size: X (B, C, H, H), W (K, C, R, R)."""
    return {"Y": layers.conv2d(arrays["X"], arrays["W"], arrays["b"])}


def attention(arrays: Arrays, sizes: Sizes) -> dict[str, Array]:
    """O = softmax(Q Kᵀ / √D) V, all of (B, H, S, D); every query sees every key."""
    return {"O": layers.attention(arrays["Q"], arrays["K"], arrays["V"])}


def softmax(arrays: Arrays, sizes: Sizes) -> dict[str, Array]:
    """Y = softmax of X (B, D) over D."""
    return {"Y": layers.softmax(arrays["X"])}


def layer_norm(arrays: Arrays, sizes: Sizes) -> dict[str, Array]:
    """Y = X (B, S, D) normalised over D with gain g and bias b."""
    return {"Y": layers.layer_norm(arrays["X"], arrays["g"], arrays["b"])}


def transformer_block(arrays: Arrays, sizes: Sizes) -> dict[str, Array]:
    """A pre-norm transformer block as in GPT-2: causal attention, then an MLP of width 4 D.

    Y = R + Wd GELU(Wu LN2(R) + bu) + bd with R = X + Wo attention(LN1(X)) + bo. The rows of Wqkv
    (3 D, D) are those of the queries, the keys and the values in turn, each head after head.
    """
    x, heads = arrays["X"], sizes["H"]
    batch, length, width = x.shape

    def split(part: Array) -> Array:
        return part.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)

    normed = layers.layer_norm(x, arrays["g1"], arrays["n1"])
    q, k, v = np.split(layers.linear(normed, arrays["Wqkv"], arrays["bqkv"]), 3, axis=-1)
    mixed = layers.attention(split(q), split(k), split(v), causal=True)
    joined = mixed.transpose(0, 2, 1, 3).reshape(batch, length, width)
    residual = x + layers.linear(joined, arrays["Wo"], arrays["bo"])
    normed = layers.layer_norm(residual, arrays["g2"], arrays["n2"])
    hidden = layers.gelu(layers.linear(normed, arrays["Wu"], arrays["bu"]))
    return {"Y": residual + layers.linear(hidden, arrays["Wd"], arrays["bd"])}


def cnn(arrays: Arrays, sizes: Sizes) -> dict[str, Array]:
    """Two rounds of 3 × 3 convolution, ReLU and 2 × 2 pooling, then a linear layer.

    X (B, C, H, H) → K channels → 2 K channels → flattened in the order (channel, row, column) →
    Y (B, N).
    """
    x = layers.relu(layers.conv2d(arrays["X"], arrays["W1"], arrays["b1"]))
    x = layers.max_pool2d(x)
    x = layers.relu(layers.conv2d(x, arrays["W2"], arrays["b2"]))
    x = layers.max_pool2d(x)
    return {"Y": layers.linear(x.reshape(len(x), -1), arrays["W3"], arrays["b3"])}
