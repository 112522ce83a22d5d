"""A long series of timings that can be drawn at once, however long it is.

Raw samples are kept up to ``CAPACITY``. Beside them stand five figures of every 4, 16, 64, ...
samples (least, 5th percentile, median, 95th percentile, greatest), so that drawing any stretch
costs a few thousand points and no more. What was kept before the oldest samples went is their
coarsest level.
"""

from __future__ import annotations

import mmap
import sys
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.core.sample_block import Samples
from gpuexplorer.core.series.thin import (
    FIGURES,
    Counts,
    busy_s,
    figures,
    pauses,
    usual_step_s,
)

Floats = npt.NDArray[np.float64]

CAPACITY = 1 << 20
"""Raw samples kept of one configuration (30 MB with their times and figures)."""
FACTOR = 4
LEVELS = 6
COARSEST = FACTOR**LEVELS
SLACK = 1 << 17
"""Room for samples that arrive together."""
OWN_PAGES_B = 1 << 20
"""Arrays of so many bytes have memory of their own, which goes back to the system with them."""
MAX_OLDER = 1 << 12
"""Summaries kept of what came before the raw samples."""


class Column(NamedTuple):
    """What stands at one place of a drawing: a launch, or a pair of points for many."""

    begin_s: float
    least_s: float
    median_s: float
    most_s: float
    launches: int


