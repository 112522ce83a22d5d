"""What holds for the whole process in PyTorch, set anew for every run: flags and threads."""

from __future__ import annotations

import warnings
from typing import Any


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
