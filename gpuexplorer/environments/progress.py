"""How far the making of an environment is, and how it ends early."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from gpuexplorer.core.errors import Cancelled as Cancelled

Phase = Literal["download", "install", "verify"]
PHASES: tuple[Phase, ...] = ("download", "install", "verify")
EVERY_S = 0.1
"""Progress is told no more often than that."""


class SetUpProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far it is."""

    phase: Phase
    done_B: int
    """Bytes of wheels fetched or installed; of ``verify``, checks made."""
    total_B: int
    """Of how many; 0 where that is not known yet."""
    words: str
    """What is being done now, for people: ``torch 2.13.0``."""


class Teller:
    """Tells progress, though not more often than can be seen."""

    def __init__(self, on_progress: Callable[[SetUpProgress], None]) -> None:
        self._on_progress = on_progress
        self._last: tuple[str, str] = ("", "")
        self._due = 0.0

    def __call__(self, phase: Phase, done: int, total: int, words: str) -> None:
        """Tell where the work is, if it is something else than before, or some time has gone."""
        if (phase, words) == self._last and time.monotonic() < self._due:
            return
        self._last, self._due = (phase, words), time.monotonic() + EVERY_S
        done = min(done, total) if total else done
        self._on_progress(SetUpProgress(phase=phase, done_B=done, total_B=total, words=words))


def check(cancel: threading.Event | None) -> None:
    """Raise Cancelled when the event is set.

    What was downloaded is kept, and the same call goes on from there.
    """
    if cancel is not None and cancel.is_set():
        raise Cancelled
