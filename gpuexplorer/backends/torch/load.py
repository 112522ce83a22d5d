"""PyTorch imported, with a clear word when that fails, and what holds for the whole process."""

from __future__ import annotations

import os
import sys
import warnings
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


# ---- what holds for the whole process
# What holds for the whole process in PyTorch, set anew for every run: flags and threads.


def set_flags(torch: Any, *, tf32: bool = False, reduced: bool = False) -> None:
    """Say explicitly which arithmetic stands for fp32, and whether sums may be rounded early.

    ``tf32``: products of fp32 numbers on tensor cores, their factors rounded to 11 bits.
    ``reduced``: partial sums of a 16-bit product may be added in 16 bits, as when its inner length
    is split among blocks. PyTorch's own defaults differ between the two and between versions.
    The older names are used because they keep the newer ones in step, and not the other way round.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions advise their newer names
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = reduced
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = reduced


def set_threads(torch: Any, threads: int) -> None:
    """Let operators use so many CPU threads."""
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
