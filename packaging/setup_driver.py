"""The NVIDIA driver of this machine, as ``bootstrap.py`` asks for it; standard library alone."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys


def version_from_driver_number(number: int) -> tuple[int, int]:
    """Return (major, minor) from what cuDriverGetVersion reports, such as 12040 for 12.4."""
    return number // 1000, number % 1000 // 10


def version_from_nvidia_smi(text: str) -> tuple[int, int] | None:
    """Return the CUDA version in nvidia-smi's heading, or None when it names none."""
    found = re.search(r"CUDA(?: UMD)? Version:\s*(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def ask_driver_library() -> tuple[int, int] | None:
    """Return the CUDA version of a driver that has a GPU, from the driver's own library."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(name)
        count, version = ctypes.c_int(0), ctypes.c_int(0)
        if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
            return None
        if count.value == 0 or driver.cuDriverGetVersion(ctypes.byref(version)) != 0:
            return None
    except (OSError, AttributeError):
        return None
    return version_from_driver_number(version.value)


def ask_nvidia_smi() -> tuple[int, int] | None:
    """Return the CUDA version that nvidia-smi reports, or None without a working driver."""
    try:
        answer = subprocess.run(
            ["nvidia-smi"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return version_from_nvidia_smi(answer.stdout) if answer.returncode == 0 else None


def find_cuda_version() -> tuple[int, int] | None:
    """Return the highest CUDA version this machine's NVIDIA driver runs, or None without a GPU."""
    return ask_driver_library() or ask_nvidia_smi()
