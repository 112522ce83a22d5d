"""How many launches of a run fell between two moments, and how busy the device was."""

from __future__ import annotations

from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Timeline(msgspec.Struct, frozen=True, dict=True):
    """The steps of a run: when each began (ns), its launches and their seconds on the device.

    Between two steps' starts the launches are taken to be spread evenly. The last step's end is
    not known on the host's clock, so nothing is said beyond its start.
    """

    starts_ns: Integers
    counts: Integers
    device_s: Floats

    @property
    def start_ns(self) -> int:
        """When the first step began."""
        return int(self.starts_ns[0])

    @property
    def end_ns(self) -> int:
        """When the last step began."""
        return int(self.starts_ns[-1])

    def launches(self, from_ns: float, to_ns: float) -> float:
        """Return the launches between two moments of the run."""
        return self._between(self._launches_before, from_ns, to_ns)

    def busy_s(self, from_ns: float, to_ns: float) -> float:
        """Return the seconds that launches took on the device between two moments."""
        return self._between(self._busy_before_s, from_ns, to_ns)

    # Worked out once: every reading of a run asks, and a long run has a step for each batch.

    @cached_property
    def _begins_ns(self) -> Floats:
        return self.starts_ns.astype(np.float64)

    @cached_property
    def _launches_before(self) -> Floats:
        return _sums_before(self.counts.astype(np.float64))

    @cached_property
    def _busy_before_s(self) -> Floats:
        return _sums_before(self.device_s)

    def _between(self, before: Floats, from_ns: float, to_ns: float) -> float:
        low, high = np.interp([from_ns, to_ns], self._begins_ns, before)
        return float(high - low)


def _sums_before(amounts: Floats) -> Floats:
    """Return what all steps before each amount to."""
    return np.concatenate([[0.0], np.cumsum(amounts[:-1])])
