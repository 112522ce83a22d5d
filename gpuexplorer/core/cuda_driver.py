"""The NVIDIA driver of this machine and its GPUs, by the word of its tool and of its library.

Standard library alone: set-up asks before anything is installed. The library is asked only where
the tool is missing or too old to tell compute capabilities; ``python -m`` asks it in a process of
its own, because one that has loaded it keeps hold of the GPU.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

CUDA_OF_DRIVERS = (
    (590, (13, 1)), (580, (13, 0)), (575, (12, 9)), (570, (12, 8)), (565, (12, 7)),
    (560, (12, 6)), (555, (12, 5)), (550, (12, 4)), (545, (12, 3)), (535, (12, 2)),
    (530, (12, 1)), (525, (12, 0)), (450, (11, 0)),
)  # fmt: skip
"""From which branch of the driver on which CUDA runs (NVIDIA's table of CUDA's and the drivers'
versions)."""
FIELDS = "name,driver_version,compute_cap"
OLD_FIELDS = "name,driver_version"
"""Drivers before 510 know no compute capability and refuse the whole question."""
_CAPABILITY = (75, 76)
"""``CUdevice_attribute``, cuda.h."""
_HEADING = re.compile(r"CUDA(?: UMD)? Version:\s*(\d+)\.(\d+)")

Ask = Callable[["list[str]"], "str | None"]
"""Runs a program and returns what it prints; None where it fails."""


@dataclass(frozen=True)
class Gpu:
    """One GPU."""

    name: str
    capability: tuple[int, int] | None = None
    """Its compute capability; None where nothing told it."""

    @property
    def words(self) -> str:
        """Say which it is."""
        if self.capability is None:
            return self.name
        return f"{self.name} (compute capability {self.capability[0]}.{self.capability[1]})"


@dataclass(frozen=True)
class Driver:
    """An NVIDIA driver with at least one GPU."""

    cuda: tuple[int, int]
    """The newest CUDA that it runs."""
    gpus: tuple[Gpu, ...]
    version: str = ""
    """Such as ``580.95.05``; empty where its library alone was asked."""

    @property
    def words(self) -> str:
        """Say it in a few words."""
        names = list(dict.fromkeys(gpu.name for gpu in self.gpus))
        version = [f"driver {self.version}"] if self.version else []
        return ", ".join([*names, *version, f"CUDA {self.cuda[0]}.{self.cuda[1]}"])


def find_driver(ask: Ask, ask_library: Callable[[], Driver | None]) -> Driver | None:
    """Return this machine's driver; None where there is none, or no GPU that it sees."""
    program = tool()
    told = None if program is None else from_tool(lambda words: ask([program, *words]))
    if told is not None and all(gpu.capability is not None for gpu in told.gpus):
        return told
    loaded = ask_library()
    if told is None or loaded is None:
        return told or loaded
    return replace(told, gpus=loaded.gpus)


# ---- its tool


def tool() -> str | None:
    """Return ``nvidia-smi``: where commands are looked for, and where Windows' drivers put it."""
    found = shutil.which("nvidia-smi")
    if found is None and os.name == "nt":
        system = Path(os.environ.get("SYSTEMROOT", r"C:\Windows")) / "System32" / "nvidia-smi.exe"
        found = str(system) if system.is_file() else None
    return found


def from_tool(ask: Ask) -> Driver | None:
    """Return what ``nvidia-smi`` tells; ``ask`` is given its arguments."""
    listed, fields = None, FIELDS
    for fields in (FIELDS, OLD_FIELDS):
        listed = ask([f"--query-gpu={fields}", "--format=csv,noheader"])
        if listed is not None:
            break
    rows = [
        [word.strip() for word in line.rsplit(",", fields.count(","))]
        for line in (listed or "").splitlines()
    ]
    rows = [row for row in rows if len(row) == len(fields.split(","))]
    if not rows:
        return None
    version = rows[0][1]
    cuda = version_in_heading(ask([]) or "") or cuda_of(version)
    if cuda is None:
        return None
    gpus = tuple(Gpu(row[0], _capability(row[2]) if row[2:] else None) for row in rows)
    return Driver(cuda=cuda, gpus=gpus, version=version)


def version_in_heading(text: str) -> tuple[int, int] | None:
    """Return the CUDA version in the heading of ``nvidia-smi``; None when it names none."""
    found = _HEADING.search(text)
    return (int(found[1]), int(found[2])) if found else None


def cuda_of(version: str) -> tuple[int, int] | None:
    """Return the CUDA that a driver's version runs at the least; None for one that is too old."""
    branch = version.partition(".")[0]
    if not branch.isdigit():
        return None
    return next((cuda for oldest, cuda in CUDA_OF_DRIVERS if int(branch) >= oldest), None)


def _capability(word: str) -> tuple[int, int] | None:
    found = re.fullmatch(r"(\d+)\.(\d+)", word)
    return (int(found[1]), int(found[2])) if found else None


# ---- its library


def from_library() -> Driver | None:
    """Return what the driver's own library tells, which is loaded into this process."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        library = ctypes.CDLL(name)
        return from_loaded(library)
    except (OSError, AttributeError):
        return None


def from_loaded(library: Any) -> Driver | None:
    """Return what a loaded driver library tells; None where it does not start or has no GPU."""
    count, version = ctypes.c_int(0), ctypes.c_int(0)
    if library.cuInit(0) != 0 or library.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return None
    if count.value == 0 or library.cuDriverGetVersion(ctypes.byref(version)) != 0:
        return None
    gpus = tuple(_gpu(library, index) for index in range(count.value))
    return Driver(cuda=(version.value // 1000, version.value % 1000 // 10), gpus=gpus)


def _gpu(library: Any, index: int) -> Gpu:
    device, value = ctypes.c_int(0), ctypes.c_int(0)
    name = ctypes.create_string_buffer(256)
    if library.cuDeviceGet(ctypes.byref(device), ctypes.c_int(index)) != 0:
        return Gpu(f"GPU {index}")
    named = library.cuDeviceGetName(name, ctypes.c_int(len(name)), device) == 0
    numbers = []
    for attribute in _CAPABILITY:
        if library.cuDeviceGetAttribute(ctypes.byref(value), ctypes.c_int(attribute), device) == 0:
            numbers.append(value.value)
    return Gpu(
        name.value.decode(errors="replace") if named else f"GPU {index}",
        (numbers[0], numbers[1]) if len(numbers) == 2 else None,
    )


def to_json(driver: Driver | None) -> str:
    """Return a driver as ``from_json`` reads it."""
    if driver is None:
        return "null"
    gpus = [[gpu.name, gpu.capability] for gpu in driver.gpus]
    return json.dumps({"cuda": driver.cuda, "gpus": gpus, "version": driver.version})


def from_json(text: str) -> Driver | None:
    """Return the driver in the last line of a text; None where there is none in it."""
    try:
        said = json.loads(text.strip().rpartition("\n")[2])
        return Driver(
            cuda=(int(said["cuda"][0]), int(said["cuda"][1])),
            gpus=tuple(
                Gpu(str(name), None if numbers is None else (int(numbers[0]), int(numbers[1])))
                for name, numbers in said["gpus"]
            ),
            version=str(said["version"]),
        )
    except (ValueError, KeyError, IndexError, TypeError):
        return None


if __name__ == "__main__":
    print(to_json(from_library()))
