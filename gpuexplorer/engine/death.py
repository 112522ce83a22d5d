"""How an engine's process ended, in a sentence: want of memory is told from other ends."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

_COUNTS = Path("/proc/vmstat")
_SHORT = re.compile(r"bad_alloc|out of memory|cannot allocate memory|MemoryError", re.IGNORECASE)
_LAST_LINES = 10
_BAD_ACCESS = {"SIGSEGV", "SIGBUS"}
_SAID = re.compile(r"^gpuexplorer: (the kernel .* outside array .*)$")
"""What the engine prints when it ends over an access that it had noted."""
_CAUSES = {
    "SIGSEGV": "a kernel or driver touched memory that is not its own",
    "SIGBUS": "a kernel or driver touched memory that is not its own",
    "SIGABRT": "a library found its memory damaged or gave up",
    "SIGILL": "it met an instruction this processor does not have",
    "SIGFPE": "a kernel divided by zero",
}
_FROM_OUTSIDE = {"SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"}
"""What a person or the system ends a process with; nothing that runs in it is the reason."""
_WINDOWS_SHORT = {0xC0000017, 0xC000012D}
"""STATUS_NO_MEMORY and STATUS_COMMITMENT_LIMIT."""


def killed_for_memory() -> int | None:
    """Return how many processes the system has ended for want of memory since it started.

    None where it does not say. Linux counts them for the whole machine, control groups included.
    """
    try:
        text = _COUNTS.read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"^oom_kill (\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else None


def how_it_ended(
    status: int | None, killed_before: int | None, output: Iterable[str] = (), stage: str = ""
) -> str:
    """Say in a sentence how a process ended.

    ``killed_before`` is what ``killed_for_memory`` returned when it was started, ``output`` its
    standard error, ``stage`` the step of a run that it was at.
    """
    if status is None:
        return "the engine ended its stream and had to be ended"
    if sys.platform == "win32":
        if for_memory(status, output):
            return "the engine ended for want of memory"
        return f"the engine ended with status {status}"
    if status >= 0:
        return f"the engine ended with status {status}"
    name = signal_name(-status)
    if name == "SIGKILL":
        return _killed(killed_before)
    if for_memory(status, output):
        return f"the engine gave up ({name}) for want of memory"
    noted = [found[1] for line in output if (found := _SAID.match(line))]
    if noted and name in _BAD_ACCESS:
        return f"{noted[-1]}, until the engine died ({name})"
    if stage == "build" and name in _CAUSES:
        return f"the compiler crashed ({name}) over this kernel, and the engine with it"
    cause = _CAUSES.get(name, "it was ended from outside")
    return f"the engine died ({name}): {cause}"


def what_to_do(status: int | None, stage: str, kernel: bool) -> str:
    """Return what to do about such an end, as far as its cause is known.

    ``kernel`` says whether a kernel ran, rather than a library's or a framework's code.
    """
    if status is None or sys.platform == "win32" or signal_name(-status) not in _BAD_ACCESS:
        return ""
    if stage == "build":
        return "write it in another way, or choose another variant or device"
    if kernel and stage in ("predict", "verify", "measure"):
        return "check the kernel's array bounds; nothing else was affected"
    return ""


def for_memory(status: int | None, output: Iterable[str]) -> bool:
    """Return whether a process ended because memory was short, as far as its own end tells."""
    if status is None:
        return False
    if sys.platform == "win32":
        return status & 0xFFFFFFFF in _WINDOWS_SHORT
    aborted = status < 0 and signal_name(-status) == "SIGABRT"
    return aborted and any(_SHORT.search(line) for line in list(output)[-_LAST_LINES:])


def from_outside(status: int | None) -> bool:
    """Return whether a process was ended from outside, and not by what it did."""
    posix = sys.platform != "win32"  # where no status tells
    return posix and status is not None and status < 0 and signal_name(-status) in _FROM_OUTSIDE


def signal_name(number: int) -> str:
    """Return what a signal is called; most real-time signals have a number alone."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _killed(before: int | None) -> str:
    """Say who killed it, as far as the system's count tells."""
    now = killed_for_memory()
    if before is None or now is None:
        return "the engine was killed (SIGKILL), by hand or by the system for want of memory"
    if now > before:
        return "the engine was ended by the system (SIGKILL), most likely for want of memory"
    return "the engine was killed (SIGKILL) from outside, and not for want of memory"
