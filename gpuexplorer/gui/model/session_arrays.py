"""Arrays of a session file: what each may hold, as ``.npy``, and samples as columns."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.core.sample_block import Samples
from gpuexplorer.engine.record import MAX_SAMPLES

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
MAX_ROWS = 100_000
"""Rows of a thinned series, and samples of a ghost."""
HEAD_B = 1 << 10
"""Of an array's kind and shape, in a file."""
LATEST_NS = (1 << 62) - 1
LONGEST_S = 1e9


class Column(msgspec.Struct, frozen=True):
    """What an array may hold: floats, or whole numbers of 64 bits, between two ends."""

    least: float
    most: float
    rows: int = MAX_ROWS
    """At most so many."""
    width: int | None = None
    """Numbers in a row; None: the array has one axis."""
    whole: bool = False
    gaps: bool = False
    """Whether a float may be not a number, for what is not known."""
    rises: bool = False
    """Whether the first number of each row is known and never below the one before."""
    must: bool = True
    """Whether it has to be there."""

    @property
    def most_B(self) -> int:
        """Bytes that it takes in a file at the most."""
        return max(1 << 20, HEAD_B + 8 * self.rows * (self.width or 1))

    def check(self, array: Array, name: str) -> None:
        """Raise InputError for an array that cannot be the one of this ``name``."""
        width = array.shape[1] if array.ndim == 2 else None
        kind = np.int64 if self.whole else np.float64
        if array.dtype != kind or width != self.width or len(array) > self.rows:
            raise InputError(f"the array '{name}' has another shape")
        known = array[~np.isnan(array)] if self.gaps else array
        if not ((known >= self.least) & (known <= self.most)).all():
            raise InputError(f"the array '{name}' holds what cannot be")
        first = array if self.width is None else array[:, 0]
        if self.rises and not (np.isfinite(first).all() and (np.diff(first) >= 0).all()):
            raise InputError(f"the array '{name}' runs backwards")


_BATCHES = Column(0, MAX_SAMPLES, rows=MAX_SAMPLES, whole=True)
_SAMPLES = Column(0, LONGEST_S, rows=MAX_SAMPLES)
_SERIES = Column(-LONGEST_S, LONGEST_S, gaps=True, rises=True)
_DRAWING = Column(-LONGEST_S, LONGEST_S, width=2, rises=True)
_COLUMNS = Column(1, 2**53, whole=True, must=False)
"""Launches behind each pair of points of a drawing, where they are not all as many."""
RUN_ARRAYS = {
    "seconds": _SAMPLES,
    "counts": _BATCHES,
    "starts_ns": replace(_BATCHES, most=LATEST_NS, rises=True),
    "launches": replace(_BATCHES, least=1, most=2**31 - 1),
    "clocks_Hz": Column(0, 1e15, rows=MAX_SAMPLES, gaps=True),
    "phases_s": replace(_SAMPLES, width=5, must=False),
    "medians": replace(_SERIES, width=4, must=False),
    "rates": replace(_SERIES, width=5, must=False),
}
"""The last two are those of the current run."""
PAST_ARRAYS = {"drawing": _DRAWING, "launches": _COLUMNS, "rates": replace(_SERIES, width=5)}
PIN_ARRAYS = {"drawing": _DRAWING, "launches": _COLUMNS, "samples": Column(0, LONGEST_S)}
_KINDS = (np.dtype("<f8"), np.dtype("<i8"))


def columns_of(runs: int, past: int, pins: int) -> dict[str, Column]:
    """Return what a file with so many runs, earlier runs and ghosts may hold, by name."""
    parts = (("run", runs, RUN_ARRAYS), ("past", past, PAST_ARRAYS), ("pin", pins, PIN_ARRAYS))
    return {
        f"{part}{number}-{name}": column
        for part, count, columns in parts
        for number in range(count)
        for name, column in columns.items()
    }


def arrays_of(arrays: Arrays, part: str) -> Arrays:
    """Return the arrays of one part, such as ``run0``, by their names there."""
    prefix = f"{part}-"
    return {n.removeprefix(prefix): one for n, one in arrays.items() if n.startswith(prefix)}


def npy(array: Array) -> bytes:
    """Return an array of whole numbers or floats as ``.npy``."""
    stream = io.BytesIO()
    made = np.ascontiguousarray(array, dtype="<i8" if array.dtype.kind in "iu" else "<f8")
    np.lib.format.write_array(stream, made, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def read_array(data: bytes) -> Array:
    """Read one ``.npy`` of whole numbers or floats with one or two axes; InputError otherwise."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        shape, by_columns, kind = np.lib.format.read_array_header_1_0(stream)
    except Exception:  # noqa: BLE001 - a literal can be wrong in more ways than NumPy tells apart
        raise InputError("an array is not one") from None
    if version != (1, 0) or by_columns or kind not in _KINDS or not 1 <= len(shape) <= 2:
        raise InputError("an array of a kind that is not read")
    if min(shape) < 0 or len(data) - stream.tell() != 8 * math.prod(shape):
        raise InputError("an array is cut off")
    return np.frombuffer(data, kind, offset=stream.tell()).reshape(shape)


def sample_arrays(batches: Iterable[Samples]) -> Arrays:
    """Return batches as columns: durations, then one row a batch."""
    held = list(batches)
    clocks = [c for b in held for c in (b.clocks_Hz or (None,) * len(b.counts))]
    launches = [n for b in held for n in (b.launches or (1,) * len(b.counts))]
    found: Arrays = {
        "seconds": np.concatenate([b.durations_s for b in held]) if held else np.empty(0),
        "counts": np.array([c for b in held for c in b.counts], dtype=np.int64),
        "starts_ns": np.array([t for b in held for t in b.starts_ns], dtype=np.int64),
        "launches": np.array(launches, dtype=np.int64),
        "clocks_Hz": np.array([np.nan if c is None else c for c in clocks], dtype=np.float64),
    }
    phases = [b.phases for b in held if b.phases_s]
    if phases:
        found["phases_s"] = np.concatenate(phases)
    return found


def one_batch(arrays: Arrays) -> SampleBatch:
    """Return columns as one batch of batches; InputError when they do not fit each other."""
    seconds, counts, starts, launches, clocks = (
        arrays[name] for name in ("seconds", "counts", "starts_ns", "launches", "clocks_Hz")
    )
    phases = arrays.get("phases_s", np.empty((0, 5)))
    if not len(counts) == len(starts) == len(launches) == len(clocks):
        raise InputError("batches of unequal columns")
    if not len(seconds) or int(counts.sum()) != len(seconds) or len(phases) > len(seconds):
        raise InputError("counts that are not those of the samples")
    return SampleBatch(
        seconds=np.ascontiguousarray(seconds, dtype="<f8").tobytes(),
        counts=tuple(counts.tolist()),
        starts_ns=tuple(starts.tolist()),
        phases_s=np.ascontiguousarray(phases, dtype="<f8").tobytes(),
        launches=tuple(launches.tolist()),
        clocks_Hz=tuple(None if math.isnan(c) else c for c in clocks.tolist()),
    )
