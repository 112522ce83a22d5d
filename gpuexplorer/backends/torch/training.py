"""A training step: forward, loss, backward, optimiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpuexplorer.backends.models import Step
from gpuexplorer.workloads.models.training import LEARNING_RATE, MOMENTUM

if TYPE_CHECKING:
    from gpuexplorer.backends.torch.model import TorchModel


class Training:
    """SGD with momentum on a model's weights, which has just been allocated.

    The momentum of each weight is an array of the plan, so that a step begins where the manifest
    says and not where PyTorch begins by itself.
    """

    def __init__(self, torch: Any, model: TorchModel) -> None:
        model.module.train()
        weights = dict(model.module.named_parameters())
        fused = True if model.switches.get("fused_optimizer") else None  # None: PyTorch's default
        self.optimizer = torch.optim.SGD(
            weights.values(), lr=LEARNING_RATE, momentum=MOMENTUM, fused=fused
        )
        self.momentum: dict[str, Any] = {}
        """What the optimiser keeps, by the array that is the weight."""
        for name in model.family.momentum.values():
            weight = weights[model.family.weights[name]]
            kept = torch.empty_like(weight, requires_grad=False)
            self.momentum[name] = self.optimizer.state[weight]["momentum_buffer"] = kept

    def step(self, call: Callable[..., Any], data: tuple[Any, ...]) -> Step:
        """Return one step on a batch; it returns the loss."""
        optimizer = self.optimizer

        def learn() -> Any:
            optimizer.zero_grad(set_to_none=True)
            loss = call(*data)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return learn
