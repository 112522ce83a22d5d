"""Tell an engine or a program that was suspended from a hang.

- An engine that is suspended alone (SIGSTOP) is noticed after ``SILENT_S`` without a word and
  waited for: a suspended process is mostly continued, and nothing is lost when it works on. One
  that is not continued within ``PATIENCE_S`` is ended and replaced, so that nothing waits for ever.
  Until then its stage's deadline does not count.
- This program is suspended by Ctrl-Z in a shell, by a scheduler, or with the whole machine. Its
  engine, in a process group of its own, may have worked on or stood still as well; either way its
  messages were not read, so that time counts towards no deadline. A caller that does not call
  ``poll`` for so long is the same case.
"""

from __future__ import annotations

import os
import time
from typing import Protocol

SILENT_S = 2.0
"""Silence after which the system is asked whether the engine was suspended."""
LOOK_EVERY_S = 1.0
"""Time between two looks, and the most that is waited between two readings of the clock."""
AWAY_S = 3.0
"""A longer gap between two readings of the clock was no waiting: this program stood still."""
PATIENCE_S = 10.0
"""How long a suspended engine may take to be continued."""


def not_continued() -> str:
    """Return that an engine was suspended and not continued in time."""
    if os.name == "posix":
        return (
            f"the engine was suspended from outside (SIGSTOP), not continued within "
            f"{PATIENCE_S:.0f} s, and so ended"
        )
    return (
        f"the engine was suspended from outside, not continued within {PATIENCE_S:.0f} s, and so "
        "ended"
    )


class Suspendable(Protocol):
    """A process that tells whether it is suspended."""

    def is_suspended(self) -> bool: ...


class SuspensionWatch:
    """What is known of suspensions, of the engine's and of this program's own."""

    def __init__(self) -> None:
        self.since: float | None = None
        """Since when the engine is known to be suspended."""
        self._read_at = self._heard_at = self._looked_at = time.monotonic()

    @property
    def due(self) -> float | None:
        """When a suspended engine is given up; None while none is suspended."""
        return None if self.since is None else self.since + PATIENCE_S

    def away_s(self) -> float:
        """Return how long this program stood still since it was asked last, 0 for not at all."""
        now = time.monotonic()
        gap_s, self._read_at = now - self._read_at, now
        if gap_s <= AWAY_S:
            return 0.0
        self._heard_at = now
        if self.since is not None:
            self.since += gap_s
        return gap_s

    def heard(self) -> bool:
        """Note that something came; return whether an engine was suspended until now."""
        self._heard_at = time.monotonic()
        was, self.since = self.since, None
        return was is not None

    def look(self, process: Suspendable, *, at_once: bool = False) -> bool:
        """Look, if that is due, whether the process is suspended; return whether that changed."""
        now = time.monotonic()
        if not at_once and now < max(self._heard_at + SILENT_S, self._looked_at + LOOK_EVERY_S):
            return False
        self._looked_at = now
        suspended, was = process.is_suspended(), self.since is not None
        if suspended != was:
            self.since = now if suspended else None
        return suspended != was
