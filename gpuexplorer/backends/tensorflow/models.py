"""The shipped models in TensorFlow, as functions of their arrays; images channels last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from gpuexplorer.backends.functional import Arrays, Written
from gpuexplorer.backends.layouts import FILTERS, IMAGES, LINEAR, AfterImages
from gpuexplorer.workloads.models.layers import GELU_CUBE, GELU_SCALE, LAYER_NORM_EPSILON
from gpuexplorer.workloads.models.training import LEARNING_RATE, MOMENTUM, WEIGHTS

Sizes = Mapping[str, int]
_HALVES = (tf.float16, tf.bfloat16)


def _wide(x: Any) -> Any:
    """Return halves as fp32, in which sums and exponentials are taken, and others as they are."""
    return tf.cast(x, tf.float32) if x.dtype in _HALVES else x


def _linear(x: Any, arrays: Arrays, layer: str) -> Any:
    """Return x W + b, where x may have more axes than two."""
    weight = arrays[f"W{layer}"]
    rows = tf.reshape(x, (-1, x.shape[-1]))
    product = tf.nn.bias_add(tf.linalg.matmul(rows, weight), arrays[f"b{layer}"])
    return tf.reshape(product, (*x.shape[:-1], weight.shape[1]))


def _gelu(x: Any) -> Any:
    """Return GELU in its tanh form; TensorFlow's own has constants in fp32 only."""
    if x.dtype == tf.float64:
        return 0.5 * x * (1 + tf.tanh(GELU_SCALE * (x + GELU_CUBE * x * x * x)))
    return tf.nn.gelu(x, approximate=True)


def _layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    mean, variance = tf.nn.moments(_wide(x), axes=[-1], keepdims=True)
    normed = (_wide(x) - mean) * tf.math.rsqrt(variance + LAYER_NORM_EPSILON)
    return tf.cast(normed, x.dtype) * gain + bias


def _attention(q: Any, k: Any, v: Any, *, causal: bool = False) -> Any:
    """Return softmax(q kᵀ / √D) v for (..., S, D); TensorFlow has no fused operator for it."""
    scores = _wide(tf.linalg.matmul(q, k, transpose_b=True)) * q.shape[-1] ** -0.5
    if causal:
        seen = tf.linalg.band_part(tf.ones(scores.shape[-2:], tf.bool), -1, 0)
        scores = tf.where(seen, scores, scores.dtype.min)
    return tf.linalg.matmul(tf.cast(tf.nn.softmax(scores), v.dtype), v)


def _conv(x: Any, filters: Any, bias: Any) -> Any:
    return tf.nn.bias_add(tf.nn.conv2d(x, filters, strides=1, padding="SAME"), bias)


def _max_pool(x: Any) -> Any:
    return tf.nn.max_pool2d(x, ksize=2, strides=2, padding="VALID")


def matmul(sizes: Sizes) -> Written:
    """C = A B."""
    return Written(lambda arrays: {"C": tf.linalg.matmul(arrays["A"], arrays["B"])})


def mlp(sizes: Sizes) -> Written:
    """Three linear layers with ReLU between them."""

    def compute(arrays: Arrays) -> Arrays:
        hidden = tf.nn.relu(_linear(arrays["X"], arrays, "1"))
        hidden = tf.nn.relu(_linear(hidden, arrays, "2"))
        return {"Y": _linear(hidden, arrays, "3")}

    return Written(compute, {"W1": LINEAR, "W2": LINEAR, "W3": LINEAR})


def mlp_training(sizes: Sizes) -> Written:
    """One step of SGD with momentum on the mean cross-entropy."""

    def compute(arrays: Arrays) -> Arrays:
        weights = {name: arrays[name] for name in WEIGHTS}
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(weights)
            hidden = _gelu(_linear(arrays["X"], weights, "1"))
            hidden = _gelu(_linear(hidden, weights, "2"))
            logits = _wide(_linear(hidden, weights, "3"))
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(arrays["labels"], logits)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, weights)
        results: Arrays = {"loss": tf.reshape(loss, (1,))}
        for name in WEIGHTS:
            velocity = MOMENTUM * arrays[f"v{name}"] + gradients[name]
            results[f"v{name}"] = velocity
            results[name] = arrays[name] - LEARNING_RATE * velocity
        return results

    return Written(compute, {f"{v}W{n}": LINEAR for v in ("", "v") for n in (1, 2, 3)})


def conv2d(sizes: Sizes) -> Written:
    """One convolution with bias that keeps the size."""

    def compute(arrays: Arrays) -> Arrays:
        return {"Y": _conv(arrays["X"], arrays["W"], arrays["b"])}

    return Written(compute, {"X": IMAGES, "Y": IMAGES, "W": FILTERS})


def attention(sizes: Sizes) -> Written:
    """Scaled dot-product attention."""
    return Written(lambda arrays: {"O": _attention(arrays["Q"], arrays["K"], arrays["V"])})


def softmax(sizes: Sizes) -> Written:
    """Softmax over the last axis."""
    return Written(lambda arrays: {"Y": tf.nn.softmax(arrays["X"])})


def layer_norm(sizes: Sizes) -> Written:
    """Layer norm over the last axis."""
    return Written(lambda arrays: {"Y": _layer_norm(arrays["X"], arrays["g"], arrays["b"])})


def transformer_block(sizes: Sizes) -> Written:
    """A pre-norm transformer block: causal attention, then an MLP of four times the width."""
    heads = sizes["H"]

    def compute(arrays: Arrays) -> Arrays:
        x = arrays["X"]
        batch, length, width = x.shape
        normed = _layer_norm(x, arrays["g1"], arrays["n1"])
        joined = tf.reshape(
            _linear(normed, arrays, "qkv"), (batch, length, 3, heads, width // heads)
        )
        q, k, v = tf.unstack(tf.transpose(joined, (2, 0, 3, 1, 4)))
        mixed = tf.transpose(_attention(q, k, v, causal=True), (0, 2, 1, 3))
        residual = x + _linear(tf.reshape(mixed, x.shape), arrays, "o")
        normed = _layer_norm(residual, arrays["g2"], arrays["n2"])
        hidden = _gelu(_linear(normed, arrays, "u"))
        return {"Y": residual + _linear(hidden, arrays, "d")}

    return Written(compute, dict.fromkeys(("Wqkv", "Wo", "Wu", "Wd"), LINEAR))


def cnn(sizes: Sizes) -> Written:
    """Two rounds of convolution, ReLU and pooling, then a linear layer."""

    def compute(arrays: Arrays) -> Arrays:
        x = _max_pool(tf.nn.relu(_conv(arrays["X"], arrays["W1"], arrays["b1"])))
        x = _max_pool(tf.nn.relu(_conv(x, arrays["W2"], arrays["b2"])))
        return {"Y": _linear(tf.reshape(x, (x.shape[0], -1)), arrays, "3")}

    last = AfterImages(2 * sizes["K"])
    return Written(compute, {"X": IMAGES, "W1": FILTERS, "W2": FILTERS, "W3": last})


MODELS: dict[str, Callable[[Sizes], Written]] = {
    "matmul": matmul,
    "mlp": mlp,
    "mlp_training": mlp_training,
    "conv2d": conv2d,
    "attention": attention,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "transformer_block": transformer_block,
    "cnn": cnn,
}
