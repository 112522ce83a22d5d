"""Words that come and go with the measurement, held so that they never flicker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")

HOLD_S = 1.0
"""Something must hold so long before it is shown, and be gone so long before it is removed."""
NEW_WORDS_S = 2.0
"""What is shown takes new words, as its figures move on, this seldom."""


class _Held(msgspec.Struct, Generic[T]):
    item: T
    since_s: float
    seen_s: float
    words_s: float
    shown: bool = False


class Steady(Generic[T]):
    """Items by key on their way in and out; times are seconds of any one steady clock.

    ``urgent`` tells from an item's old and new state whether the new one is needed at once.
    """

    def __init__(self, urgent: Callable[[T, T], bool] = lambda old, new: False) -> None:
        self._urgent = urgent
        self._held: dict[str, _Held[T]] = {}
        self._latest_s = 0.0

    def take(self, items: Mapping[str, T], now_s: float, *, at_once: bool = False) -> None:
        """Take in what holds now; ``at_once``: what is shown takes its new words without delay."""
        self._latest_s = now_s
        for key, item in items.items():
            held = self._held.get(key)
            if held is None:
                self._held[key] = _Held(item, now_s, now_s, now_s)
                continue
            held.seen_s = now_s
            due = at_once or not held.shown or now_s - held.words_s >= NEW_WORDS_S
            if due or self._urgent(held.item, item):
                held.item, held.words_s = item, now_s
        for key, held in list(self._held.items()):
            if key in items:
                held.shown = held.shown or now_s - held.since_s >= HOLD_S
            elif not held.shown or now_s - held.seen_s >= HOLD_S:
                del self._held[key]

    @property
    def shown(self) -> dict[str, T]:
        """What is shown, by key, in the order it came."""
        return {key: held.item for key, held in self._held.items() if held.shown}

    @property
    def settled(self) -> bool:
        """Whether nothing is on its way in or out."""
        return all(held.shown and held.seen_s == self._latest_s for held in self._held.values())

    def clear(self) -> None:
        """Forget everything at once."""
        self._held.clear()
