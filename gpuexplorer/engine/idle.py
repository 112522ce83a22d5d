"""Whether processes leave the processor alone, and how long they wait for a core of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator

LOOK_S = 0.005
"""Between two looks at what a process has used."""
BUSY = 0.2
"""Above this share of one core a process is not idle: worker threads wait in loops for a while."""
AT_MOST_S = 0.5
_SCHEDULER_CLOCK = 2
"""Linux: the clock that counts what all threads of a process have run, in nanoseconds."""


def cpu_time_s(pid: int) -> float | None:
    """Return the seconds of processor time that a process has used; None when it is gone."""
    try:
        if sys.platform == "linux":  # elsewhere, and in psutil, it is known to 10 ms
            return time.clock_gettime(~pid << 3 | _SCHEDULER_CLOCK)
    except OSError:
        pass
    import psutil

    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return None
    return float(times.user + times.system)


def is_runnable(pid: int) -> bool:
    """Whether a thread of a process runs or waits for a core; False where that is not known."""
    for _, told in _of_threads(pid, "stat"):
        if told.rpartition(b")")[2].split(maxsplit=1)[:1] == [b"R"]:
            return True
    return False


def core_waits_s(pid: int) -> dict[str, float]:
    """Return how long each thread of a process has waited for a core so far, in seconds.

    Empty where that is not known: only Linux tells (proc_pid_schedstat).
    """
    told = ((thread, figures.split()) for thread, figures in _of_threads(pid, "schedstat"))
    return {thread: int(figures[1]) * 1e-9 for thread, figures in told if len(figures) > 1}


def _of_threads(pid: int, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield what the system tells of each thread of a process, by the thread's number."""
    folder = f"/proc/{pid}/task"
    try:
        threads = os.listdir(folder)
    except OSError:
        return
    for thread in threads:
        try:
            with open(f"{folder}/{thread}/{name}", "rb") as file:
                yield thread, file.read()
        except OSError:
            continue  # it has ended meanwhile


def wait_until_idle(pids: Iterable[int], at_most_s: float = AT_MOST_S) -> bool:
    """Wait until processes have left the processor alone for a moment; False when they do not."""
    watched = list(pids)
    if not watched:
        return True
    until = time.monotonic() + at_most_s
    before, since = _used_s(watched), time.monotonic()
    while True:
        time.sleep(LOOK_S)
        used, now = _used_s(watched), time.monotonic()
        if used - before < BUSY * (now - since) and not any(map(is_runnable, watched)):
            return True
        if now >= until:
            return False
        before, since = used, now


def _used_s(pids: Iterable[int]) -> float:
    return sum(cpu_time_s(pid) or 0.0 for pid in pids)
