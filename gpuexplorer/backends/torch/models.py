"""The shipped workloads as PyTorch's users write them, and what each says of its arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import torch
from torch import nn
from torch.nn import functional
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from gpuexplorer.backends.torch.layers import Fp8Product, linear
from gpuexplorer.workloads.models.layers import LAYER_NORM_EPSILON
from gpuexplorer.workloads.models.training import VELOCITIES
from gpuexplorer.workloads.plan import Plan


class Options(msgspec.Struct, frozen=True):
    """What a model's structure depends on besides its sizes."""

    precision: str
    packed: bool
    """Whether int8 weights take the CPU's own form."""
    in_place: bool = False
    checkpointing: bool = False

    @classmethod
    def of(cls, plan: Plan, precision: str, kind: str) -> Options:
        """Return the options of a plan on a kind of device, in the plan's precision or another."""
        return cls(
            precision=precision,
            packed=kind == "cpu" and plan.switches.get("compile", "off") == "off",
            in_place=bool(plan.switches.get("in_place", False)),
            checkpointing=bool(plan.switches.get("checkpointing", False)),
        )

    def linear(self, plan: Plan, weight: str) -> Any:
        """Return a linear layer for a weight of (outputs, inputs)."""
        outputs, inputs = plan.array(weight).shape
        return linear(inputs, outputs, self.precision, packed=self.packed)


class Family(msgspec.Struct, frozen=True):
    """A model and what its arrays are, by their names in the manifest."""

    module: Any
    """A ``torch.nn.Module``: data in, results out."""
    results: tuple[str, ...]
    data: tuple[str, ...] = ()
    """What the module is called with, in order."""
    weights: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The arrays that are parameters or buffers, and where each is, such as ``up.weight``."""
    cut: tuple[str, ...] = ()
    """Data whose first axis counts samples that are computed apart; empty: none are."""
    images: tuple[str, ...] = ()
    """Data that may be held with the channels last."""
    momentum: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What the optimiser keeps: array → the weight whose momentum it is. It trains if there are."""


class Product(nn.Module):  # type: ignore[misc]
    """C = A B."""

    def forward(self, a: Any, b: Any) -> Any:
        """Return the product of (M, K) and (K, N)."""
        return torch.matmul(a, b)


class QuantisedProduct(nn.Module):  # type: ignore[misc]
    """C = A B where B is a layer's weight: A is rounded as it comes, as inputs of a layer are."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def take(self, name: str, values: Any) -> None:
        """Take in B, which a layer holds transposed, with a bias of zeros."""
        self.layer.take("weight", values.t().contiguous())
        self.layer.take("bias", torch.zeros(values.shape[1], device=values.device))

    def forward(self, a: Any) -> Any:
        """Return the product of (M, K) and the (K, N) matrix that was written."""
        return self.layer(a)


def matmul(plan: Plan, options: Options) -> Family:
    """Return the product in the form its precision has."""
    rows, inner = plan.array("A").shape
    columns = plan.array("B").shape[1]
    if options.precision == "fp8_e4m3":
        product = Fp8Product(rows, inner, columns)
        return Family(product, ("C",), weights={"A": "A", "B": "B"})
    if options.precision == "int8":
        layer = linear(inner, columns, "int8", packed=options.packed)
        return Family(QuantisedProduct(layer), ("C",), ("A",), {"B": "B"}, cut=("A",))
    return Family(Product(), ("C",), ("A", "B"), cut=("A",))


def conv2d(plan: Plan, options: Options) -> Family:
    """Return the convolution with bias, stride 1 and zeros around, so that the size stays."""
    filters, channels, size, _ = plan.array("W").shape
    module = nn.Conv2d(channels, filters, size, padding=size // 2)
    weights = {"W": "weight", "b": "bias"}
    return Family(module, ("Y",), ("X",), weights, cut=("X",), images=("X",))


def softmax(plan: Plan, options: Options) -> Family:
    """Return softmax over the last axis."""
    return Family(nn.Softmax(dim=-1), ("Y",), ("X",), cut=("X",))


def layer_norm(plan: Plan, options: Options) -> Family:
    """Return layer norm with gain and bias."""
    module = nn.LayerNorm(plan.array("g").shape[0], eps=LAYER_NORM_EPSILON)
    return Family(module, ("Y",), ("X",), {"g": "weight", "b": "bias"}, cut=("X",))


class Attention(nn.Module):  # type: ignore[misc]
    """softmax(Q Kᵀ / √D) V for arrays of (batch, heads, positions, features)."""

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        """Return what every position takes from all of them."""
        return scaled_dot_product_attention(q, k, v)


def attention(plan: Plan, options: Options) -> Family:
    """Return attention; which implementation runs is chosen around its call."""
    data = ("Q", "K", "V")
    return Family(Attention(), ("O",), data, cut=data)


class Mlp(nn.Module):  # type: ignore[misc]
    """X (B, D) → H → H → Y (B, C)."""

    def __init__(self, first: Any, second: Any, third: Any, *, in_place: bool) -> None:
        super().__init__()
        self.first, self.second, self.third = first, second, third
        self.relu = nn.ReLU(inplace=in_place)

    def forward(self, x: Any) -> Any:
        """Return the outputs of a batch."""
        x = self.relu(self.first(x))
        x = self.relu(self.second(x))
        return self.third(x)


MLP_WEIGHTS = {
    "W1": "first.weight", "b1": "first.bias",
    "W2": "second.weight", "b2": "second.bias",
    "W3": "third.weight", "b3": "third.bias",
}  # fmt: skip


def mlp(plan: Plan, options: Options) -> Family:
    """Return the network with the plan's widths."""
    layers = [options.linear(plan, name) for name in ("W1", "W2", "W3")]
    module = Mlp(*layers, in_place=options.in_place)
    return Family(module, ("Y",), ("X",), MLP_WEIGHTS, cut=("X",))


