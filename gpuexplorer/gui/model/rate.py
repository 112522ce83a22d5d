"""How fast something comes in."""

from __future__ import annotations

import time
from collections import deque

RATE_WINDOW_S = 1.5


class Rate:
    """Counts what came in during the last ``RATE_WINDOW_S``."""

    def __init__(self) -> None:
        self._counts: deque[tuple[float, int]] = deque()

    def add(self, number: int) -> None:
        """Note that so many came in now."""
        self._counts.append((time.monotonic(), number))

    def clear(self) -> None:
        """Begin anew."""
        self._counts.clear()

    @property
    def per_s(self) -> float | None:
        """How many came in a second, lately; None while nothing comes."""
        now = time.monotonic()
        while self._counts and self._counts[0][0] < now - RATE_WINDOW_S:
            self._counts.popleft()
        if len(self._counts) < 2:
            return None
        span = now - self._counts[0][0]
        return sum(n for _, n in self._counts) / span if span > 0 else None
