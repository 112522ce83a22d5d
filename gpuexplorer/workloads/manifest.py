"""The schema of ``workload.toml``, format 1.

Every table is strict: an unknown key is an error. Formulas are strings (see ``formulas``) or plain
numbers. They see the size symbols and ``itemsize`` (bytes of ``real``), and, inside a variant, also
``block_x block_y block_z``, ``grid_x grid_y grid_z`` and the variant's tunables.

A variant that names a ``model`` is run by a framework. Its arrays are those of the model's own
reference (see ``workloads.models``), its host arrays float32 masters in every precision but fp64.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Formula = str | int | float
Role = Literal["in", "out", "inout", "scratch"]
Fill = Literal["normal", "uniform", "integers", "zeros"]
Check = Literal["full", "rows", "freivalds"]
Neighbours = Literal["x", "y", "none", "pieces"]
ElementType = Literal["real", "accum", "int", "float", "int8", "uint8", "int64", "uint64"]
InputFill = Literal["normal", "uniform", "integers", "zeros", "large"]
FILLS: tuple[Fill, ...] = ("normal", "uniform", "integers", "zeros")
"""Input distributions to choose from, in the order they are offered."""
OVERFLOW_FILL = "large"
"""±256, which is there to find sums that overflow; for checks, not for timing."""


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class SizeSpec(_Table, frozen=True, kw_only=True):
    """One size symbol: its range (both ends included) and default."""

    title: str = ""
    min: int = 1
    max: int
    default: int


class PrecisionSpec(_Table, frozen=True, kw_only=True):
    """How far a result in this precision may lie from float64."""

    tolerance: float


class ArraySpec(_Table, frozen=True, kw_only=True):
    """One array: row-major shape (formulas), role, element type, and how an input is filled."""

    shape: list[Formula]
    role: Role
    type: ElementType = "real"
    fill: Fill = "normal"
    scale: Formula = 1
    """A factor on whatever the array is filled with, such as ``1/D**0.5`` for a weight."""
    below: Formula | None = None
    """For whole numbers: filled with 0 to below this, such as the labels of so many classes."""
    values: str | None = None
    """An expression over the sizes that gives an input's elements, such as where rows begin."""


class ScalarSpec(_Table, frozen=True, kw_only=True):
    """One scalar argument with its C type."""

    type: ElementType = "accum"
    value: Formula


class WorkSpec(_Table, frozen=True, kw_only=True):
    """Useful work of one launch: operations, and the bytes the result needs at least."""

    flops: Formula
    read_bytes: Formula
    write_bytes: Formula
    fewer_flops: bool = False
    """Whether libraries may get by with fewer operations, as with Winograd's convolution."""


class ReferenceSpec(_Table, frozen=True, kw_only=True):
    """What is right: for each checked array an expression over the inputs, evaluated in float64.

    ``model`` names a function of ours instead, which computes every output (``workloads.models``),
    of a large problem for some samples of the batch. ``variant`` names a variant that is trusted:
    what it writes is right, and it is not verified itself. ``python`` names a function of a Python
    file beside the manifest, ``check.py:product``, which returns what is right.

    ``check``: ``full`` compares every element; ``rows`` computes sampled rows only, for which the
    arrays in ``row_arrays`` are cut to those rows and those in ``column_arrays`` to those columns;
    ``freivalds`` multiplies a product ``P @ Q`` and the result by random vectors, in which one
    element shows that is off by some 6 times the tolerance. Small problems are always checked in
    full. An error is measured against ``|reference|`` plus its root mean
    square, or against ``scale`` (an expression that sees what ``outputs`` see) where given.
    """

    outputs: dict[str, str] = {}
    unchecked: bool = False
    """Nobody says what is right: nothing is verified, and every figure says so."""
    model: str | None = None
    variant: str | None = None
    python: str | None = None
    check: Check = "full"
    row_arrays: list[str] = []
    column_arrays: list[str] = []
    scale: str | None = None


class TunableSpec(_Table, frozen=True, kw_only=True):
    """A compile-time macro: a choice among ``values``, or tied to others by ``formula``."""

    title: str = ""
    values: list[int] = []
    default: int | None = None
    formula: str | None = None


class Constraint(_Table, frozen=True, kw_only=True):
    """A rule over block, grid, sizes and tunables, and the reason a user is told."""

    rule: str
    because: str


class LaunchArgument(_Table, frozen=True, kw_only=True):
    """A computed scalar argument."""

    type: ElementType = "int"
    value: Formula


