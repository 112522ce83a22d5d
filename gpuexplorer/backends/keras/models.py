"""The shipped models in Keras: layers and operations, and which variable holds which weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import keras
import msgspec
import numpy as np

from gpuexplorer.backends.base import HostArray
from gpuexplorer.backends.layouts import FILTERS, HEADS, IMAGES, LINEAR, AfterImages, Layout
from gpuexplorer.workloads.models.layers import GELU_CUBE, GELU_SCALE, LAYER_NORM_EPSILON

Sizes = Mapping[str, int]


def _gelu(x: Any) -> Any:
    """Return GELU in its tanh form; TensorFlow's own has constants in fp32 only."""
    double = keras.backend.standardize_dtype(x.dtype) == "float64"
    if double and keras.backend.backend() == "tensorflow":
        return 0.5 * x * (1 + keras.ops.tanh(GELU_SCALE * (x + GELU_CUBE * x * x * x)))
    return keras.ops.gelu(x, approximate=True)


class WeightVariable(msgspec.Struct, frozen=True):
    """A variable that holds one of the manifest's weights, times a factor."""

    name: str
    variable: Any
    layout: Layout | None = None
    factor: float = 1.0

    def write(self, values: HostArray) -> None:
        """Assign the host's values, which Keras rounds to the variable's type."""
        held = values if self.layout is None else self.layout.to(values)
        self.variable.assign(held if self.factor == 1.0 else held * self.factor)

    def read(self) -> HostArray:
        """Return the variable's values as the manifest has them."""
        wide = self.variable.value
        if keras.backend.standardize_dtype(wide.dtype) != "float64":
            wide = keras.ops.cast(wide, "float32")
        values: HostArray = keras.ops.convert_to_numpy(wide) / self.factor
        return values if self.layout is None else self.layout.back(values)


class Network(msgspec.Struct, frozen=True):
    """A model as Keras has it."""

    call: Callable[..., Any]
    data: dict[str, Layout | None]
    """What it is called with, in order, and how that is held."""
    result: str
    """What its result is called."""
    result_layout: Layout | None = None
    weights: tuple[WeightVariable, ...] = ()
    model: Any = None
    """The ``keras.Model`` that owns the variables, where there are any."""
    trains: bool = False


def _held(layer: Any, *names: str, layout: Layout | None) -> tuple[WeightVariable, ...]:
    """Return how a layer's two variables hold two weights; the layout is the first one's."""
    first, second = layer.weights
    return WeightVariable(names[0], first, layout), WeightVariable(names[1], second)


def _model(
    result: str, x: Any, y: Any, *weights: tuple[WeightVariable, ...], **more: Any
) -> Network:
    model = keras.Model(x, y)
    return Network(model, {"X": more.pop("layout", None)}, result, weights=sum(weights, ()),
                   model=model, **more)  # fmt: skip


def _input(shape: tuple[int, ...], dtype: str) -> Any:
    return keras.Input(shape, dtype=dtype)


def matmul(sizes: Sizes, dtype: str) -> Network:
    """C = A B."""
    return Network(keras.ops.matmul, {"A": None, "B": None}, "C")


def _dense_layers(sizes: Sizes, dtype: str, activation: Any, *, trains: bool) -> Network:
    x = _input((sizes["D"],), dtype)
    layers = [
        keras.layers.Dense(sizes["H"], activation, dtype=dtype),
        keras.layers.Dense(sizes["H"], activation, dtype=dtype),
        keras.layers.Dense(sizes["C"], dtype=dtype),
    ]
    y = x
    for layer in layers:
        y = layer(y)
    held = [_held(layer, f"W{n}", f"b{n}", layout=LINEAR) for n, layer in enumerate(layers, 1)]
    return _model("Y", x, y, *held, trains=trains)


def mlp(sizes: Sizes, dtype: str) -> Network:
    """Three linear layers with ReLU between them."""
    return _dense_layers(sizes, dtype, "relu", trains=False)


def mlp_training(sizes: Sizes, dtype: str) -> Network:
    """The network that a training step is made for; see ``training``."""
    return _dense_layers(sizes, dtype, _gelu, trains=True)


def _conv(filters: int, size: int, dtype: str, activation: str | None = None) -> Any:
    return keras.layers.Conv2D(
        filters, size, padding="same", data_format="channels_last", activation=activation,
        dtype=dtype,
    )  # fmt: skip


def conv2d(sizes: Sizes, dtype: str) -> Network:
    """One convolution with bias that keeps the size."""
    x = _input((sizes["H"], sizes["H"], sizes["C"]), dtype)
    layer = _conv(sizes["K"], sizes["R"], dtype)
    y = layer(x)
    held = _held(layer, "W", "b", layout=FILTERS)
    return _model("Y", x, y, held, layout=IMAGES, result_layout=IMAGES)


