"""Ctrl-C, and being told to end by the system: where they wait, and where they are waited for."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")

ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals by which a program is told to end."""
LOOK_S = 0.2
"""How long threads are waited for at a time: Python does not see a signal that comes at the moment
when it begins to wait without an end."""


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


def at_once(
    work: Callable[[A], B],
    items: Iterable[A],
    threads: int,
    give_up: Callable[[], object] = lambda: None,
) -> list[B]:
    """Return what ``work`` returns for each item, in order, done in so many threads.

    Whatever it raises first is raised, and so is an interrupt, within a moment: before that no
    further item is begun, ``give_up`` is called, and what is under way comes to its end.
    """
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

    with ThreadPoolExecutor(threads) as pool:
        try:
            every = [pool.submit(work, one) for one in items]
            left = set(every)
            while left:
                done, left = wait(every, LOOK_S, FIRST_EXCEPTION)
                for one in done:
                    one.result()
            return [one.result() for one in every]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            give_up()
            raise
