"""A growing series of samples in one array."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuexplorer.core.statistics import middle

MAX_KEPT = 1 << 22


class Series:
    """Samples in order; the oldest quarter goes when ``MAX_KEPT`` is reached."""

    def __init__(self) -> None:
        self._data = np.empty(4096)
        self._length = 0

    def extend(self, samples_s: npt.NDArray[np.float64]) -> None:
        """Append samples."""
        if self._length + len(samples_s) > MAX_KEPT:
            keep = self._data[MAX_KEPT // 4 : self._length].copy()
            self._data[: len(keep)] = keep
            self._length = len(keep)
        while self._length + len(samples_s) > len(self._data):
            self._data = np.concatenate([self._data, np.empty_like(self._data)])
        self._data[self._length : self._length + len(samples_s)] = samples_s
        self._length += len(samples_s)

    def view(self) -> npt.NDArray[np.float64]:
        """Return the samples kept, without copying."""
        return self._data[: self._length]

    def recent_median_s(self, count: int = 64) -> float:
        """Return the median of the latest samples."""
        return middle(self._data[max(0, self._length - count) : self._length])
