"""Steps of a model: one that trains it, and one recorded as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


# ---- a step as a graph
# A step recorded as a CUDA graph and replayed as a whole.


WARM_UPS = 3
"""Steps before one is recorded: libraries choose kernels and take their workspace in them."""


def captured(
    torch: Any, step: ModelStep, learned: Sequence[Any], wait: Callable[[], None]
) -> ModelStep:
    """Record a step after a warm-up on a stream of its own; return what replays it.

    What the warm-up and the recording changed of the tensors in ``learned`` is set back. The
    results are always the same arrays.
    """
    before = [tensor.detach().clone() for tensor in learned]
    current, side = torch.cuda.current_stream(), torch.cuda.Stream()
    side.wait_stream(current)
    with torch.cuda.stream(side):
        for _ in range(WARM_UPS):
            step()
    current.wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = step()
    with torch.no_grad():
        for tensor, values in zip(learned, before, strict=True):
            tensor.copy_(values)
    wait()

    def replay() -> Any:
        graph.replay()
        return results

    return replay
