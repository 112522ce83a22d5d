"""The NVIDIA driver of this machine, asked without loading any of its libraries here."""

from __future__ import annotations

import os
import re
import shutil
import threading
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.core.frozen import clean_environment
from gpuexplorer.environments.children import run

ANSWER_S = 30.0
"""How long ``nvidia-smi`` may take: it wakes a GPU that sleeps."""
OLDEST_DRIVERS = ((580, (13, 0)), (525, (12, 0)), (450, (11, 0)))
"""From which driver on which CUDA runs (NVIDIA's table of CUDA's and the drivers' versions)."""
_CUDA = re.compile(r"CUDA(?: UMD)? Version:\s*(\d+)\.(\d+)")


class Driver(msgspec.Struct, frozen=True, kw_only=True):
    """An NVIDIA driver with at least one GPU."""

    gpu: str
    """The first GPU's name."""
    version: str
    """Such as ``580.95.05``."""
    cuda: tuple[int, int]
    """The newest CUDA that it runs."""

    @property
    def words(self) -> str:
        """Say it in a few words."""
        return f"{self.gpu}, driver {self.version}, CUDA {self.cuda[0]}.{self.cuda[1]}"


def find_driver(cancel: threading.Event | None = None) -> Driver | None:
    """Return this machine's NVIDIA driver; None where there is none, or no GPU that it sees.

    Raises Cancelled.
    """
    tool = _tool()
    if tool is None:
        return None
    listed = _ask([tool, "--query-gpu=name,driver_version", "--format=csv,noheader"], cancel)
    gpu, comma, version = (listed or "").partition("\n")[0].rpartition(",")
    if not comma:
        return None
    told = _CUDA.search(_ask([tool], cancel) or "")
    cuda = (int(told[1]), int(told[2])) if told else cuda_of(version.strip())
    if cuda is None:
        return None
    return Driver(gpu=gpu.strip(), version=version.strip(), cuda=cuda)


def cuda_of(version: str) -> tuple[int, int] | None:
    """Return the CUDA that a driver's version runs at the least; None for one that is too old."""
    branch = version.partition(".")[0]
    if not branch.isdigit():
        return None
    return next((cuda for oldest, cuda in OLDEST_DRIVERS if int(branch) >= oldest), None)


def _tool() -> str | None:
    """Return ``nvidia-smi``: where commands are looked for, and where Windows' drivers put it."""
    found = shutil.which("nvidia-smi")
    if found is None and os.name == "nt":
        system = Path(os.environ.get("SYSTEMROOT", r"C:\Windows")) / "System32" / "nvidia-smi.exe"
        found = str(system) if system.is_file() else None
    return found


def _ask(command: list[str], cancel: threading.Event | None) -> str | None:
    """Return what a tool prints; None when it fails."""
    try:
        done = run(command, clean_environment(os.environ), cancel, timeout_s=ANSWER_S)
    except (CannotRunHere, TimeoutError):
        return None
    return done.text if done.returncode == 0 else None
