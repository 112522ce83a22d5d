"""PyTorch imported, with a clear word when its installation is broken."""

from __future__ import annotations

import os
import sys
from typing import Any

from gpuexplorer.core.errors import WorkFailed

QUIET = "6"
"""Of PyTorch's profiler, which otherwise prints a line whenever it starts and stops."""


def load() -> Any:
    """Return PyTorch, whose import takes seconds the first time; WorkFailed when it fails."""
    os.environ.setdefault("KINETO_LOG_LEVEL", QUIET)
    try:
        import torch
        import torch.nn.attention
    except (ImportError, OSError) as error:
        raise WorkFailed(
            f"PyTorch cannot be imported: {str(error).splitlines()[0]}",
            remedy=f"install it again with {sys.executable} -m pip install --force-reinstall torch",
            detail=str(error),
        ) from None
    return torch
