"""The shipped models in JAX, as functions of their arrays; images and filters channels last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax, nn

from gpuexplorer.backends.functional import Arrays, Written
from gpuexplorer.backends.layouts import FILTERS, HEADS, IMAGES, LINEAR, AfterImages
from gpuexplorer.workloads.models.layers import LAYER_NORM_EPSILON
from gpuexplorer.workloads.models.training import LEARNING_RATE, MOMENTUM, WEIGHTS

Sizes = Mapping[str, int]
_NHWC = ("NHWC", "HWIO", "NHWC")


def _linear(x: Any, arrays: Arrays, layer: str) -> Any:
    return x @ arrays[f"W{layer}"] + arrays[f"b{layer}"]


def _layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    """Normalise the last axis, in fp32 at least, as Flax does."""
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    mean = wide.mean(axis=-1, keepdims=True)
    variance = jnp.square(wide - mean).mean(axis=-1, keepdims=True)
    normed = (wide - mean) * lax.rsqrt(variance + LAYER_NORM_EPSILON)
    return normed.astype(x.dtype) * gain + bias


def _conv(x: Any, filters: Any, bias: Any) -> Any:
    return lax.conv_general_dilated(x, filters, (1, 1), "SAME", dimension_numbers=_NHWC) + bias


def _max_pool(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


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


def matmul(sizes: Sizes) -> Written:
    """C = A B."""
    return Written(lambda arrays: {"C": arrays["A"] @ arrays["B"]})


def mlp(sizes: Sizes) -> Written:
    """Three linear layers with ReLU between them."""

    def compute(arrays: Arrays) -> Arrays:
        hidden = nn.relu(_linear(arrays["X"], arrays, "1"))
        hidden = nn.relu(_linear(hidden, arrays, "2"))
        return {"Y": _linear(hidden, arrays, "3")}

    return Written(compute, {"W1": LINEAR, "W2": LINEAR, "W3": LINEAR})


def mlp_training(sizes: Sizes) -> Written:
    """One step of SGD with momentum on the mean cross-entropy."""

    def loss_of(weights: Arrays, x: Any, labels: Any) -> Any:
        hidden = nn.gelu(_linear(x, weights, "1"), approximate=True)
        hidden = nn.gelu(_linear(hidden, weights, "2"), approximate=True)
        logits = _linear(hidden, weights, "3")
        wide = logits.astype(jnp.promote_types(logits.dtype, jnp.float32))
        chosen = jnp.take_along_axis(nn.log_softmax(wide), labels[:, None], axis=1)
        return -chosen.mean()

    def compute(arrays: Arrays) -> Arrays:
        weights = {name: arrays[name] for name in WEIGHTS}
        loss, gradients = jax.value_and_grad(loss_of)(weights, arrays["X"], arrays["labels"])
        results: Arrays = {"loss": loss.reshape(1)}
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

    def compute(arrays: Arrays) -> Arrays:
        return {"O": _attention(arrays["Q"], arrays["K"], arrays["V"])}

    return Written(compute, dict.fromkeys("QKVO", HEADS))


def softmax(sizes: Sizes) -> Written:
    """Softmax over the last axis."""
    return Written(lambda arrays: {"Y": nn.softmax(arrays["X"])})


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
        joined = _linear(normed, arrays, "qkv").reshape(batch, length, 3, heads, width // heads)
        q, k, v = (joined[:, :, part] for part in range(3))
        mixed = _attention(q, k, v, causal=True).reshape(x.shape)
        residual = x + _linear(mixed, arrays, "o")
        normed = _layer_norm(residual, arrays["g2"], arrays["n2"])
        hidden = nn.gelu(_linear(normed, arrays, "u"), approximate=True)
        return {"Y": residual + _linear(hidden, arrays, "d")}

    return Written(compute, dict.fromkeys(("Wqkv", "Wo", "Wu", "Wd"), LINEAR))


def cnn(sizes: Sizes) -> Written:
    """Two rounds of convolution, ReLU and pooling, then a linear layer."""

    def compute(arrays: Arrays) -> Arrays:
        x = _max_pool(nn.relu(_conv(arrays["X"], arrays["W1"], arrays["b1"])))
        x = _max_pool(nn.relu(_conv(x, arrays["W2"], arrays["b2"])))
        return {"Y": _linear(x.reshape(len(x), -1), arrays, "3")}

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
