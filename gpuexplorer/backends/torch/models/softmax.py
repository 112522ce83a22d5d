"""Softmax over rows."""

from __future__ import annotations

from torch import nn

from gpuexplorer.backends.torch.models.family import Family, Options
from gpuexplorer.workloads.plan import Plan


def build(plan: Plan, options: Options) -> Family:
    """Return softmax over the last axis."""
    return Family(nn.Softmax(dim=-1), ("Y",), ("X",), cut=("X",))