class Drawing(msgspec.Struct, frozen=True):
    """Points to draw, in order; at most ``stretch`` samples stand behind each pair (1: raw points).

    A pair has the same x twice, where its first sample began, and the least and greatest duration.
    """

    x: Floats
    y: Floats
    stretch: int
    inner: Floats = msgspec.field(default_factory=lambda: np.empty((3, 0)))
    """5th percentile, median and 95th of each pair's samples, shape (3, pairs).

    Of no pair for raw points, and where it was not kept.
    """
    launches: Counts = msgspec.field(default_factory=lambda: np.empty(0, np.int64))
    """Samples behind each pair; of no pair for raw points, and where all have ``stretch``."""

    def outline(self, start_s: float) -> Drawing:
        """Return it with times from ``start_s``, and of each pair no more than its ends."""
        return Drawing(self.x - start_s, self.y, self.stretch, launches=self.launches)

    def pauses(self) -> npt.NDArray[np.intp]:
        """Return the points, or pairs, after which nothing was measured for a while."""
        if self.stretch == 1:
            return pauses(self.x, self.y)
        return pauses(self.x[::2], self._busy_s(), self._counts())

    def _counts(self) -> Counts:
        """Return how many samples stand behind each pair."""
        return (
            self.launches
            if len(self.launches)
            else np.full(len(self.x) // 2, self.stretch, np.int64)
        )

    def _busy_s(self) -> Floats:
        """Return about how long each pair's samples took; at the least, where no more was kept."""
        inner = self.inner if self.inner.size else np.tile(self.y[::2], (3, 1))
        return busy_s(inner, self._counts())

    @property
    def fewest(self) -> int:
        """The fewest samples behind a pair; the last one may still be filling."""
        return int(self.launches[:-1].min()) if len(self.launches) > 1 else self.stretch

    def at(self, time_s: float) -> Column | None:
        """Return the point or pair begun last before a time.

        None where there is none, as in a pause. Without a median the middle of the two stands for
        it.
        """
        begins = self.x if self.stretch == 1 else self.x[::2]
        index = int(np.searchsorted(begins, time_s, side="right")) - 1
        if index < 0:
            return None
        if index in self.pauses():
            lasted_s = self.y[index] if self.stretch == 1 else self.ends()[index] - begins[index]
            if time_s > begins[index] + lasted_s:
                return None
        if self.stretch == 1:
            only = float(self.y[index])
            return Column(float(begins[index]), only, only, only, 1)
        low, high = (float(end) for end in self.y[2 * index : 2 * index + 2])
        middle = float(self.inner[1, index]) if self.inner.size else (low + high) / 2
        launches = int(self._counts()[index])
        return Column(float(begins[index]), low, middle, high, launches)

    def ends(self) -> Floats:
        """Return where each pair's samples end: at the next one, or before a pause."""
        begins, counts = self.x[::2], self._counts()
        usual = begins + np.maximum(usual_step_s(begins, counts) * counts, self._busy_s())
        ends = np.append(begins[1:], usual[-1:])
        after = self.pauses()
        ends[after] = usual[after]
        return ends


def _pages(rows: int, length: int) -> Floats:
    """Return an array that nothing was written to yet."""
    count = rows * length
    if count * 8 < OWN_PAGES_B:
        return np.empty((rows, length))
    if sys.platform == "win32":
        return np.frombuffer(mmap.mmap(-1, count * 8)).reshape(rows, length)
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    return np.frombuffer(mmap.mmap(-1, count * 8, flags=private)).reshape(rows, length)


class GrowingRows:
    """Rows of one length that grow at their end and are cut at their beginning.

    Their memory is asked for at once and taken page by page as it fills: growing by copying would
    make single additions slow. It is the system's own, given back as a whole: where the allocator
    keeps freed memory, small objects come to lie in it, and the next trace finds no room there.
    """

    def __init__(self, rows: int, capacity: int) -> None:
        self._data: Floats = _pages(rows, capacity)
        self._length = 0

    def __len__(self) -> int:
        """Return how many values a row has."""
        return self._length

    @property
    def rows(self) -> Floats:
        """The values; later additions and cuts may change what it shows."""
        return self._data[:, : self._length]

    def extend(self, values: Floats) -> None:
        """Add values, shape (rows, values) or those of the only row."""
        needed = self._length + values.shape[-1]
        if needed > self._data.shape[1]:
            grown = _pages(len(self._data), max(needed, 2 * self._data.shape[1]))
            grown[:, : self._length] = self.rows
            self._data = grown
        self._data[:, self._length : needed] = values
        self._length = needed

    def cut(self, count: int) -> None:
        """Remove the first ``count`` values of each row."""
        rest = self._length - count
        for row in self._data:  # in place: no fresh memory to fault in
            row[:rest] = row[count : self._length]
        self._length = rest


class Growing(GrowingRows):
    """An array that grows at its end and is cut at its beginning."""

    def __init__(self, capacity: int) -> None:
        super().__init__(1, capacity)

    @property
    def view(self) -> Floats:
        """The values; later additions and cuts may change what it shows."""
        return self._data[0, : self._length]


class Trace:
    """Times and durations of one configuration's launches, in seconds."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        if capacity < 4 * COARSEST:
            raise ValueError(f"a trace keeps at least {4 * COARSEST} samples")
        self._capacity = capacity
        room = capacity + SLACK
        self._t = Growing(room)
        self._y = Growing(room)
        self._levels = [GrowingRows(FIGURES, room // FACTOR ** (k + 1) + 1) for k in range(LEVELS)]
        self._older: Floats = np.empty((2 + FIGURES, 0))
        """Rows (time, samples, least, 5th percentile, median, 95th percentile, greatest)."""
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
        raw = self._y.view
        for level, kept in enumerate(self._levels):
            stretch = FACTOR ** (level + 1)
            done, ready = len(kept), len(raw) // stretch
            if ready > done:
                kept.extend(figures(raw[done * stretch : ready * stretch].reshape(-1, stretch)))
        if len(self._t) > self._capacity:
            self._fold(len(self._t) - self._capacity // 2)

    def _fold(self, count: int) -> None:
        """Keep only the coarsest summaries of the oldest ``count`` samples, rounded up."""
        bins = -(-count // COARSEST)
        begins = self._t.view[: bins * COARSEST : COARSEST]
        counts = np.full(bins, float(COARSEST))
        gone = np.vstack([begins, counts, self._levels[-1].rows[:, :bins]])
        self._older = np.concatenate([self._older, gone], axis=1)
        while self._older.shape[1] > MAX_OLDER:
            self._older = _grouped(self._older, 2)
        self._t.cut(bins * COARSEST)
        self._y.cut(bins * COARSEST)
        for level, kept in enumerate(self._levels):
            kept.cut(bins * COARSEST // FACTOR ** (level + 1))

    def within(self, from_s: float, to_s: float, most: int) -> Floats:
        """Return the durations of the latest ``most`` raw launches begun in ``from_s..to_s``."""
        first, last = (int(i) for i in np.searchsorted(self._t.view, (from_s, to_s)))
        return self._y.view[max(first, last - most) : last]

    def range_s(self, from_s: float, to_s: float) -> tuple[float, float] | None:
        """Return the least and greatest duration among launches begun in ``from_s..to_s``."""
        drawing = self.draw(from_s, to_s, 64)
        if not len(drawing.y):
            return None
        return float(drawing.y.min()), float(drawing.y.max())

    def draw(self, from_s: float, to_s: float, columns: int) -> Drawing:
        """Return at most about ``4 * columns`` points for the launches begun in ``from_s..to_s``.

        Where there are more, each stretch of samples is its least and its greatest, with their
        median.
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
            kept = self._levels[level].rows
            a, b = first // stretch, min(last // stretch, kept.shape[1])
            begins, found = t[a * stretch : b * stretch : stretch], kept[:, a:b]
            counts = np.full(b - a, stretch, np.int64)
            if last > b * stretch:
                begins = np.append(begins, t[b * stretch])
                found = np.append(found, figures(y[np.newaxis, b * stretch : last]), axis=1)
                counts = np.append(counts, last - b * stretch)
            drawing = _pairs(begins, found, counts)
        if first == 0 and self._older.shape[1]:
            begin, end = np.searchsorted(self._older[0], (from_s, to_s))
            older = self._older[:, max(0, begin - 1) : end + 1]
            older = _grouped(older, max(1, -(-older.shape[1] // columns)))
            if drawing.stretch == 1:
                each = np.ones(len(drawing.x), np.int64)
                drawing = _pairs(drawing.x, np.tile(drawing.y, (FIGURES, 1)), each)
            before = _pairs(older[0], older[2:], older[1].astype(np.int64))
            return Drawing(
                np.concatenate([before.x, drawing.x]),
                np.concatenate([before.y, drawing.y]),
                max(before.stretch, drawing.stretch),
                np.concatenate([before.inner, drawing.inner], axis=1),
                np.concatenate([before.launches, drawing.launches]),
            )
        return drawing


def _pairs(begins: Floats, found: Floats, launches: Counts) -> Drawing:
    """Return the drawing of stretches of so many samples with their ``figures``."""
    most = int(launches.max())
    return Drawing(np.repeat(begins, 2), found[[0, -1]].T.ravel(), most, found[1:-1], launches)


def _grouped(summaries: Floats, size: int) -> Floats:
    """Join every ``size`` neighbours of summaries with rows (time, samples, ``figures``).

    Medians of their percentiles stand for those of all their samples, which are gone.
    """
    if size == 1 or not summaries.shape[1]:
        return summaries
    count = summaries.shape[1]
    whole = count - count % size
    found = _joined(summaries[:, :whole].reshape(len(summaries), -1, size))
    if whole == count:
        return found
    return np.concatenate([found, _joined(summaries[:, np.newaxis, whole:])], axis=1)


def _joined(groups: Floats) -> Floats:
    """Join summaries of shape (time, samples and figures, groups, members)."""
    found: Floats = np.median(groups, axis=2)
    found[0], found[1] = groups[0, :, 0], groups[1].sum(axis=1)
    found[2], found[-1] = groups[2].min(axis=1), groups[-1].max(axis=1)
    return found


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


def sample_times_s(batch: Samples, offset_ns: int) -> Floats:
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
