"""Say where a model's file is when it does not come back, and end the engine that runs it.

The client ends an engine that is silent for too long; all it can tell is that it was silent. From
within the process the line can be named, as long as the interpreter still runs.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

SLACK_S = 5.0
"""The client waits this much longer, so that the word from within comes first."""


class Overdue:
    """Watches the thread that makes it; ``expired`` is called from another one, once.

    It is told the stage, how long it was given, and file and line where the thread is.
    """

    def __init__(self, origin: str, expired: Callable[[str, float, str], None]) -> None:
        """``origin`` is the file whose lines are named."""
        self._origin, self._expired = origin, expired
        self._thread = threading.get_ident()
        self._changed = threading.Condition()
        self._stage = ""
        self._allowed_s: float | None = None
        self._due = 0.0
        self._closed = False
        self._watcher = threading.Thread(target=self._watch, name="overdue", daemon=True)
        self._watcher.start()

    def stage(self, name: str, deadline_s: float | None) -> None:
        """Begin a stage; None: it may take as long as it likes."""
        with self._changed:
            self._stage, self._allowed_s = name, deadline_s
            self._due = time.monotonic() + (deadline_s or 0.0)
            self._changed.notify()

    def alive(self) -> None:
        """Say that something came of it; the time begins anew."""
        with self._changed:
            self._due = time.monotonic() + (self._allowed_s or 0.0)

    def close(self) -> None:
        """Watch no more."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._watcher.join(1.0)

    def _watch(self) -> None:
        with self._changed:
            while not self._closed:
                if self._allowed_s is None:
                    self._changed.wait()
                    continue
                left_s = self._due - time.monotonic()
                if left_s > 0:
                    self._changed.wait(left_s)
                    continue
                stage, allowed_s = self._stage, self._allowed_s
                break
            else:
                return
        self._expired(stage, allowed_s, self.place())

    def place(self) -> str:
        """Return file, line and function of the user's own where the thread is; empty for none."""
        frame = sys._current_frames().get(self._thread)
        while frame is not None:
            if frame.f_code.co_filename == self._origin:
                return f"{self._origin}:{frame.f_lineno} (in {frame.f_code.co_name})"
            frame = frame.f_back
        return ""