class TrainedMlp(nn.Module):  # type: ignore[misc]
    """X (B, D) → linear → GELU → linear → GELU → linear → logits (B, C) → mean cross-entropy.

    With checkpointing, each linear layer and its GELU keep their inputs alone, and the backward
    pass computes what is between once more.
    """

    def __init__(self, first: Any, second: Any, third: Any, *, checkpointing: bool) -> None:
        super().__init__()
        self.first, self.second, self.third = first, second, third
        self.checkpointing = checkpointing

    def forward(self, x: Any, labels: Any) -> Any:
        """Return the loss of a batch."""
        x = self._part(self._open, x)
        x = self._part(self._hidden, x)
        return functional.cross_entropy(self.third(x), labels)

    def _open(self, x: Any) -> Any:
        return functional.gelu(self.first(x), approximate="tanh")

    def _hidden(self, x: Any) -> Any:
        return functional.gelu(self.second(x), approximate="tanh")

    def _part(self, part: Callable[[Any], Any], x: Any) -> Any:
        return checkpoint(part, x, use_reentrant=False) if self.checkpointing else part(x)


def mlp_training(plan: Plan, options: Options) -> Family:
    """Return the network with its loss; what the optimiser keeps are arrays of the plan, too."""
    layers = [options.linear(plan, name) for name in ("W1", "W2", "W3")]
    module = TrainedMlp(*layers, checkpointing=options.checkpointing)
    momentum = dict(zip(VELOCITIES, MLP_WEIGHTS, strict=True))
    data = ("X", "labels")
    return Family(module, ("loss",), data, MLP_WEIGHTS, cut=data, momentum=momentum)


def cnn(plan: Plan, options: Options) -> Family:
    """Return two rounds of convolution, ReLU and 2 × 2 pooling, then a linear layer."""

    def convolution(weight: str) -> Any:
        filters, channels, size, _ = plan.array(weight).shape
        return nn.Conv2d(channels, filters, size, padding=size // 2)

    module = nn.Sequential(
        convolution("W1"),
        nn.ReLU(inplace=options.in_place),
        nn.MaxPool2d(2),
        convolution("W2"),
        nn.ReLU(inplace=options.in_place),
        nn.MaxPool2d(2),
        nn.Flatten(),
        options.linear(plan, "W3"),
    )
    weights = {
        "W1": "0.weight", "b1": "0.bias",
        "W2": "3.weight", "b2": "3.bias",
        "W3": "7.weight", "b3": "7.bias",
    }  # fmt: skip
    return Family(module, ("Y",), ("X",), weights, cut=("X",), images=("X",))


class Block(nn.Module):  # type: ignore[misc]
    """X (B, S, D) → Y (B, S, D) with so many heads."""

    def __init__(self, width: int, heads: int, qkv: Any, out: Any, up: Any, down: Any) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, eps=LAYER_NORM_EPSILON)
        self.norm2 = nn.LayerNorm(width, eps=LAYER_NORM_EPSILON)
        self.qkv, self.out, self.up, self.down = qkv, out, up, down
        self.gelu = nn.GELU(approximate="tanh")

    def forward(self, x: Any) -> Any:
        """Return the block's outputs."""
        x = x + self.out(self.attend(self.norm1(x)))
        return x + self.down(self.gelu(self.up(self.norm2(x))))

    def attend(self, x: Any) -> Any:
        """Let every position take from itself and those before it."""
        batch, length, width = x.shape
        split = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(split).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
        return mixed.transpose(1, 2).reshape(batch, length, width)


BLOCK_WEIGHTS = {
    "g1": "norm1.weight", "n1": "norm1.bias",
    "Wqkv": "qkv.weight", "bqkv": "qkv.bias",
    "Wo": "out.weight", "bo": "out.bias",
    "g2": "norm2.weight", "n2": "norm2.bias",
    "Wu": "up.weight", "bu": "up.bias",
    "Wd": "down.weight", "bd": "down.bias",
}  # fmt: skip


def transformer_block(plan: Plan, options: Options) -> Family:
    """Return the block with the plan's width and heads."""
    layers = [options.linear(plan, name) for name in ("Wqkv", "Wo", "Wu", "Wd")]
    module = Block(plan.array("X").shape[-1], plan.config.size["H"], *layers)
    return Family(module, ("Y",), ("X",), BLOCK_WEIGHTS, cut=("X",))


BUILDERS: dict[str, Callable[[Plan, Options], Family]] = {
    one.__name__: one
    for one in (
        matmul,
        conv2d,
        softmax,
        layer_norm,
        attention,
        mlp,
        mlp_training,
        cnn,
        transformer_block,
    )
}
"""What builds each model, by its name; its weights are not yet there."""
