"""A sentence for the banner, with what can be done about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Notice:
    """``kind`` is ``info``, ``warning`` or ``bad``; an action of None leads to the sliders."""

    kind: str
    text: str
    actions: tuple[tuple[str, Callable[[], None] | None], ...] = ()
    detail: str = ""
