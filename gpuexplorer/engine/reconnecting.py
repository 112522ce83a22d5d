"""When another machine is tried to be reached again, later each time."""

from __future__ import annotations

import time

RECONNECT_AFTER_S = (0.0, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Waits before each try to reach another machine again; the last one repeats."""
RECONNECT_FOR_S = 600.0
"""How long another machine is tried to be reached again."""


class LinkWatch:
    """The tries since the link to another machine broke."""

    def __init__(self) -> None:
        self.due: float | None = None
        """When the next try is due; None for none."""
        self._tries = 0
        self._since: float | None = None

    def plan(self) -> bool:
        """Plan the next try; return False when they have lasted long enough."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if now > self._since + RECONNECT_FOR_S:
            return False
        self.due = now + RECONNECT_AFTER_S[min(self._tries, len(RECONNECT_AFTER_S) - 1)]
        self._tries += 1
        return True