def _scale(width: int, dtype: str) -> Any:
    """Return 1 / √width: on TensorFlow as a tensor, for there Keras would round it to fp32."""
    scale = width**-0.5
    if keras.backend.backend() != "tensorflow":
        return scale
    wide = "float64" if dtype == "float64" else "float32"
    return keras.ops.convert_to_tensor(scale, wide)


def _attention(q: Any, k: Any, v: Any, scale: Any, *, causal: bool = False) -> Any:
    """Return attention for (batch, position, head, feature).

    XLA cannot compile JAX's own function for fp16 on a CPU: for that it is written out.
    """
    ops, dtype = keras.ops, keras.backend.standardize_dtype(q.dtype)
    if keras.backend.backend() != "jax" or dtype != "float16":
        return ops.dot_product_attention(q, k, v, scale=scale, is_causal=causal)
    scores = ops.cast(ops.einsum("btnh,bsnh->bnts", q, k), "float32") * scale
    if causal:
        seen = ops.tril(ops.ones(scores.shape[-2:], dtype="bool"))
        scores = ops.where(seen, scores, -np.inf)
    return ops.einsum("bnts,bsnh->btnh", ops.cast(ops.softmax(scores), dtype), v)


def attention(sizes: Sizes, dtype: str) -> Network:
    """Scaled dot-product attention."""
    scale = _scale(sizes["D"], dtype)

    def call(q: Any, k: Any, v: Any) -> Any:
        return _attention(q, k, v, scale)

    return Network(call, dict.fromkeys("QKV", HEADS), "O", HEADS)


def softmax(sizes: Sizes, dtype: str) -> Network:
    """Softmax over the last axis."""
    return Network(partial(keras.ops.softmax, axis=-1), {"X": None}, "Y")


def _norm(dtype: str) -> Any:
    return keras.layers.LayerNormalization(epsilon=LAYER_NORM_EPSILON, dtype=dtype)


def layer_norm(sizes: Sizes, dtype: str) -> Network:
    """Layer norm over the last axis."""
    x = _input((sizes["S"], sizes["D"]), dtype)
    layer = _norm(dtype)
    y = layer(x)
    return _model("Y", x, y, _held(layer, "g", "b", layout=None))


def transformer_block(sizes: Sizes, dtype: str) -> Network:
    """A pre-norm transformer block: causal attention, then an MLP of four times the width."""
    length, width, heads = sizes["S"], sizes["D"], sizes["H"]
    each = width // heads
    scale = _scale(each, dtype)

    def dense(units: int, activation: Any = None) -> Any:
        return keras.layers.Dense(units, activation, dtype=dtype)

    first, second = _norm(dtype), _norm(dtype)
    joined, out, up, down = dense(3 * width), dense(width), dense(4 * width, _gelu), dense(width)

    def mixed_heads(qkv: Any) -> Any:
        parts = keras.ops.split(qkv, 3, axis=-1)
        q, k, v = (keras.ops.reshape(part, (-1, length, heads, each)) for part in parts)
        return _attention(q, k, v, scale, causal=True)

    mix = keras.layers.Lambda(mixed_heads, dtype=dtype)
    x = _input((length, width), dtype)
    mixed = keras.ops.reshape(mix(joined(first(x))), (-1, length, width))
    residual = x + out(mixed)
    y = residual + down(up(second(residual)))
    return _model(
        "Y", x, y,
        _held(first, "g1", "n1", layout=None),
        _held(joined, "Wqkv", "bqkv", layout=LINEAR),
        _held(out, "Wo", "bo", layout=LINEAR),
        _held(second, "g2", "n2", layout=None),
        _held(up, "Wu", "bu", layout=LINEAR),
        _held(down, "Wd", "bd", layout=LINEAR),
    )  # fmt: skip


def cnn(sizes: Sizes, dtype: str) -> Network:
    """Two rounds of convolution, ReLU and pooling, then a linear layer."""
    x = _input((sizes["H"], sizes["H"], sizes["C"]), dtype)
    first, second = _conv(sizes["K"], 3, dtype, "relu"), _conv(2 * sizes["K"], 3, dtype, "relu")
    last = keras.layers.Dense(sizes["N"], dtype=dtype)

    def pool(images: Any) -> Any:
        return keras.layers.MaxPooling2D(2, data_format="channels_last", dtype=dtype)(images)

    flat = keras.layers.Flatten(data_format="channels_last", dtype=dtype)
    y = last(flat(pool(second(pool(first(x))))))
    return _model(
        "Y", x, y,
        _held(first, "W1", "b1", layout=FILTERS),
        _held(second, "W2", "b2", layout=FILTERS),
        _held(last, "W3", "b3", layout=AfterImages(2 * sizes["K"])),
        layout=IMAGES,
    )  # fmt: skip


MODELS: dict[str, Callable[[Sizes, str], Network]] = {
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
