"""Who the CPU is: the same name and id for every backend that runs on it."""

from __future__ import annotations

import functools
import os
import platform
import re
from pathlib import Path

import psutil


@functools.cache
def cpu_name() -> str:
    """Return the CPU's model name as its maker writes it, or the architecture's name."""
    name = _linux_name() or _registry_name() or platform.processor() or platform.machine()
    return re.sub(r"\s+", " ", name).strip() or "CPU"


def _linux_name() -> str | None:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1] if match else None


def _registry_name() -> str | None:
    try:
        import winreg
    except ImportError:
        return None
    path = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path) as key:  # type: ignore[attr-defined]
            return str(winreg.QueryValueEx(key, "ProcessorNameString")[0])  # type: ignore[attr-defined]
    except OSError:
        return None


def cpu_hardware_id() -> str:
    """Return what identifies this CPU: equal in every backend's view of it."""
    return f"cpu:{cpu_name()}"


def cpu_cores() -> int:
    """Return the logical cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def nominal_clock_Hz() -> float | None:
    """Return the cores' highest clock as the system states it; None where it does not."""
    try:
        stated = psutil.cpu_freq()
    except (OSError, NotImplementedError, RuntimeError):
        return None
    return stated.max * 1e6 if stated is not None and stated.max else None


def memory_available_B() -> int:
    """Return the memory that can be taken without swapping, in bytes."""
    return int(psutil.virtual_memory().available)
