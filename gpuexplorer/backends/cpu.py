"""Who the CPU is: the same name and id for every backend that runs on it."""

from __future__ import annotations

import functools
import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path

import psutil

from gpuexplorer.core.hardware_id import in_this_machine, registry_text

OWN_GROUPS = Path("/proc/self/cgroup")
UNLIMITED_B = 1 << 62
"""A limit above this is how the older control groups write that there is none."""


@functools.cache
def cpu_name() -> str:
    """Return the CPU's model name as its maker writes it, or the architecture's name."""
    named = _linux_line("model name|Model|cpu model") or _in_registry("ProcessorNameString")
    name = named or platform.processor() or platform.machine()
    return re.sub(r"\s+", " ", name).strip() or "CPU"


@functools.cache
def cpu_maker() -> str | None:
    """Return who made the CPU: ``intel`` or ``amd``; None for others and where it is not told."""
    told = (_linux_line("vendor_id") or _in_registry("VendorIdentifier") or "").strip()
    return {"GenuineIntel": "intel", "AuthenticAMD": "amd"}.get(told)


def _linux_line(names: str) -> str | None:
    """Return what the system says of its first processor under one of some names."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(rf"^(?:{names})\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1] if match else None


def _in_registry(name: str) -> str | None:
    return registry_text(r"HARDWARE\DESCRIPTION\System\CentralProcessor\0", name)


def cpu_hardware_id() -> str:
    """Return what identifies this CPU: equal in every backend's view of it, and nowhere else."""
    return in_this_machine(f"cpu:{cpu_name()}")


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
    """Return the memory that can be taken without swapping, in bytes.

    A control group may allow less than the machine has, as in a container.
    """
    free_B = int(psutil.virtual_memory().available)
    limits = [limit - used for limit, used in _groups()]
    return max(0, min([free_B, *limits]))


def memory_total_B() -> int:
    """Return the memory this process may use at the most, in bytes."""
    return min([int(psutil.virtual_memory().total), *(limit for limit, _ in _groups())])


def _groups() -> Iterator[tuple[int, int]]:
    """Yield (limit, bytes in use that cannot be dropped) of each control group with a limit."""
    for group, names in limited_groups():
        limit, used = (_whole(group / name) for name in names)
        if limit is not None and used is not None:
            yield limit, max(0, used - _droppable_B(group))


@functools.cache
def limited_groups(
    root: Path = Path("/sys/fs/cgroup"), own: Path = OWN_GROUPS
) -> tuple[tuple[Path, tuple[str, str]], ...]:
    """Return the control groups that limit this process's memory, and their files for it.

    Both versions of control groups: one tree for everything, or one for memory alone. A group is
    bound by those above it as well.
    """
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ()
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            base, names = root, ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            base, names = root / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        group = base / path.lstrip("/")
        while True:
            limit = _whole(group / names[0])
            if limit is not None and limit < UNLIMITED_B:
                found.append((group, names))
            if group in (base, group.parent):
                break
            group = group.parent
    return tuple(found)


def _whole(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # "max" is no limit
        return None


def _droppable_B(group: Path) -> int:
    """Return the bytes of files that the system caches while memory is free."""
    try:
        text = (group / "memory.stat").read_text(encoding="ascii")
    except OSError:
        return 0
    found = re.search(r"^(?:total_)?inactive_file (\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else 0
