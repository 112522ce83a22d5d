"""Layer norm over the last axis."""

from __future__ import annotations

from torch import nn

from gpuexplorer.backends.torch.models.family import Family, Options
from gpuexplorer.workloads.models.layers import LAYER_NORM_EPSILON
from gpuexplorer.workloads.plan import Plan


def build(plan: Plan, options: Options) -> Family:
    """Return layer norm with gain and bias."""
    module = nn.LayerNorm(plan.array("g").shape[0], eps=LAYER_NORM_EPSILON)
    return Family(module, ("Y",), ("X",), {"g": "weight", "b": "bias"}, cut=("X",))
