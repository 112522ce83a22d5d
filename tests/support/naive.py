"""The models' layers as loops over Python numbers, to hold the fast references against."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Row = list[float]


def gelu(x: float) -> float:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1 + math.tanh(inner))


def relu(x: float) -> float:
    return max(0.0, x)


def linear(rows: Sequence[Sequence[float]], weight: Array, bias: Array) -> list[Row]:
    return [
        [
            sum(x * float(w) for x, w in zip(row, weight[out], strict=True)) + float(bias[out])
            for out in range(len(weight))
        ]
        for row in rows
    ]


def each(rows: Sequence[Sequence[float]], function: Any) -> list[Row]:
    return [[function(x) for x in row] for row in rows]


def softmax(row: Sequence[float]) -> Row:
    powers = [math.exp(x) for x in row]
    return [power / math.fsum(powers) for power in powers]


def layer_norm(row: Sequence[float], gain: Array, bias: Array) -> Row:
    mean = math.fsum(row) / len(row)
    variance = math.fsum((x - mean) ** 2 for x in row) / len(row)
    return [
        (x - mean) / math.sqrt(variance + 1e-5) * float(g) + float(b)
        for x, g, b in zip(row, gain, bias, strict=True)
    ]


def attention(q: Array, k: Array, v: Array, *, causal: bool = False) -> Array:
    """One head: (S, D) each."""
    length, width = q.shape
    out = np.zeros((length, width))
    for i in range(length):
        seen = range(i + 1) if causal else range(length)
        scores = [sum(q[i, d] * k[j, d] for d in range(width)) / math.sqrt(width) for j in seen]
        for weight, j in zip(softmax(scores), seen, strict=True):
            for d in range(width):
                out[i, d] += weight * v[j, d]
    return out


def conv2d(image: Array, weight: Array, bias: Array) -> Array:
    """One image (C, H, W) with filters (K, C, R, R), zeros around it."""
    channels, height, width = image.shape
    filters, _, size, _ = weight.shape
    out = np.zeros((filters, height, width))
    for f in range(filters):
        for y in range(height):
            for x in range(width):
                total = float(bias[f])
                for c in range(channels):
                    for row in range(size):
                        for column in range(size):
                            at_y, at_x = y + row - size // 2, x + column - size // 2
                            if 0 <= at_y < height and 0 <= at_x < width:
                                total += image[c, at_y, at_x] * weight[f, c, row, column]
                out[f, y, x] = total
    return out


def max_pool(image: Array) -> Array:
    """One image (C, H, W), squares of 2 × 2."""
    channels, height, width = image.shape
    out = np.zeros((channels, height // 2, width // 2))
    for c in range(channels):
        for y in range(height // 2):
            for x in range(width // 2):
                out[c, y, x] = max(
                    image[c, 2 * y + row, 2 * x + column] for row in (0, 1) for column in (0, 1)
                )
    return out


def mlp(a: Mapping[str, Array]) -> Array:
    rows = each(linear(a["X"].tolist(), a["W1"], a["b1"]), relu)
    rows = each(linear(rows, a["W2"], a["b2"]), relu)
    return np.array(linear(rows, a["W3"], a["b3"]))


def mlp_loss(a: Mapping[str, Array]) -> float:
    """The mean cross-entropy of the trained network."""
    rows = each(linear(a["X"].tolist(), a["W1"], a["b1"]), gelu)
    rows = each(linear(rows, a["W2"], a["b2"]), gelu)
    logits = linear(rows, a["W3"], a["b3"])
    losses = [
        -math.log(softmax(row)[int(label)]) for row, label in zip(logits, a["labels"], strict=True)
    ]
    return math.fsum(losses) / len(losses)


def transformer_block(a: Mapping[str, Array], heads: int) -> Array:
    return np.stack([_block(sample, a, heads) for sample in a["X"]])


def _block(x: Array, a: Mapping[str, Array], heads: int) -> Array:
    width = x.shape[1]
    normed = [layer_norm(row, a["g1"], a["n1"]) for row in x.tolist()]
    qkv = np.array(linear(normed, a["Wqkv"], a["bqkv"]))
    mixed = np.zeros_like(x)
    size = width // heads
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        q, k, v = (qkv[:, i * width : (i + 1) * width][:, part] for i in range(3))
        mixed[:, part] = attention(q, k, v, causal=True)
    residual: Array = x + np.array(linear(mixed.tolist(), a["Wo"], a["bo"]))
    normed = [layer_norm(row, a["g2"], a["n2"]) for row in residual.tolist()]
    hidden = each(linear(normed, a["Wu"], a["bu"]), gelu)
    out: Array = residual + np.array(linear(hidden, a["Wd"], a["bd"]))
    return out


def cnn(a: Mapping[str, Array]) -> Array:
    rows = []
    for image in a["X"]:
        image = max_pool(np.maximum(conv2d(image, a["W1"], a["b1"]), 0))
        image = max_pool(np.maximum(conv2d(image, a["W2"], a["b2"]), 0))
        rows.append([float(x) for channel in image for line in channel for x in line])
    return np.array(linear(rows, a["W3"], a["b3"]))