class LaunchSpec(_Table, frozen=True, kw_only=True):
    """One kernel launch.

    ``block`` holds numbers (the default of the sliders, which the launch then follows) or at least
    one formula string (then it is computed and ignores the sliders). ``args`` are names of arrays,
    scalars and sizes, or computed scalars.
    """

    source: str
    entry: str
    block: list[int | str]
    grid: list[Formula]
    shared_bytes: Formula = 0
    args: list[str | LaunchArgument]
    symbols: list[str] = []
    """Arrays, scalars and sizes whose values are copied to the ``__constant__`` or ``__device__``
    variables of the same names, as ``cudaMemcpyToSymbol`` does; outputs are copied back, as
    ``cudaMemcpyFromSymbol`` does."""

    @property
    def follows_sliders(self) -> bool:
        """Whether the launch's block is the one the sliders choose."""
        return all(isinstance(b, int) for b in self.block)


class TunedSpec(_Table, frozen=True, kw_only=True):
    """Block and tunables that were the fastest on a family of devices, as measured there.

    They take the place of the usual defaults where a user has chosen nothing. ``on`` says what a
    device of the family has, in the words of ``requires``; the first entry that fits counts.
    """

    on: list[str]
    precisions: list[str] = []
    """Empty: all of the variant's."""
    where: Formula | None = None
    """A rule over the sizes that it holds for, such as those that fit into shared memory."""
    block: list[int] = []
    """Empty: the usual one."""
    tunables: dict[str, int] = {}
    measured: str
    """On what, when, and how fast it was there."""


class VariantSpec(_Table, frozen=True, kw_only=True):
    """One way to compute the workload: a library call, a framework's model, or launches in order.

    ``work`` and ``reference`` replace the workload's own where a variant computes something else,
    as the four kernels of STREAM do.
    """

    title: str
    teaches: str
    after: str | None = None
    """The kernel that this one is a step on from, among those before it; None: the last of them."""
    work: WorkSpec | None = None
    reference: ReferenceSpec | None = None
    library: str | None = None
    model: str | None = None
    """``FRAMEWORK.MODEL``, such as ``torch.mlp``."""
    args: list[str] = []
    """Arrays and scalars handed to a library call, inputs first, the output last."""
    launch: list[LaunchSpec] = []
    requires: list[str] = []
    precisions: list[str] = []
    """Precisions the variant is limited to; empty means all of the workload's that its kind has."""
    tolerances: dict[str, float] = {}
    """Tolerances that replace the workload's: a model rounds its inputs too, a kernel does not."""
    tunables: dict[str, TunableSpec] = {}
    tuned: list[TunedSpec] = []
    """Defaults for families of devices."""
    constraints: list[Constraint] = []
    requested_read_bytes: Formula | None = None
    requested_write_bytes: Formula | None = None
    neighbours: Neighbours | None = None
    """The block axis along which neighbouring threads touch neighbouring elements; ``none`` where
    reads and writes differ. Advice on the block's orientation rests on it."""
    reset: list[str] = []
    """Arrays set back before each launch, untimed: ``inout`` to its fill, others to zero."""

    @property
    def call(self) -> str | None:
        """What a device must offer for it: the library call or the model; None for kernels."""
        return self.library or self.model

    @property
    def main_launch(self) -> int:
        """Which launch the sliders' block is that of, and what is said of the grid: the first."""
        return next((i for i, step in enumerate(self.launch) if step.follows_sliders), 0)

    @property
    def dimensions(self) -> int:
        """How many block sliders the variant has (0 for a library call or a model)."""
        followed = [len(step.block) for step in self.launch if step.follows_sliders]
        return max(followed, default=0)


class Manifest(_Table, frozen=True, kw_only=True):
    """One workload."""

    format: Literal[1]
    name: str
    title: str
    summary: str
    sizes: dict[str, SizeSpec]
    precisions: dict[str, PrecisionSpec]
    arrays: dict[str, ArraySpec]
    scalars: dict[str, ScalarSpec] = {}
    constraints: list[Constraint] = []
    """Rules over the sizes, for every variant."""
    work: WorkSpec
    reference: ReferenceSpec
    variants: dict[str, VariantSpec]
    default_variant: str | None = None

    @property
    def first_variant(self) -> str:
        """The variant a user gets without choosing."""
        return self.default_variant or next(iter(self.variants))
