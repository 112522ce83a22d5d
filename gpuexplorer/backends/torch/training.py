"""A training step: forward, loss, backward, optimiser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuexplorer.backends.models import ModelStep
from gpuexplorer.workloads.models.training import LEARNING_RATE, MOMENTUM


class Training:
    """SGD with momentum on the weights of a module, which has just been allocated.

    The momentum of each weight is an array of the plan, so that a step begins where the manifest
    says and not where PyTorch begins by itself. ``learns`` holds the arrays that are weights, each
    with its place in the module; ``fused``: one kernel updates all weights.
    """

    def __init__(self, torch: Any, module: Any, learns: Mapping[str, str], *, fused: bool) -> None:
        module.train()
        weights = dict(module.named_parameters())
        self.optimizer = torch.optim.SGD(
            weights.values(),
            lr=LEARNING_RATE,
            momentum=MOMENTUM,
            fused=fused or None,  # None: PyTorch's default
        )
        self.momentum: dict[str, Any] = {}
        """What the optimiser keeps, by the array that is the weight."""
        for name, path in learns.items():
            weight = weights[path]
            kept = torch.empty_like(weight, requires_grad=False)
            self.momentum[name] = self.optimizer.state[weight]["momentum_buffer"] = kept

    def step(self, call: Callable[..., Any], data: tuple[Any, ...]) -> ModelStep:
        """Return one step on a batch; it returns the loss."""
        optimizer = self.optimizer

        def learn() -> Any:
            optimizer.zero_grad(set_to_none=True)
            loss = call(*data)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return learn
