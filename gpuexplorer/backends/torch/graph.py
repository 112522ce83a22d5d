"""A step recorded as a CUDA graph and replayed as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuexplorer.backends.models import ModelStep

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
