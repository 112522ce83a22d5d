"""Scaled dot-product attention."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from gpuexplorer.backends.torch.models.family import Family, Options
from gpuexplorer.workloads.plan import Plan


class Attention(nn.Module):  # type: ignore[misc]
    """softmax(Q Kᵀ / √D) V for arrays of (batch, heads, positions, features)."""

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        """Return what every position takes from all of them."""
        return scaled_dot_product_attention(q, k, v)


def build(plan: Plan, options: Options) -> Family:
    """Return attention; which implementation runs is chosen around its call."""
    data = ("Q", "K", "V")
    return Family(Attention(), ("O",), data, cut=data)
