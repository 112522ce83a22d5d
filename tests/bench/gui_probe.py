"""Times everything the GUI thread does: each event handled at the top level, and timer gaps."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import numpy as np
import psutil
from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication

TICK_MS = 16


class ProbeApplication(QApplication):
    """An application that keeps the duration of every top-level event (slot, timer, repaint)."""

    def __init__(self, argv: list[str]) -> None:
        super().__init__(argv)
        self.recording = False
        self.longest: list[dict[str, float | str]] = []
        """The longest events: wall and processor seconds, seconds ready to run but not running
        (other threads or the machine's host had the processor), when it began, what it was."""
        self._queue = WaitForProcessor()
        self.events = 0
        self.busy_s = 0.0
        self._depth = 0
        self._floor_s = 0.0
        self._began_at = 0.0

    def begin(self) -> None:
        """Start a recording."""
        self.longest, self.events, self.busy_s, self._floor_s = [], 0, 0.0, 0.0
        self._began_at = time.perf_counter()
        self.recording = True

    def end(self) -> dict[str, object]:
        """End a recording and return its figures."""
        self.recording = False
        worst = self._sorted()
        return {
            "events": self.events,
            "busy_s": round(self.busy_s, 3),
            "longest_s": worst[0]["wall_s"] if worst else None,
            "most_cpu_s": max((e["cpu_s"] for e in worst), default=None),
            "longest_events": worst[:8],
        }

    def _sorted(self) -> list[dict[str, float | str]]:
        return sorted(self.longest, key=lambda e: -float(e["wall_s"]))

    def notify(self, receiver: QObject, event: QEvent) -> bool:
        """Handle an event, timing it when it is not nested in another."""
        if not self.recording or self._depth:
            return bool(super().notify(receiver, event))
        kind = event.type()
        self._depth = 1
        began, cpu, queued = time.perf_counter(), time.thread_time(), self._queue.seconds()
        try:
            return bool(super().notify(receiver, event))
        finally:
            took = time.perf_counter() - began
            self._depth = 0
            self.events += 1
            self.busy_s += took
            if took > self._floor_s:
                name = type(receiver).__name__
                self.longest.append(
                    {
                        "wall_s": round(took, 5),
                        "cpu_s": round(time.thread_time() - cpu, 5),
                        "queued_s": round(self._queue.seconds() - queued, 5),
                        "at_s": round(began - self._began_at, 2),
                        "what": f"{name}:{kind.name}",
                    }
                )
                if len(self.longest) > 200:
                    self.longest = self._sorted()[:50]
                    self._floor_s = float(self.longest[-1]["wall_s"])


class WaitForProcessor:
    """How long this thread was ready to run and did not; always 0 where the system won't say."""

    def __init__(self) -> None:
        try:
            self._file: int | None = os.open(
                f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY
            )
        except OSError:
            self._file = None

    def seconds(self) -> float:
        """Return the sum since the thread began."""
        if self._file is None:
            return 0.0
        return int(os.pread(self._file, 100, 0).split()[1]) * 1e-9


def stolen_s() -> float | None:
    """Return the processor time that the machine's host kept to itself; None where not known."""
    times = psutil.cpu_times()
    return float(times.steal) if hasattr(times, "steal") else None


class TimerGaps:
    """Gaps between the ticks of a 16 ms timer in the GUI thread."""

    def __init__(self) -> None:
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._last = 0.0
        self._gaps: list[float] = []

    def begin(self) -> None:
        """Start counting."""
        self._gaps, self._last = [], time.perf_counter()
        self._timer.start()

    def _tick(self) -> None:
        now = time.perf_counter()
        self._gaps.append(now - self._last)
        self._last = now

    def end(self) -> dict[str, float]:
        """Stop and return the gaps' quantiles in seconds."""
        self._timer.stop()
        gaps = np.array(self._gaps)
        return {
            "ticks": len(gaps),
            "median_s": round(float(np.median(gaps)), 5),
            "p999_s": round(float(np.quantile(gaps, 0.999)), 5),
            "max_s": round(float(gaps.max()), 5),
        }


def wait_until(condition: Callable[[], bool], timeout_s: float) -> bool:
    """Handle events until ``condition`` holds; False when it does not in time."""
    limit = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > limit:
            return False
        QApplication.processEvents()
        if not condition():
            time.sleep(0.0005)
    return True
