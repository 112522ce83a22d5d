"""What one iteration of a model calls: operators as a table, calls over time as a flame chart.

Times are a profiler's: it slows every call a little, so ``iteration_s`` beside ``plain_s`` says by
how much the picture is stretched.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.result import DeviceSummary, Environment
from gpuexplorer.core.units import count

OPERATORS_SCHEMA = "gpuexplorer/operators/1"
MAX_CALLS = 20_000
"""Calls kept for the flame chart: the longest ones; the table counts all."""
MAX_OPERATORS = 2_000
"""Rows of the table: those that take the most time."""

TrackKind = Literal["cpu", "gpu"]
Family = Literal[
    "product", "convolution", "attention", "elementwise", "reduction", "memory", "other"
]
FAMILIES: dict[Family, str] = {
    "product": "matrix products",
    "convolution": "convolutions and pooling",
    "attention": "dot-product attention",
    "elementwise": "element by element",
    "reduction": "sums, norms, softmax, loss",
    "memory": "copies and allocation",
    "other": "everything else",
}


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table: all calls of an operator, or all with the same shapes of inputs."""

    name: str
    calls: int
    self_s: float
    """Seconds on the CPU in these calls, without what they call."""
    total_s: float
    """Seconds on the CPU with what they call; a call inside one of the same name counts once."""
    share: float
    """Its part of the device's time on a GPU, of the CPU's otherwise: between 0 and 1."""
    device_self_s: float | None = None
    """Seconds of the GPU kernels it launched itself; None without a GPU."""
    device_total_s: float | None = None
    """The same with those of what it calls."""
    memory_B: float | None = None
    """Bytes it allocated itself less those it freed, on the run's device."""
    shapes: str | None = None
    """Shapes of its inputs, where they were asked for."""

    @property
    def own_s(self) -> float:
        """Seconds it is ranked by: on the GPU where there is one, on the CPU otherwise."""
        return self.self_s if self.device_self_s is None else self.device_self_s


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the flame chart in which calls are nested: a CPU thread, or a GPU's stream."""

    title: str
    kind: TrackKind
    levels: int = 1
    """How deep calls are nested in it."""


class Call(msgspec.Struct, frozen=True, array_like=True):
    """One call: ``name`` and ``track`` are indices; seconds from the iteration's start."""

    name: int
    track: int
    depth: int
    start_s: float
    duration_s: float


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration in figures, as a backend recorded it; see ``OperatorProfile``."""

    method: str
    iteration_s: float
    plain_s: float | None
    operators: tuple[Operator, ...]
    operators_total: int
    names: tuple[str, ...]
    tracks: tuple[Track, ...]
    calls: tuple[Call, ...]
    calls_total: int


class OperatorProfile(msgspec.Struct, frozen=True, kw_only=True):
    """The operators of one iteration; ``operators --json`` prints exactly this."""

    schema: str = OPERATORS_SCHEMA
    time_utc: str
    config: RunConfig
    device: DeviceSummary
    environment: Environment
    method: str
    """How it was recorded, in words."""
    iteration_s: float
    """Seconds of the iteration while it was recorded, the wait for the device included."""
    plain_s: float | None = None
    """Seconds of the iteration before it, which was not recorded."""
    operators: tuple[Operator, ...]
    """The rows, the longest self time first."""
    operators_total: int
    """Rows there were before ``MAX_OPERATORS``."""
    names: tuple[str, ...]
    tracks: tuple[Track, ...]
    calls: tuple[Call, ...]
    """The longest calls, in order of track, start and depth."""
    calls_total: int
    """Calls that were recorded; ``calls`` holds at most ``MAX_CALLS`` of them."""

    @property
    def on_gpu(self) -> bool:
        """Whether a GPU's kernels were recorded."""
        return any(track.kind == "gpu" for track in self.tracks)

    @property
    def limits(self) -> tuple[str, ...]:
        """What is left out of table and flame chart, a sentence each."""
        said = []
        if self.calls_total > len(self.calls):
            said.append(
                f"The flame chart shows the {count(len(self.calls))} longest of "
                f"{count(self.calls_total)} calls; the table counts all."
            )
        if self.operators_total > len(self.operators):
            said.append(
                f"The table shows the {count(len(self.operators))} longest of "
                f"{count(self.operators_total)} operators."
            )
        return tuple(said)


_PARTS: tuple[tuple[Family, tuple[str, ...]], ...] = (
    ("elementwise", ("optimizer",)),
    ("attention", ("attention", "flash", "fmha", "sdpa")),
    ("convolution", ("conv", "pool", "im2col", "winograd")),
    ("product", ("mm", "linear", "matmul", "gemm", "gemv", "einsum", "dot", "cutlass", "xmma")),
    ("reduction", ("norm", "softmax", "loss", "entropy")),
    ("memory", ("copy", "empty", "clone", "contiguous", "aten::to", "resize", "zeros", "zero_",
                "fill_", "memset", "memcpy", "view", "reshape", "transpose", "permute", "expand",
                "slice", "select", "as_strided", "detach", "alias", "cat", "stack", "squeeze",
                "malloc", "free", "chunk", "split", "narrow", "index", "embedding", "gather",
                "scatter")),
    ("elementwise", ("clamp", "threshold")),
    ("reduction", ("sum", "mean", "var", "max", "min", "reduce", "argm")),
    ("elementwise", ("relu", "gelu", "silu", "sigmoid", "tanh", "add", "mul", "sub", "div", "exp",
                     "log", "sqrt", "pow", "dropout", "where", "elementwise", "foreach", "lerp",
                     "addc", "neg", "abs", "bernoulli")),
)  # fmt: skip
"""Pieces of names, in the order they are looked for: ``native_layer_norm`` before ``add``."""


def family(name: str) -> Family:
    """Return what kind of work an operator or kernel does, as far as its name tells."""
    low = name.lower()
    for found, parts in _PARTS:
        if any(part in low for part in parts):
            return found
    return "other"
