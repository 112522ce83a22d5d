"""What a view has to do for its results to go into session files."""

from __future__ import annotations

from typing import Protocol


class Part(Protocol):
    """Another view's results, which go into a session file with the rest.

    ``held`` and ``show_held`` are called in the main thread and must be quick; ``encode`` and
    ``decode`` work in another one. What ``decode`` returned is what ``show_held`` takes; that must
    not fail then.
    """

    def held(self) -> object | None:
        """Return what is shown, unchangeable from now on; None when there is nothing to keep."""

    def encode(self, held: object) -> bytes:
        """Return it as JSON."""

    def decode(self, data: bytes, origin: str) -> object:
        """Read it from the file ``origin``; ExplorerError when ``encode`` never wrote it."""

    def show_held(self, held: object | None) -> None:
        """Show it instead of what is shown; None: nothing."""
