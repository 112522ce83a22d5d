"""What advice rests on: the facts of one run, and what changed knobs would launch."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from gpuexplorer.core.accesses import AccessProfile
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.change import Change
from gpuexplorer.core.config import Block, RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.result import Phases, Resources


class Edge(msgspec.Struct, frozen=True):
    """One axis of a grid that covers a size with tiles of ``extent`` elements.

    Where they do not divide it, the last block of the axis has threads without an element.
    """

    axis: int
    symbol: str
    size: int
    extent: int

    @property
    def used(self) -> float:
        """Share of the elements covered that exist."""
        return self.size / (self.extent * -(-self.size // self.extent))


class Launch(msgspec.Struct, frozen=True):
    """What one configuration launches; None for ``block`` and ``grid`` of a library call.

    ``shared_B`` is the dynamic shared memory of a block, ``requested_B`` what all threads ask for;
    ``flops`` and ``compulsory_B`` are the useful work of one launch. Of a change that only moves
    the block, which leaves the work as it is, only what is launched is worked out.
    """

    block: Block | None
    grid: Block | None
    shared_B: int = 0
    requested_B: float | None = None
    flops: float = 0.0
    compulsory_B: float = 0.0
    written_B: float = 0.0
    """Those of the compulsory bytes that are results."""
    edges: tuple[Edge, ...] = ()
    """Axes of the grid that are a size over the block or a tunable; others cover no size so."""

    @property
    def threads_per_block(self) -> int:
        """Threads of one block, 0 for a library call."""
        return math.prod(self.block) if self.block is not None else 0

    @property
    def blocks(self) -> int:
        """Blocks of the grid, 0 for a library call."""
        return math.prod(self.grid) if self.grid is not None else 0


class Sibling(msgspec.Struct, frozen=True):
    """Another variant that computes the same and can run on the same device."""

    name: str
    library: bool
    neighbours: str | None
    builds_on_it: bool = False
    """Whether it is a kernel further on in the manifest's order that the present one leads to."""


class Measured(msgspec.Struct, frozen=True):
    """Another configuration that was measured in this session, on the same silicon."""

    config: RunConfig
    median_s: float
    library: bool = False
    relative_error: float | None = None
    """Half the 95 % interval over the median."""


def _nothing(change: Change) -> Launch | None:
    return None


class Situation(msgspec.Struct, frozen=True):
    """One run and what surrounds it. A figure that is not known is None.

    ``neighbours`` is the block axis along which neighbouring threads touch neighbouring elements,
    as the manifest declares it: ``x``, ``y``, ``none`` (different for reads and writes), or
    ``pieces`` (each thread takes whole pieces of its own).
    ``dimensions`` counts the block's sliders, 0 where the variant chooses its own blocks.
    ``look`` tells what a changed configuration would launch, None when it cannot be launched.
    """

    config: RunConfig
    device: DeviceInfo
    launch: Launch
    median_s: float
    relative_error: float | None = None
    """Half the 95 % interval over the median."""
    resolution_s: float = 0.0
    dimensions: int = 0
    neighbours: str | None = None
    resources: Resources = msgspec.field(default_factory=Resources)
    suspect: str | None = None
    marked_throttled: int = 0
    mostly_throttled: bool = False
    """Whether most samples are marked, so that the median is of them."""
    phases: Phases = msgspec.field(default_factory=Phases)
    throttle_reasons: tuple[str, ...] = ()
    """What held the clock in a good part of the latest readings."""
    lasting_reasons: tuple[str, ...] = ()
    """What held it in most of them."""
    clock_Hz: float | None = None
    """Median of the clock held during the run."""
    clock_high_Hz: float | None = None
    """The highest clock the device states, or else that was seen."""
    dram_B: float | None = None
    """Bytes the memory moved for one launch, as the hardware counted them."""
    achieved_occupancy: float | None = None
    ceilings: Ceilings | None = None
    siblings: tuple[Sibling, ...] = ()
    others: tuple[Measured, ...] = ()
    tunables: dict[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    """Values of each tunable that is the user's to choose."""
    largest_size: dict[str, int] = msgspec.field(default_factory=dict)
    look: Callable[[Change], Launch | None] = _nothing
    accesses: tuple[AccessProfile, ...] = ()
    """What a warp of each launch asks for, where it was counted."""

    @property
    def block(self) -> Block | None:
        """The block the sliders chose; None where the variant chooses its own."""
        return self.config.block if self.dimensions else None

    @property
    def is_gpu(self) -> bool:
        """Whether the device is a GPU."""
        return self.device.kind == "gpu"

    @property
    def library(self) -> bool:
        """Whether the variant is a library call."""
        return self.launch.block is None

    @property
    def workers(self) -> int:
        """What blocks are shared out to: multiprocessors, or the CPU threads that may be used."""
        if self.is_gpu:
            return max(1, self.device.compute_units)
        return max(1, self.config.threads or self.device.threads or self.device.compute_units)
