"""A long series of timings that can be drawn at once, however long it is.

Raw samples are kept up to ``CAPACITY``. Beside them stand the least and greatest of every 4, 16,
64, ... samples, so that drawing any stretch costs a few thousand points and no more. What was kept
before the oldest samples went is their coarsest level.
"""

from __future__ import annotations

import mmap
import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpuexplorer.core.sample import SampleBatch

Floats = npt.NDArray[np.float64]

CAPACITY = 1 << 21
"""Raw samples kept of one configuration (32 MB with their times)."""
FACTOR = 4
LEVELS = 6
COARSEST = FACTOR**LEVELS
SLACK = 1 << 17
"""Room for samples that arrive together."""
OWN_PAGES_B = 1 << 20
"""Arrays of so many bytes have memory of their own, which goes back to the system with them."""
MAX_OLDER = 1 << 12
"""Summaries kept of what came before the raw samples."""


@dataclass(frozen=True)
class Drawing:
    """Points to draw, in order; ``stretch`` samples stand behind each pair of points (1: raw)."""

    x: Floats
    y: Floats
    stretch: int


def _pages(length: int) -> Floats:
    """Return an array that nothing was written to yet."""
    if length * 8 < OWN_PAGES_B:
        return np.empty(length)
    if sys.platform == "win32":
        return np.frombuffer(mmap.mmap(-1, length * 8))
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    return np.frombuffer(mmap.mmap(-1, length * 8, flags=private))


class Growing:
    """An array that grows at its end and is cut at its beginning.

    Its memory is asked for at once and taken page by page as it fills: growing by copying would
    make single additions slow. It is the system's own, given back as a whole: where the allocator
    keeps freed memory, small objects come to lie in it, and the next trace finds no room there.
    """

    def __init__(self, capacity: int) -> None:
        self._data: Floats = _pages(capacity)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def view(self) -> Floats:
        """The values; later additions and cuts may change what it shows."""
        return self._data[: self._length]

    def extend(self, values: Floats) -> None:
        """Add values."""
        needed = self._length + len(values)
        if needed > len(self._data):
            grown = _pages(max(needed, 2 * len(self._data)))
            grown[: self._length] = self._data[: self._length]
            self._data = grown
        self._data[self._length : needed] = values
        self._length = needed

    def cut(self, count: int) -> None:
        """Remove the first ``count`` values."""
        rest = self._length - count
        self._data[:rest] = self._data[
            count : self._length
        ]  # in place: no fresh memory to fault in
        self._length = rest


