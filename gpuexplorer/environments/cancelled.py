"""How long work in here ends early."""

from __future__ import annotations

import threading


class Cancelled(Exception):
    """Somebody set the event; what was downloaded is kept, and the same call goes on from there."""


def check(cancel: threading.Event | None) -> None:
    """Raise Cancelled when the event is set."""
    if cancel is not None and cancel.is_set():
        raise Cancelled
