"""One 2-D convolution."""

from __future__ import annotations

from torch import nn

from gpuexplorer.backends.torch.models.family import Family, Options
from gpuexplorer.workloads.plan import Plan


def build(plan: Plan, options: Options) -> Family:
    """Return the convolution with bias, stride 1 and zeros around, so that the size stays."""
    filters, channels, size, _ = plan.array("W").shape
    module = nn.Conv2d(channels, filters, size, padding=size // 2)
    weights = {"W": "weight", "b": "bias"}
    return Family(module, ("Y",), ("X",), weights, cut=("X",), images=("X",))
