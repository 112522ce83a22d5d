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
LOOK_EVERY_S = 1.0
STOOD_STILL_S = 2.0
"""A longer gap between two readings of the clock was no waiting: the process was stopped."""


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
        self._read_at = self._used_s = 0.0
        """When the clock was read last, and how long the process had computed by then."""
        self._closed = False
        self._watcher = threading.Thread(target=self._watch, name="overdue", daemon=True)
        self._watcher.start()

    def stage(self, name: str, deadline_s: float | None) -> None:
        """Begin a stage; None: it may take as long as it likes."""
        with self._changed:
            self._stage, self._allowed_s = name, deadline_s
            self._begin_anew()
            self._changed.notify()

    def alive(self) -> None:
        """Say that something came of it; the time begins anew."""
        with self._changed:
            self._begin_anew()

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
                left_s = self._left_s()
                if left_s > 0:
                    self._changed.wait(min(left_s, LOOK_EVERY_S))
                    continue
                stage, allowed_s = self._stage, self._allowed_s
                break
            else:
                return
        self._expired(stage, allowed_s, self.place())

    def _begin_anew(self) -> None:
        self._read_at, self._used_s = time.monotonic(), time.process_time()
        self._due = self._read_at + (self._allowed_s or 0.0)

    def _left_s(self) -> float:
        """Return what is left of the stage's time (the lock is held).

        Time for which the process was stopped does not count; one that computed meanwhile, without
        letting go of the interpreter, was not stopped.
        """
        now, used_s = time.monotonic(), time.process_time()
        gap_s = now - self._read_at
        if gap_s > STOOD_STILL_S and used_s - self._used_s < gap_s / 2:
            self._due += gap_s
        self._read_at, self._used_s = now, used_s
        return self._due - now

    def place(self) -> str:
        """Return file, line and function of the user's own where the thread is; empty for none."""
        frame = sys._current_frames().get(self._thread)
        while frame is not None:
            if frame.f_code.co_filename == self._origin:
                return f"{self._origin}:{frame.f_lineno} (in function {frame.f_code.co_name})"
            frame = frame.f_back
        return ""
