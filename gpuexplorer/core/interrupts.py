"""Ctrl-C waits where a step has to be whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Have an interrupt act when the block has ended, and a second one at once.

    Python raises KeyboardInterrupt between any two instructions: within a library that is about to
    note that a transaction has begun, say, which nothing then ends. Only the main thread gets it;
    elsewhere this does nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    held: list[FrameType | None] = []

    def hold(number: int, frame: FrameType | None) -> None:
        if held:
            before(number, frame)
        held.append(frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(signal.SIGINT, held[0])
