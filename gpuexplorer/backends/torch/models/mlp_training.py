"""One training step of an MLP: forward, loss, backward, optimiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from gpuexplorer.backends.torch.models.family import Family, Options
from gpuexplorer.backends.torch.models.mlp import WEIGHTS
from gpuexplorer.workloads.models.training import VELOCITIES
from gpuexplorer.workloads.plan import Plan


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


def build(plan: Plan, options: Options) -> Family:
    """Return the network with its loss; what the optimiser keeps are arrays of the plan, too."""
    layers = [options.linear(plan, name) for name in ("W1", "W2", "W3")]
    module = TrainedMlp(*layers, checkpointing=options.checkpointing)
    momentum = dict(zip(VELOCITIES, WEIGHTS, strict=True))
    data = ("X", "labels")
    return Family(module, ("loss",), data, WEIGHTS, cut=data, momentum=momentum)
