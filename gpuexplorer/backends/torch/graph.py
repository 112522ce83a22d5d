"""A step recorded as a CUDA graph and replayed as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuexplorer.backends.models import Step

if TYPE_CHECKING:
    from gpuexplorer.backends.torch.model import TorchModel

WARM_UPS = 3
"""Steps before one is recorded: libraries choose kernels and take their workspace in them."""


def captured(model: TorchModel) -> Step:
    """Record a model's step after a warm-up on a stream of its own; return what replays it.

    What the warm-up and the recording changed is set back. The results are always the same arrays.
    """
    torch, step = model.torch, model.eager()
    learned = [a.name for a in model.plan.arrays if a.role == "inout"]
    before = {name: model.target(name).detach().clone() for name in learned}
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
        for name, values in before.items():
            model.target(name).copy_(values)
    model.wait()

    def replay() -> Any:
        graph.replay()
        return results

    return replay
