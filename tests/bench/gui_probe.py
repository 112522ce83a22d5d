"""Times everything the GUI thread does: each event handled at the top level, and timer gaps."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import numpy as np
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
        (other threads had the processor), seconds that the machine's host kept to itself meanwhile
        (they count as processor seconds, too, where the kernel does not know), when it began, what
        it was."""
        self._queue = WaitForProcessor()
        self._stolen = StolenTime()
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
        own = [e for e in worst if not e["stolen_s"]]
        return {
            "events": self.events,
            "busy_s": round(self.busy_s, 3),
            "longest_s": worst[0]["wall_s"] if worst else None,
            "longest_undisturbed_s": max((e["wall_s"] for e in own), default=None),
            "disturbed": len(worst) - len(own),
            "most_cpu_undisturbed_s": max((e["cpu_s"] for e in own), default=None),
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
        stolen = self._stolen.seconds()
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
                        "stolen_s": round(self._stolen.seconds() - stolen, 2),
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


class StolenTime:
    """Processor time that the machine's host kept to itself, in steps of 10 ms, of all processors.

    An event during which there was none shows what the program itself takes.
    """

    STEAL = 8
    """The place of the figure in the first line of ``/proc/stat``."""

    def __init__(self) -> None:
        try:
            self._file: int | None = os.open("/proc/stat", os.O_RDONLY)
        except OSError:
            self._file = None
        self._tick_s = 1.0 / os.sysconf("SC_CLK_TCK") if self._file is not None else 0.0

    def seconds(self) -> float:
        """Return the sum since the machine started; always 0 where the system won't say."""
        if self._file is None:
            return 0.0
        return int(os.pread(self._file, 200, 0).split()[self.STEAL]) * self._tick_s


class TimerGaps:
    """Gaps between the ticks of a 16 ms timer in the GUI thread."""

    def __init__(self) -> None:
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._host = StolenTime()
        self._last, self._stolen = 0.0, 0.0
        self._gaps: list[float] = []
        self._disturbed: list[bool] = []

    def begin(self) -> None:
        """Start counting."""
        self._gaps, self._disturbed = [], []
        self._last, self._stolen = time.perf_counter(), self._host.seconds()
        self._timer.start()

    def _tick(self) -> None:
        now, stolen = time.perf_counter(), self._host.seconds()
        self._gaps.append(now - self._last)
        self._disturbed.append(stolen > self._stolen)
        self._last, self._stolen = now, stolen

    def end(self) -> dict[str, float]:
        """Stop and return the gaps' quantiles in seconds.

        Undisturbed are those in which the machine's host kept no processor time to itself.
        """
        self._timer.stop()
        gaps = np.array(self._gaps)
        return {
            "ticks": len(gaps),
            "median_s": round(float(np.median(gaps)), 5),
            "p999_s": round(float(np.quantile(gaps, 0.999)), 5),
            "max_s": round(float(gaps.max()), 5),
            "disturbed": int(sum(self._disturbed)),
            "p999_undisturbed_s": round(
                float(np.quantile(gaps[~np.array(self._disturbed)], 0.999)), 5
            ),
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
