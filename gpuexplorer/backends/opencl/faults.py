"""Accesses to memory that was made inaccessible on purpose: noted, and then let through.

Linux tells the process of such an access with a signal and the address. The handler here asks
the watcher of that address; it opens the memory, and the access is made again. What is
not watched goes to the handler that was there before, and ends the process as ever.

A handler may do anything where the signal is raised by the faulting instruction itself and that
belongs to no function of a library, which is so of a kernel's own code.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import signal
import sys
from typing import Any, Protocol

SAID = "gpuexplorer: "
"""Before a sentence on standard error, when the process ends over a bad access."""
_SA_SIGINFO = 4
_ADDRESS_AT = 16
"""Where siginfo_t has the address."""
_X86_ERROR_AT = 40 + 19 * 8
"""Where ucontext_t has the processor's error code, whose second bit says that it was a write."""


class Watcher(Protocol):
    """What made some memory inaccessible, and is asked about accesses to it."""

    def lets_through(self, address: int, written: bool | None) -> bool:
        """Return whether the address can be accessed now; ``written`` is None if unknown."""

    def last_words(self) -> tuple[int, str] | None:
        """Return what is to be said when the process ends now, and how far off it was."""


_watchers: list[Watcher] = []
_before: list[_Action] = []
"""What was done about the signal before, the latest last."""


class _Action(ctypes.Structure):
    """``struct sigaction`` of Linux's C libraries."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


def can_watch() -> bool:
    """Return whether this system tells of such accesses."""
    return sys.platform == "linux" and sys.maxsize > 2**32


def watch(watcher: Watcher) -> None:
    """Have ``watcher`` asked about every bad access from now on."""
    if watcher not in _watchers:
        _watchers.append(watcher)
    _install()


def forget(watcher: Watcher) -> None:
    """Ask ``watcher`` no more."""
    if watcher in _watchers:
        _watchers.remove(watcher)


def _install() -> None:
    """Put the handler in place, also where a library has put its own there meanwhile."""
    present = _Action()
    _libc().sigaction(signal.SIGSEGV, None, ctypes.byref(present))
    if present.handler != _HANDLER_AT:
        _before.append(present)
        ours = _Action(handler=_HANDLER_AT, flags=_SA_SIGINFO)
        _libc().sigaction(signal.SIGSEGV, ctypes.byref(ours), None)


def _on_signal(number: int, info: int, context: int) -> None:
    try:
        address = ctypes.c_uint64.from_address(info + _ADDRESS_AT).value
        written = None
        if platform.machine() == "x86_64":
            error = ctypes.c_uint64.from_address(context + _X86_ERROR_AT).value
            written = bool(error & 2)
        if any(watcher.lets_through(address, written) for watcher in _watchers):
            return
        noted = [words for watcher in _watchers if (words := watcher.last_words())]
        if noted:
            os.write(2, f"{SAID}{min(noted)[1]}\n".encode())
    except Exception:  # noqa: BLE001 - whatever it is, the signal must reach its former handler
        pass
    # A library's handler may put ours back and let the signal come again: then to the one before.
    former = _before.pop() if _before else _Action()
    _libc().sigaction(number, ctypes.byref(former), None)


@functools.cache
def _libc() -> Any:
    return ctypes.CDLL(None)


_HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(_on_signal)
_HANDLER_AT = ctypes.cast(_HANDLER, ctypes.c_void_p).value
