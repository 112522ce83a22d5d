"""What exactly is launched for one configuration: arrays, launches, arguments and sources."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from gpuexplorer.core.config import Block, RunConfig
from gpuexplorer.workloads.manifest import ElementType, InputFill, Role


class ArrayPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One array of a run: row-major shape in elements, element size in bytes."""

    name: str
    shape: tuple[int, ...]
    type: ElementType
    role: Role
    fill: InputFill
    itemsize_B: int
    scale: float = 1.0
    """A factor on the fill."""
    below: int | None = None
    """Whole numbers from 0 to below this, whatever the fill; None: as the fill says."""
    values: str | None = None
    """An expression over the sizes that gives the elements, whatever the fill."""

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.elements * self.itemsize_B


class Argument(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel argument: an array by name, or a scalar with its element type and value."""

    kind: Literal["array", "scalar"]
    name: str = ""
    type: ElementType = "int"
    value: float = 0


class KernelLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel launch, ready: ``block`` and ``grid`` along x, y, z."""

    source: str
    entry: str
    block: Block
    grid: Block
    shared_B: int
    """Dynamic shared memory of a block, in bytes."""
    arguments: tuple[Argument, ...]
    symbols: tuple[Argument, ...] = ()
    """What is copied to the variables of the source that have these names."""

    @property
    def blocks(self) -> int:
        """Number of blocks in the grid."""
        return math.prod(self.grid)

    @property
    def threads_per_block(self) -> int:
        """Number of threads in a block."""
        return math.prod(self.block)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a backend needs to build, launch and check one configuration.

    Exactly one of ``steps``, ``library`` and ``model`` is there. A model's arrays are as the host
    has them: float32 masters (``type`` ``float``) in every precision but fp64.
    """

    config: RunConfig
    arrays: tuple[ArrayPlan, ...]
    steps: tuple[KernelLaunch, ...] = ()
    main_step: int = 0
    """Which of them has the configuration's block and grid."""
    library: str | None = None
    library_arguments: tuple[Argument, ...] = ()
    model: str | None = None
    """``FRAMEWORK.MODEL``, such as ``torch.mlp``."""
    switches: dict[str, bool | str] = {}
    """Every switch that the model has on the device, with its value."""
    defines: dict[str, int] = {}
    """Macros of the variant's tunables."""
    files: dict[str, str] = {}
    """The workload's sources by file name."""
    source_sha256: str = ""
    origin: str = ""
    """What messages call the sources' manifest, or the model's file."""
    reset: tuple[str, ...] = ()
    flops: float = 0
    fewer_flops: bool = False
    """Whether what is called may get by with fewer."""
    compulsory_read_B: float = 0
    compulsory_write_B: float = 0
    requested_read_B: float | None = None
    requested_write_B: float | None = None

    @property
    def memory_B(self) -> int:
        """Bytes of all arrays together."""
        return sum(a.nbytes for a in self.arrays)

    def array(self, name: str) -> ArrayPlan:
        """Return the array of that name."""
        return next(a for a in self.arrays if a.name == name)

    @property
    def inputs(self) -> tuple[ArrayPlan, ...]:
        """Arrays that the host fills and copies to the device."""
        return tuple(a for a in self.arrays if a.role in ("in", "inout"))

    @property
    def outputs(self) -> tuple[ArrayPlan, ...]:
        """Arrays that are copied back."""
        return tuple(a for a in self.arrays if a.role in ("out", "inout"))
