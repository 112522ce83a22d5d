"""Copies between host and GPU from page-locked memory, and beside the computation.

A copy from ordinary memory goes through a buffer of the driver's, and the host waits for it. From
page-locked memory the GPU reads by itself. Then the batch can be cut into parts, so that one part
is copied in while another is computed and a third is copied back, each on a stream of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuexplorer.backends.base import HostArray
from gpuexplorer.backends.models import ModelStep
from gpuexplorer.backends.torch.model import TorchModel
from gpuexplorer.workloads.fills import dtype_of
from gpuexplorer.workloads.plan import Plan

PARTS = 4
"""Parts of a batch whose copies overlap with computing."""


def copying_model(torch: Any, plan: Plan, place: str) -> TorchModel:
    """Return a model whose copies are as the plan's switches say."""
    kind = PinnedModel if plan.switches.get("pinned") else TorchModel
    if plan.switches.get("async_copies"):
        kind = OverlappedModel
    return kind(torch, plan, place)


class PinnedModel(TorchModel):
    """A model whose arrays on the host are page-locked.

    They are made so once, when an array is first written: a program that loads data puts them there
    to begin with.
    """

    def __init__(self, torch: Any, plan: Plan, place: str, precision: str | None = None) -> None:
        super().__init__(torch, plan, place, precision)
        self.locked: dict[str, Any] = {}
        self._source: dict[str, HostArray] = {}

    def on_host(self, name: str, values: HostArray) -> Any:
        """Return page-locked memory with these values."""
        if self._source.get(name) is not values:
            self._source[name] = values
            self.locked[name] = self.torch.from_numpy(values).pin_memory()
        return self.locked[name]

    def landing(self, name: str) -> Any:
        """Return page-locked memory for an output."""
        planned = self.plan.array(name)
        key = f"result {name}"
        if key not in self.locked:
            dtype = getattr(self.torch, dtype_of(planned, self.plan.config.precision).name)
            self.locked[key] = self.torch.empty(planned.shape, dtype=dtype, pin_memory=True)
        return self.locked[key]

    def to_host(self, name: str, tensor: Any) -> HostArray:
        """Copy a tensor to page-locked memory, and from there to an array of its own."""
        landing = self.landing(name)
        landing.copy_(tensor.reshape(landing.shape).to(landing.dtype))
        values: HostArray = landing.numpy().copy()
        return values


class OverlappedModel(PinnedModel):
    """A model whose batch is copied and computed in parts, at the same time."""

    def allocate(self) -> None:
        """Allocate weights and data, and have a stream for each direction."""
        super().allocate()
        cuda = self.torch.cuda
        self._in, self._out = cuda.Stream(self.place), cuda.Stream(self.place)
        batch = len(self.data[self.family.cut[0]])
        step = -(-batch // PARTS)
        self._parts = [slice(at, min(at + step, batch)) for at in range(0, batch, step)]
        self._arrived = [cuda.Event() for _ in self._parts]

    def write(self, arrays: Mapping[str, HostArray]) -> None:
        """Start copying weights, and then the batch part by part, without waiting."""
        cuda, cut = self.torch.cuda, self.family.cut
        sources = {name: self.on_host(name, values) for name, values in arrays.items()}
        self.inputs.update(arrays)
        self._in.wait_stream(cuda.current_stream())
        with self.torch.no_grad(), cuda.stream(self._in):
            for name, source in sources.items():
                if name not in cut:
                    self.put(name, source, apart=True)
            for rows, arrived in zip(self._parts, self._arrived, strict=True):
                for name in cut:
                    if name in sources:
                        part = sources[name][rows].to(self.place, non_blocking=True)
                        self.data[name][rows].copy_(part)
                arrived.record(self._in)

    def eager(self) -> ModelStep:
        """Return a step that computes each part as soon as it is there and sends it back."""
        call, cuda = self.called(), self.torch.cuda
        data = [self.data[name] for name in self.family.data]
        landing = self.landing(self.family.results[0])

        def step() -> Any:
            current = cuda.current_stream()
            kept = []
            for rows, arrived in zip(self._parts, self._arrived, strict=True):
                current.wait_event(arrived)
                part = call(*(array[rows] for array in data)).to(landing.dtype)
                self._out.wait_stream(current)
                with cuda.stream(self._out):
                    landing[rows].copy_(part, non_blocking=True)
                kept.append(part)  # until it was copied, its memory is not free
            return kept

        return step

    def read(self, results: Any, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Wait for what the step sent back."""
        self._out.synchronize()
        return {name: self.landing(name).numpy().copy() for name in names}
