"""What a chart says: panels, axes in base units, series with a role, and how it was measured.

A ``ChartSpec`` is plain data. The window draws it live, ``charts.render`` draws it to a file, and
it travels between processes as msgpack. Values are in SI base units; the renderer adds prefixes.

Two things decide how a series looks, and nothing else does: its *role* says whose word it is
(measured, compulsory, requested, ...) and sets dash, width and hatch; its *colour* is a slot of
the palette and tells series of one role apart. So the three kinds of memory traffic never share a
style, whatever their colours. ``charts.style`` holds both tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.core.text import visible

CHART_SCHEMA = "gpuexplorer/chart/1"

Kind = Literal[
    "line", "points", "step", "histogram", "stems", "hline", "vline", "band", "heat", "outline",
    "spans",
]  # fmt: skip
Role = Literal[
    "measured", "compulsory", "requested", "hardware", "transfer", "pinned", "ceiling", "model"
]  # fmt: skip
Scale = Literal["linear", "log"]
Floats = npt.NDArray[np.float64]


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a chart, whose words are fit to be shown, whatever file they came from."""

    def __post_init__(self) -> None:
        """Replace what no text may hold."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, str):
                made: object = visible(value)
            elif isinstance(value, tuple) and value and isinstance(value[0], str):
                made = tuple(map(visible, value))
            else:
                continue
            if made != value:
                msgspec.structs.force_setattr(self, name, made)


class Axis(_Told, frozen=True, kw_only=True):
    """One axis: what it shows, its base unit, and its range (None: from the data).

    With ``categories``, positions 0, 1, 2, ... carry these words and there is no unit. ``ticks``
    are the only places that carry a number; none: the renderer chooses.
    """

    label: str
    unit: str = ""
    scale: Scale = "linear"
    low: float | None = None
    high: float | None = None
    categories: tuple[str, ...] = ()
    ticks: tuple[float, ...] = ()


class Series(_Told, frozen=True, kw_only=True):
    """One series; build it with ``series``.

    ``line points step``: x and y of equal length. ``histogram``: x holds n + 1 edges, y n values.
    ``stems``: a marker at the end of a thin stem; x positions, y lengths. ``hline vline``: one
    value in y, or in x. ``band``: x, and y as all lower values followed by all upper ones.
    ``heat``: cells at whole positions x and y, coloured by z after the panel's ``z`` axis; a z that
    is no number is a cell that will never have a value, which is hatched, and an infinite one is
    still to come. ``outline``: frames around cells. ``spans``: bars of height 1 that begin at x in
    the row y and are z long, with ``labels`` in those that have room. With ``sideways``, a
    histogram's edges and a stem's positions lie on the y axis and their lengths along x, and so do
    the intervals of points.
    """

    name: str
    kind: Kind
    role: Role
    colour: int = 0
    """Slot in the palette."""
    x_f8: bytes = b""
    y_f8: bytes = b""
    z_f8: bytes = b""
    low_f8: bytes = b""
    high_f8: bytes = b""
    """Ends of the interval around each of some points, NaN for one without; empty for none."""
    sideways: bool = False
    labels: tuple[str, ...] = ()
    """Words beside points or the ends of stems, or in the cells of a heat map, or in spans."""
    keys: tuple[str, ...] = ()
    """What each mark stands for, such as a run's id, where a mark can be pointed at; "" for none.

    Never shown. Marks are the points, stems, cells, or spans of a series.
    """

    @property
    def x(self) -> Floats:
        """The x values as an array."""
        return np.frombuffer(self.x_f8, dtype="<f8")

    @property
    def y(self) -> Floats:
        """The y values as an array."""
        return np.frombuffer(self.y_f8, dtype="<f8")

    @property
    def z(self) -> Floats:
        """The values of cells as an array."""
        return np.frombuffer(self.z_f8, dtype="<f8")

    @property
    def low(self) -> Floats:
        """The lower ends of the intervals as an array."""
        return np.frombuffer(self.low_f8, dtype="<f8")

    @property
    def high(self) -> Floats:
        """The upper ends of the intervals as an array."""
        return np.frombuffer(self.high_f8, dtype="<f8")


class Annotation(_Told, frozen=True, kw_only=True):
    """A short text at a point of a panel, in the axes' units."""

    text: str
    x: float
    y: float


class Panel(_Told, frozen=True, kw_only=True):
    """One pair of axes; ``width`` is its share of the row, ``height`` compares rows."""

    title: str = ""
    x: Axis
    y: Axis
    series: tuple[Series, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    width: float = 1.0
    height: float = 1.0
    share_y: bool = False
    """Use the y range of the panel to the left, and repeat no tick labels."""
    z: Axis | None = None
    """What the colours of a heat map say, with a range; without a label no scale is drawn."""


class ChartSpec(_Told, frozen=True, kw_only=True):
    """A whole chart: rows of panels under one title, with notes on how the figures were taken."""

    schema: str = CHART_SCHEMA
    title: str
    subtitle: str = ""
    """The configuration in words."""
    rows: tuple[tuple[Panel, ...], ...]
    notes: tuple[str, ...] = ()
    """Method, noise, verification, and any thinning of what is drawn."""


def _f8(values: Iterable[float] | Floats) -> bytes:
    array = values if isinstance(values, np.ndarray) else np.fromiter(values, dtype=np.float64)
    return np.ascontiguousarray(array, dtype="<f8").tobytes()


def series(
    name: str,
    kind: Kind,
    role: Role,
    *,
    x: Iterable[float] | Floats = (),
    y: Iterable[float] | Floats = (),
    z: Iterable[float] | Floats = (),
    low: Iterable[float] | Floats = (),
    high: Iterable[float] | Floats = (),
    colour: int = 0,
    sideways: bool = False,
    labels: tuple[str, ...] = (),
    keys: tuple[str, ...] = (),
) -> Series:
    """Return a series; ValueError when the lengths of its values do not fit its kind."""
    made = Series(
        name=name, kind=kind, role=role, colour=colour,
        x_f8=_f8(x), y_f8=_f8(y), z_f8=_f8(z), low_f8=_f8(low), high_f8=_f8(high),
        sideways=sideways, labels=labels, keys=keys,
    )  # fmt: skip
    lengths = len(made.x), len(made.y)
    if len(made.z) != (lengths[0] if kind in ("heat", "spans") else 0):
        raise ValueError(f"a {kind} of {lengths[0]} x and {len(made.z)} z values")
    expected = {
        "histogram": (lengths[1] + 1, lengths[1]),
        "hline": (0, 1),
        "vline": (1, 0),
        "band": (lengths[0], 2 * lengths[0]),
    }.get(kind, (lengths[0], lengths[0]))
    if lengths != expected:
        raise ValueError(f"a {kind} of {lengths[0]} x and {lengths[1]} y values")
    if len(made.low) != len(made.high) or len(made.low) not in (0, lengths[0]):
        raise ValueError(f"a {kind} of {lengths[0]} x values and {len(made.low)} intervals")
    if keys and len(keys) != lengths[0]:
        raise ValueError(f"a {kind} of {lengths[0]} x values and {len(keys)} keys")
    return made


def encode(spec: ChartSpec) -> bytes:
    """Return a chart as msgpack."""
    return msgspec.msgpack.encode(spec)


def decode(data: bytes) -> ChartSpec:
    """Read a chart from msgpack; msgspec.DecodeError when it is not one."""
    return msgspec.msgpack.decode(data, type=ChartSpec)
