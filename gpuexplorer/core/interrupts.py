"""Ctrl-C, and being told to end by the system, wait where a step has to be whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals by which a program is told to end."""


class _Hold:
    """Stands for what handles such signals, and notes the first one."""

    def __init__(self, before: dict[int, Callable[[int, FrameType | None], Any]]) -> None:
        self._before = before
        self.first: tuple[int, FrameType | None] | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.first is not None:
            self._before[number](number, frame)
        self.first = number, frame


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Have an interrupt act when the block has ended, and a second one at once.

    Python raises KeyboardInterrupt between any two instructions: within a library that is about to
    note that a transaction has begun, say, which nothing then ends. Within another such block, and
    in other threads than the main one, which alone gets it, this does nothing. Also a decorator.
    """
    handlers = {number: signal.getsignal(number) for number in ENDING}
    nested = any(isinstance(handler, _Hold) for handler in handlers.values())
    if nested or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: handler for number, handler in handlers.items() if callable(handler)}
    hold = _Hold(before)
    for number in before:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if hold.first is not None:
            number, frame = hold.first
            before[number](number, frame)
