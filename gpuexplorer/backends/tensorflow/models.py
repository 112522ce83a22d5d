"""What the shipped models are made of in TensorFlow, as its users write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from gpuexplorer.backends.functional import Arrays
from gpuexplorer.backends.functional_models import FunctionalModels
from gpuexplorer.workloads.models.layers import GELU_CUBE, GELU_SCALE, LAYER_NORM_EPSILON

_HALVES = (tf.float16, tf.bfloat16)


def _wide(x: Any) -> Any:
    """Return halves as fp32, in which sums and exponentials are taken, and others as they are."""
    return tf.cast(x, tf.float32) if x.dtype in _HALVES else x


def _attention(q: Any, k: Any, v: Any, *, causal: bool = False) -> Any:
    """Return softmax(q kᵀ / √D) v for (..., S, D); TensorFlow has no fused operator for it."""
    scores = _wide(tf.linalg.matmul(q, k, transpose_b=True)) * q.shape[-1] ** -0.5
    if causal:
        seen = tf.linalg.band_part(tf.ones(scores.shape[-2:], tf.bool), -1, 0)
        scores = tf.where(seen, scores, scores.dtype.min)
    return tf.linalg.matmul(tf.cast(tf.nn.softmax(scores), v.dtype), v)


class TensorFlowModels(FunctionalModels):
    """The models in TensorFlow."""

    def product(self, left: Any, right: Any) -> Any:
        """Return the product of two matrices."""
        return tf.linalg.matmul(left, right)

    def linear(self, x: Any, arrays: Arrays, layer: str) -> Any:
        """Return x W + b, where x may have more axes than two."""
        weight = arrays[f"W{layer}"]
        rows = tf.reshape(x, (-1, x.shape[-1]))
        product = tf.nn.bias_add(tf.linalg.matmul(rows, weight), arrays[f"b{layer}"])
        return tf.reshape(product, (*x.shape[:-1], weight.shape[1]))

    def reshape(self, x: Any, shape: tuple[int, ...]) -> Any:
        """Return the same elements in another shape."""
        return tf.reshape(x, shape)

    def relu(self, x: Any) -> Any:
        """Return what is above 0."""
        return tf.nn.relu(x)

    def gelu(self, x: Any) -> Any:
        """Return GELU in its tanh form; TensorFlow's own has constants in fp32 only."""
        if x.dtype == tf.float64:
            return 0.5 * x * (1 + tf.tanh(GELU_SCALE * (x + GELU_CUBE * x * x * x)))
        return tf.nn.gelu(x, approximate=True)

    def softmax_of(self, x: Any) -> Any:
        """Return the softmax over the last axis."""
        return tf.nn.softmax(x)

    def normed(self, x: Any, gain: Any, bias: Any) -> Any:
        """Normalise the last axis, in fp32 at least."""
        mean, variance = tf.nn.moments(_wide(x), axes=[-1], keepdims=True)
        normed = (_wide(x) - mean) * tf.math.rsqrt(variance + LAYER_NORM_EPSILON)
        return tf.cast(normed, x.dtype) * gain + bias

    def convolved(self, x: Any, filters: Any, bias: Any) -> Any:
        """Return a convolution that keeps the images' size."""
        return tf.nn.bias_add(tf.nn.conv2d(x, filters, strides=1, padding="SAME"), bias)

    def max_pooled(self, x: Any) -> Any:
        """Return the greatest of each 2 × 2 pixels."""
        return tf.nn.max_pool2d(x, ksize=2, strides=2, padding="VALID")

    def attended(self, q: Any, k: Any, v: Any) -> Any:
        """Return attention for (batch, head, position, feature)."""
        return _attention(q, k, v)

    def attended_within(self, joined: Any) -> Any:
        """Return causal attention for (batch, position, q k v, head, feature)."""
        q, k, v = tf.unstack(tf.transpose(joined, (2, 0, 3, 1, 4)))
        return tf.transpose(_attention(q, k, v, causal=True), (0, 2, 1, 3))

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        """Return the mean cross-entropy, in fp32 at least."""
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, _wide(logits))
        return tf.reduce_mean(losses)

    def loss_and_gradients(
        self, loss_of: Callable[[Arrays], Any], weights: Arrays
    ) -> tuple[Any, Arrays]:
        """Return a loss and its gradient for each weight."""
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(weights)
            loss = loss_of(weights)
        gradients: Arrays = tape.gradient(loss, weights)
        return loss, gradients
