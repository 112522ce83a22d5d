"""A transformer block as in GPT-2: causal attention, then an MLP, each after a layer norm."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from gpuexplorer.backends.torch.models.family import Family, Options
from gpuexplorer.workloads.models.layers import LAYER_NORM_EPSILON
from gpuexplorer.workloads.plan import Plan


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


WEIGHTS = {
    "g1": "norm1.weight", "n1": "norm1.bias",
    "Wqkv": "qkv.weight", "bqkv": "qkv.bias",
    "Wo": "out.weight", "bo": "out.bias",
    "g2": "norm2.weight", "n2": "norm2.bias",
    "Wu": "up.weight", "bu": "up.bias",
    "Wd": "down.weight", "bd": "down.bias",
}  # fmt: skip


def build(plan: Plan, options: Options) -> Family:
    """Return the block with the plan's width and heads."""
    layers = [options.linear(plan, name) for name in ("Wqkv", "Wo", "Wu", "Wd")]
    module = Block(plan.array("X").shape[-1], plan.config.size["H"], *layers)
    return Family(module, ("Y",), ("X",), WEIGHTS, cut=("X",))
