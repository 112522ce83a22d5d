"""The layers that the models share, in float64: forward, and backward where one trains."""

from __future__ import annotations

import math

import numpy as np

from gpuexplorer.workloads.models.reference import Array

LAYER_NORM_EPSILON = 1e-5
"""PyTorch's default; every framework is given it."""
GELU_SCALE = math.sqrt(2 / math.pi)
GELU_CUBE = 0.044715
MAX_SCORES = 1 << 24
"""Attention scores held at once (128 MiB)."""


def linear(x: Array, weight: Array, bias: Array) -> Array:
    """Return ``x weightᵀ + bias`` for a weight of (outputs, inputs)."""
    return x @ weight.T + bias


def relu(x: Array) -> Array:
    """Return the positive part."""
    return np.maximum(x, 0.0)


def gelu(x: Array) -> Array:
    """Return GELU in its tanh form (Hendrycks and Gimpel 2016), as every framework is told to."""
    return 0.5 * x * (1.0 + np.tanh(GELU_SCALE * (x + GELU_CUBE * x**3)))


def gelu_slope(x: Array) -> Array:
    """Return the derivative of ``gelu``."""
    t = np.tanh(GELU_SCALE * (x + GELU_CUBE * x**3))
    inner = GELU_SCALE * (1.0 + 3.0 * GELU_CUBE * x**2)
    return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t**2) * inner


def softmax(x: Array) -> Array:
    """Return the softmax over the last axis."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    shares: Array = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def layer_norm(x: Array, gain: Array, bias: Array) -> Array:
    """Return x normalised over its last axis (biased variance), times ``gain`` plus ``bias``."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    normed: Array = centred / np.sqrt(variance + LAYER_NORM_EPSILON)
    return normed * gain + bias


def attention(q: Array, k: Array, v: Array, *, causal: bool = False) -> Array:
    """Return softmax(q kᵀ / √D) v for arrays of (..., S, D); causal: no query sees a later key.

    Scores are made for some queries at a time, so that long sequences fit into memory.
    """
    length, width = q.shape[-2:]
    out = np.empty_like(q)
    step = max(1, MAX_SCORES // length)
    for index in np.ndindex(q.shape[:-2]):
        keys, values = k[index].T / math.sqrt(width), v[index]
        for start in range(0, length, step):
            stop = min(start + step, length)
            scores = q[index][start:stop] @ keys
            if causal:
                later = np.arange(length) > np.arange(start, stop)[:, None]
                scores[later] = -np.inf
            out[index][start:stop] = softmax(scores) @ values
    return out


def conv2d(x: Array, weight: Array, bias: Array) -> Array:
    """Return the cross-correlation with stride 1 and zeros around, so that the size stays.

    ``x`` is (B, C, H, W), ``weight`` (K, C, R, R) with odd R, the result (B, K, H, W).
    """
    batch, _, height, width = x.shape
    filters, _, size, _ = weight.shape
    pad = size // 2
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    out = np.zeros((batch, filters, height, width))
    for row in range(size):
        for column in range(size):
            part = padded[:, :, row : row + height, column : column + width]
            out += np.einsum("bchw,kc->bkhw", part, weight[:, :, row, column], optimize=True)
    out += bias[:, None, None]
    return out


def max_pool2d(x: Array) -> Array:
    """Return the largest of each 2 × 2 square; an odd last row or column is left out."""
    batch, channels, height, width = x.shape
    h, w = height // 2, width // 2
    squares = x[:, :, : 2 * h, : 2 * w].reshape(batch, channels, h, 2, w, 2)
    pooled: Array = squares.max(axis=(3, 5))
    return pooled
