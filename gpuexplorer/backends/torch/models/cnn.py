"""A small convolutional network."""

from __future__ import annotations

from typing import Any

from torch import nn

from gpuexplorer.backends.torch.models.family import Family, Options
from gpuexplorer.workloads.plan import Plan


def build(plan: Plan, options: Options) -> Family:
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
