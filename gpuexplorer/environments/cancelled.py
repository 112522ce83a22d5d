"""How long work in here ends early."""

from __future__ import annotations

import threading

from gpuexplorer.core.errors import Cancelled as Cancelled


def check(cancel: threading.Event | None) -> None:
    """Raise Cancelled when the event is set.

    What was downloaded is kept, and the same call goes on from there.
    """
    if cancel is not None and cancel.is_set():
        raise Cancelled
