"""How many CPU threads an engine's work may use."""

from __future__ import annotations

import os

from gpuexplorer.core.errors import InputError


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_threads() -> int:
    """Return the CPU threads work may use by default: all usable cores but one, at least one."""
    return max(1, usable_cores() - 1)


def check_threads(threads: int | None) -> None:
    """Raise InputError for more CPU threads than this program may use; None is the default.

    A runtime takes any number and uses as many as there are: what a run says of itself would not
    be true.
    """
    most = usable_cores()
    if threads is not None and not 1 <= threads <= most:
        raise InputError(
            f"{threads} CPU threads are not to be had here",
            remedy="use 1" if most == 1 else f"use 1 to {most}",
        )
