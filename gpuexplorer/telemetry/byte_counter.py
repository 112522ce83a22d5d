"""The rate of a counter of bytes that starts over, now and then unseen.

NVML's byte counters of the PCIe link "can be wrapped": seen are values below 4 GiB. A fast link
moves that much between two readings. A rate is told only where no other is possible.
"""

from __future__ import annotations

WRAP_B = 1 << 32
"""Where a counter of 32 bits starts over."""
MARGIN = 1.1
"""Readings are not exactly when the counter was read: a link may seem this much too fast."""


class ByteCounter:
    """One direction of a link that moves at most ``most_B_per_s``, None where that is not known."""

    def __init__(self, most_B_per_s: float | None) -> None:
        self._most_B_per_s = most_B_per_s
        self._before: tuple[int, int] | None = None
        self._is_wide = False

    def can_tell(self, interval_s: float, bits: int) -> bool:
        """Return whether readings so far apart give rates, from a value of so many bits."""
        most_B = self._most_B(interval_s)
        return (bits > 32 and self._is_wide) or (most_B is not None and most_B < WRAP_B)

    def rate_B_per_s(self, t_ns: int, value_B: int, bits: int) -> float | None:
        """Return the rate since the last reading, None where it cannot be told for certain.

        ``bits`` is the width of the value's type: 32, or 64, which says nothing of the counter
        until it was seen above 4 GiB. A counter of 32 bits may have started over once and no more;
        one of 64 that fell has begun anew.
        """
        before, self._before = self._before, (t_ns, value_B)
        self._is_wide = self._is_wide or (bits > 32 and value_B >= WRAP_B)
        if before is None or t_ns <= before[0]:
            return None
        interval_s = (t_ns - before[0]) * 1e-9
        if not self.can_tell(interval_s, bits):
            return None
        moved_B = value_B - before[1]
        if moved_B < 0 and bits == 32:
            moved_B += WRAP_B
        most_B = self._most_B(interval_s)
        if moved_B < 0 or (most_B is not None and moved_B > most_B):
            return None
        return moved_B / interval_s

    def _most_B(self, interval_s: float) -> float | None:
        most_B_per_s = self._most_B_per_s
        return None if most_B_per_s is None else MARGIN * most_B_per_s * interval_s


def pcie_B_per_s(generation: int, lanes: int) -> float:
    """Return the most that a PCIe link moves one way: 250 MB/s a lane, doubled each generation."""
    return 250e6 * 2.0 ** (generation - 1) * lanes
