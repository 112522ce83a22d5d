"""What the shipped models are made of in JAX, as its users write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax, nn

from gpuexplorer.backends.functional import Arrays
from gpuexplorer.backends.functional_models import FunctionalModels
from gpuexplorer.backends.layouts import HEADS
from gpuexplorer.workloads.models.layers import LAYER_NORM_EPSILON

_NHWC = ("NHWC", "HWIO", "NHWC")


def _wide(x: Any) -> Any:
    """Return halves as fp32, and others as they are."""
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def _attention(q: Any, k: Any, v: Any, *, causal: bool = False) -> Any:
    """Return attention for (batch, position, head, feature).

    JAX's own function has scores in fp32 for fp64 too, and XLA cannot compile it for fp16 on a CPU:
    for these two it is written out.
    """
    if q.dtype not in (jnp.float64, jnp.float16):
        return nn.dot_product_attention(q, k, v, is_causal=causal)
    wide = jnp.promote_types(q.dtype, jnp.float32)
    scores = jnp.einsum("btnh,bsnh->bnts", q, k, preferred_element_type=wide)
    scores *= q.shape[-1] ** -0.5
    if causal:
        scores = jnp.where(jnp.tri(scores.shape[-1], dtype=bool), scores, -jnp.inf)
    return jnp.einsum("bnts,bsnh->btnh", nn.softmax(scores).astype(v.dtype), v)


class JaxModels(FunctionalModels):
    """The models in JAX."""

    heads = dict.fromkeys("QKVO", HEADS)

    def product(self, left: Any, right: Any) -> Any:
        """Return the product of two matrices."""
        return left @ right

    def linear(self, x: Any, arrays: Arrays, layer: str) -> Any:
        """Return x W + b."""
        return x @ arrays[f"W{layer}"] + arrays[f"b{layer}"]

    def reshape(self, x: Any, shape: tuple[int, ...]) -> Any:
        """Return the same elements in another shape."""
        return x.reshape(shape)

    def relu(self, x: Any) -> Any:
        """Return what is above 0."""
        return nn.relu(x)

    def gelu(self, x: Any) -> Any:
        """Return GELU in its tanh form."""
        return nn.gelu(x, approximate=True)

    def softmax_of(self, x: Any) -> Any:
        """Return the softmax over the last axis."""
        return nn.softmax(x)

    def normed(self, x: Any, gain: Any, bias: Any) -> Any:
        """Normalise the last axis, in fp32 at least, as Flax does."""
        wide = _wide(x)
        mean = wide.mean(axis=-1, keepdims=True)
        variance = jnp.square(wide - mean).mean(axis=-1, keepdims=True)
        normed = (wide - mean) * lax.rsqrt(variance + LAYER_NORM_EPSILON)
        return normed.astype(x.dtype) * gain + bias

    def convolved(self, x: Any, filters: Any, bias: Any) -> Any:
        """Return a convolution that keeps the images' size."""
        return lax.conv_general_dilated(x, filters, (1, 1), "SAME", dimension_numbers=_NHWC) + bias

    def max_pooled(self, x: Any) -> Any:
        """Return the greatest of each 2 × 2 pixels."""
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def attended(self, q: Any, k: Any, v: Any) -> Any:
        """Return attention for (batch, position, head, feature)."""
        return _attention(q, k, v)

    def attended_within(self, joined: Any) -> Any:
        """Return causal attention for (batch, position, q k v, head, feature)."""
        q, k, v = (joined[:, :, part] for part in range(3))
        return _attention(q, k, v, causal=True)

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        """Return the mean cross-entropy, in fp32 at least."""
        chosen = jnp.take_along_axis(nn.log_softmax(_wide(logits)), labels[:, None], axis=1)
        return -chosen.mean()

    def loss_and_gradients(
        self, loss_of: Callable[[Arrays], Any], weights: Arrays
    ) -> tuple[Any, Arrays]:
        """Return a loss and its gradient for each weight."""
        found: tuple[Any, Arrays] = jax.value_and_grad(loss_of)(weights)
        return found
