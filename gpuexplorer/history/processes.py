"""Which process wrote something, and whether it still runs: for what a program left unfinished."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

PROC = Path("/proc")


def this_host() -> str:
    """Return the name of this machine."""
    return socket.gethostname()


def this_process() -> str:
    """Return what tells this process from every other on this machine, before and after.

    Its number, the machine's start, the view of processes (a container has its own), and when it
    was started, in what does not move with the clock.
    """
    return f"{os.getpid()} {_boot()} {_view()} {started(os.getpid())}"


def is_running(process: str) -> bool:
    """Whether a process of this machine, as ``this_process`` names it, may still run."""
    return runs(process) is not False


def runs(process: str) -> bool | None:
    """Whether a process of this machine still runs; None where that cannot be told."""
    try:
        written, boot, view, since = process.split(" ")
        number = int(written)
    except (ValueError, TypeError):  # as another version writes it, or no text any more
        return None
    if boot != _boot():
        return False
    if view != _view():  # in another container
        return None
    return started(number) == since


def number_of(process: str) -> str:
    """Return a process's number."""
    return process.partition(" ")[0]


def started(number: int) -> str | None:
    """Return when a process was started; None when there is no such, or only what is left of it."""
    if PROC.joinpath("self", "stat").exists():
        try:
            text = PROC.joinpath(str(number), "stat").read_text(errors="replace")
        except OSError:
            return None
        fields = text.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    import psutil

    try:
        return f"{psutil.Process(number).create_time():.0f}"
    except psutil.Error:
        return None


@cache
def _boot() -> str:
    path = PROC / "sys/kernel/random/boot_id"
    return path.read_text().strip() if path.exists() else "-"


@cache
def _view() -> str:
    path = PROC / "self/ns/pid"
    return os.readlink(path) if path.is_symlink() else "-"
