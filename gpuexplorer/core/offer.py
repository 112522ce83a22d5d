"""One choice of a list, as the window offers it."""

from __future__ import annotations

import msgspec


class Offer(msgspec.Struct, frozen=True):
    """One choice of a list; ``reason`` says why it cannot be chosen here, ``tip`` more of it.

    Choices of one ``group`` stand under its name. ``line`` is what each is, in one sentence.
    """

    name: str
    title: str
    reason: str | None = None
    tip: str = ""
    group: str = ""
    line: str = ""
