"""The NVIDIA driver of this machine and what follows from it, as ``bootstrap.py`` asks for them.

The package in this checkout decides, with the standard library alone; it is not installed yet.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gpuexplorer.core import cuda_driver  # noqa: E402
from gpuexplorer.core.cuda_choice import (  # noqa: E402
    Choice,
    Here,
    choose,
    this_machine,
    trouble_of_system,
    without_cupti,
)
from gpuexplorer.core.cuda_driver import Driver  # noqa: E402

__all__ = [
    "ROOT", "Choice", "Driver", "Here", "choose", "find_driver", "this_machine",
    "trouble_of_system", "without_cupti",
]  # fmt: skip
ANSWER_S = 30.0
"""How long ``nvidia-smi`` may take: it wakes a GPU that sleeps."""


def find_driver() -> Driver | None:
    """Return this machine's NVIDIA driver, or None without one that sees a GPU."""
    return cuda_driver.find_driver(_ask, cuda_driver.from_library)


def _ask(command: list[str]) -> str | None:
    """Return what a program prints; None when it fails."""
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=ANSWER_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout if answer.returncode == 0 else None
