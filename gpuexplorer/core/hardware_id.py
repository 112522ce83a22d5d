"""What tells hardware that has no number of its own from the same model in another machine.

A GPU has a UUID. A processor has a model's name, which is why a mark of the machine follows it: so
ceilings, maps, sweeps and what a tuning found are never those of another machine. The mark names
nobody: it is a hash, and may stand in documents that are given to others.
"""

from __future__ import annotations

import functools
import hashlib
import platform
import re
from pathlib import Path

MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
OF_CONTAINERS = (Path("/.dockerenv"), Path("/run/.containerenv"))
"""Files that Docker and Podman put into each container."""
_MARK = re.compile(r" #[0-9a-f]{8}$")


def in_this_machine(name: str) -> str:
    """Return the name of hardware with the mark of this machine."""
    return f"{name} #{_mark()}"


def without_machine(hardware_id: str) -> str:
    """Return a hardware's id as it is for every machine; version 0.1 wrote no other."""
    return _MARK.sub("", hardware_id)


def may_be_same(one: str, other: str) -> bool:
    """Whether two ids may be of the same hardware: version 0.1 did not say in which machine."""
    if one == other:
        return True
    old = one == without_machine(one) or other == without_machine(other)
    return old and without_machine(one) == without_machine(other)


def registry_text(path: str, name: str) -> str | None:
    """Return a value of Windows' registry; None where there is none."""
    try:
        import winreg
    except ImportError:
        return None
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path) as key:  # type: ignore[attr-defined]
            return str(winreg.QueryValueEx(key, name)[0])  # type: ignore[attr-defined]
    except OSError:
        return None


@functools.cache
def _mark() -> str:
    numbered = _number_of_macos()
    # Machines that were started from one image may share the other systems' numbers. A container
    # has another name each time that it is started, and its machine would seem a new one.
    name = "" if any(path.exists() for path in OF_CONTAINERS) else platform.node()
    parts = [numbered] if numbered is not None else [_number(), name]
    return hashlib.sha256("\n".join(["gpuexplorer", *parts]).encode()).hexdigest()[:8]


def _number() -> str:
    """Return the number that the system has given this installation; empty for none."""
    for path in MACHINE_IDS:
        try:
            if text := path.read_text(encoding="ascii", errors="replace").strip():
                return text
        except OSError:
            continue
    return registry_text(r"SOFTWARE\Microsoft\Cryptography", "MachineGuid") or ""


def _number_of_macos() -> str | None:
    """Return the hardware's UUID on macOS, where a machine's name follows the network."""
    if platform.system() != "Darwin":
        return None
    import ctypes

    uuid, wait_s = (ctypes.c_ubyte * 16)(), (ctypes.c_long * 2)(1, 0)
    try:
        failed = ctypes.CDLL(None).gethostuuid(uuid, wait_s)
    except (AttributeError, OSError):
        return None
    return None if failed else bytes(uuid).hex()