class Trace:
    """Times and durations of one configuration's launches, in seconds."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        if capacity < 4 * COARSEST:
            raise ValueError(f"a trace keeps at least {4 * COARSEST} samples")
        self._capacity = capacity
        room = capacity + SLACK
        self._t = Growing(room)
        self._y = Growing(room)
        self._low = [Growing(room // FACTOR ** (k + 1) + 1) for k in range(LEVELS)]
        self._high = [Growing(room // FACTOR ** (k + 1) + 1) for k in range(LEVELS)]
        self._older: Floats = np.empty((3, 0))
        self.total = 0
        """Samples ever added."""

    def __len__(self) -> int:
        """Number of raw samples kept."""
        return len(self._t)

    @property
    def durations_s(self) -> Floats:
        """The raw samples kept; a view that later additions may leave behind."""
        return self._y.view

    @property
    def start_s(self) -> float:
        """When the first sample ever added began."""
        if self._older.shape[1]:
            return float(self._older[0, 0])
        return float(self._t.view[0]) if len(self._t) else 0.0

    @property
    def end_s(self) -> float:
        """When the latest sample began."""
        return float(self._t.view[-1]) if len(self._t) else 0.0

    def extend(self, times_s: Floats, durations_s: Floats) -> None:
        """Add samples; ``times_s`` must not fall."""
        self._t.extend(times_s)
        self._y.extend(durations_s)
        self.total += len(times_s)
        low: Floats = self._y.view
        high: Floats = low
        for level in range(LEVELS):
            done = len(self._low[level])
            ready = len(low) // FACTOR
            if ready > done:
                part = slice(done * FACTOR, ready * FACTOR)
                self._low[level].extend(low[part].reshape(-1, FACTOR).min(axis=1))
                self._high[level].extend(high[part].reshape(-1, FACTOR).max(axis=1))
            low, high = self._low[level].view, self._high[level].view
        if len(self._t) > self._capacity:
            self._fold(len(self._t) - self._capacity // 2)

    def _fold(self, count: int) -> None:
        """Keep only the coarsest summaries of the oldest ``count`` samples, rounded up."""
        bins = -(-count // COARSEST)
        gone = np.stack(
            [
                self._t.view[: bins * COARSEST : COARSEST],
                self._low[-1].view[:bins],
                self._high[-1].view[:bins],
            ]
        )
        self._older = np.concatenate([self._older, gone], axis=1)
        while self._older.shape[1] > MAX_OLDER:
            self._older = _grouped(self._older, 2)
        self._t.cut(bins * COARSEST)
        self._y.cut(bins * COARSEST)
        for level in range(LEVELS):
            self._low[level].cut(bins * COARSEST // FACTOR ** (level + 1))
            self._high[level].cut(bins * COARSEST // FACTOR ** (level + 1))

    def range_s(self, from_s: float, to_s: float) -> tuple[float, float] | None:
        """Return the least and greatest duration among launches begun in ``from_s..to_s``."""
        drawing = self.draw(from_s, to_s, 64)
        if not len(drawing.y):
            return None
        return float(drawing.y.min()), float(drawing.y.max())

    def draw(self, from_s: float, to_s: float, columns: int) -> Drawing:
        """Return at most about ``4 * columns`` points for the launches begun in ``from_s..to_s``.

        Where there are more, each stretch of samples is its least and its greatest.
        """
        t, y = self._t.view, self._y.view
        first, last = (int(i) for i in np.searchsorted(t, (from_s, to_s), side="left"))
        first, last = max(0, first - 1), min(len(t), last + 1)
        n = last - first
        level = -1
        while level + 1 < LEVELS and n > 2 * columns * FACTOR ** (level + 1):
            level += 1
        if level < 0:
            drawing = Drawing(t[first:last].copy(), y[first:last].copy(), 1)
        else:
            stretch = FACTOR ** (level + 1)
            low, high = self._low[level].view, self._high[level].view
            a, b = first // stretch, min(last // stretch, len(low))
            begins = t[a * stretch : b * stretch : stretch]
            tail = y[b * stretch : last]
            count = b - a + (1 if len(tail) else 0)
            xs: Floats = np.empty(2 * count)
            ys: Floats = np.empty(2 * count)
            xs[0 : 2 * (b - a) : 2] = begins
            xs[1 : 2 * (b - a) : 2] = begins
            ys[0 : 2 * (b - a) : 2] = low[a:b]
            ys[1 : 2 * (b - a) : 2] = high[a:b]
            if len(tail):
                xs[-2:] = t[b * stretch]
                ys[-2:] = tail.min(), tail.max()
            drawing = Drawing(xs, ys, stretch)
        if first == 0 and self._older.shape[1]:
            begin, end = np.searchsorted(self._older[0], (from_s, to_s))
            older = self._older[:, max(0, begin - 1) : end]
            older = _grouped(older, max(1, -(-older.shape[1] // columns)))
            return Drawing(
                np.concatenate([np.repeat(older[0], 2), drawing.x]),
                np.concatenate([older[1:].T.ravel(), drawing.y]),
                max(drawing.stretch, COARSEST),
            )
        return drawing


def _grouped(summaries: Floats, size: int) -> Floats:
    """Join every ``size`` neighbours of summaries with rows (time, least, greatest)."""
    if size == 1 or not summaries.shape[1]:
        return summaries
    at = np.arange(0, summaries.shape[1], size)
    return np.stack(
        [
            summaries[0, at],
            np.minimum.reduceat(summaries[1], at),
            np.maximum.reduceat(summaries[2], at),
        ]
    )


class Trend:
    """A slow series with several columns; when full, every second row goes.

    Rows are ``(t, *values)``; NaN stands for "not known yet".
    """

    def __init__(self, columns: int, most: int = 4096) -> None:
        self._rows: Floats = np.empty((most, columns + 1))
        self._length = 0
        self._every = 1
        self._skipped = 0

    def __len__(self) -> int:
        return self._length

    def add(self, *row: float) -> None:
        """Add a row; after a halving only every second, fourth, ... one is kept."""
        self._skipped += 1
        if self._skipped < self._every:
            return
        self._skipped = 0
        if self._length == len(self._rows):
            half = self._rows[::2].copy()
            self._rows[: len(half)] = half
            self._length = len(half)
            self._every *= 2
        self._rows[self._length] = row
        self._length += 1

    def rows(self) -> Floats:
        """Return all rows as a copy, shape (rows, columns + 1)."""
        return self._rows[: self._length].copy()


def sample_times_s(batch: SampleBatch, offset_ns: int) -> Floats:
    """Return when each sample began, in seconds on the clock that ``offset_ns`` leads to.

    A batch's start is measured; inside a batch the launches are taken to follow each other.
    """
    counts = np.asarray(batch.counts, dtype=np.int64)
    launches = np.asarray(batch.launches or (1,) * len(counts), dtype=np.float64)
    spans = batch.durations_s * np.repeat(launches, counts)
    before = np.cumsum(spans) - spans
    held = counts > 0
    counts = counts[held]
    starts = (np.asarray(batch.starts_ns, dtype=np.int64)[held] + offset_ns) * 1e-9
    first = np.cumsum(counts) - counts
    times: Floats = before + np.repeat(starts - before[first], counts)
    return times
