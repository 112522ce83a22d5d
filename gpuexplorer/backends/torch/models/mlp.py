"""Three linear layers with ReLU between them."""

from __future__ import annotations

from typing import Any

from torch import nn

from gpuexplorer.backends.torch.models.family import Family, Options
from gpuexplorer.workloads.plan import Plan


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


WEIGHTS = {
    "W1": "first.weight", "b1": "first.bias",
    "W2": "second.weight", "b2": "second.bias",
    "W3": "third.weight", "b3": "third.bias",
}  # fmt: skip


def build(plan: Plan, options: Options) -> Family:
    """Return the network with the plan's widths."""
    layers = [options.linear(plan, name) for name in ("W1", "W2", "W3")]
    module = Mlp(*layers, in_place=options.in_place)
    return Family(module, ("Y",), ("X",), WEIGHTS, cut=("X",))
