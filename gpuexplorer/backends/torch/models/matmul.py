"""A matrix product."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from gpuexplorer.backends.torch.layers import Fp8Product, linear
from gpuexplorer.backends.torch.models.family import Family, Options
from gpuexplorer.workloads.plan import Plan


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


def build(plan: Plan, options: Options) -> Family:
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
