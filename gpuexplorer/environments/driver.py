"""The NVIDIA driver of this machine, asked without loading any of its libraries here."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

from gpuexplorer.core import cuda_driver
from gpuexplorer.core.cuda_driver import Driver, from_json
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.core.frozen import clean_environment, module_command
from gpuexplorer.environments.children import run

ANSWER_S = 30.0
"""How long ``nvidia-smi``, or the driver's library, may take: they wake a GPU that sleeps."""
LIBRARY = "gpuexplorer.core.cuda_driver"
"""The module that loads the driver's library, in a process of its own."""


def find_driver(cancel: threading.Event | None = None) -> Driver | None:
    """Return this machine's NVIDIA driver; None where there is none, or no GPU that it sees.

    Raises Cancelled.
    """
    return cuda_driver.find_driver(
        lambda command: _ask(command, clean_environment(os.environ), cancel),
        lambda: from_json(_ask(module_command(LIBRARY), os.environ, cancel) or ""),
    )


def _ask(
    command: list[str], environment: Mapping[str, str], cancel: threading.Event | None
) -> str | None:
    """Return what a program prints; None when it fails."""
    try:
        done = run(command, environment, cancel, timeout_s=ANSWER_S)
    except (CannotRunHere, TimeoutError):
        return None
    return done.text if done.returncode == 0 else None
