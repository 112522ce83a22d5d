"""PyTorch imported, with a clear word when that fails, and what holds for the whole process."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
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

_NEWER = ("", ".mkldnn", ".mkldnn.matmul", ".mkldnn.conv", ".mkldnn.rnn", ".cudnn")
"""Where the newer names of what stands for fp32 are, for all and by back end and operator."""
_AUTOCAST = tuple(("is_autocast_enabled", "set_autocast_enabled", (k,)) for k in ("cpu", "cuda"))
_CALLS = (
    ("get_default_dtype", "set_default_dtype", ()),
    ("get_deterministic_debug_mode", "set_deterministic_debug_mode", ()),
    ("is_grad_enabled", "set_grad_enabled", ()),
    ("is_anomaly_enabled", "autograd.set_detect_anomaly", ()),
    *_AUTOCAST,
    *(("get_autocast_dtype", "set_autocast_dtype", (kind,)) for kind in ("cpu", "cuda")),
    ("is_autocast_cache_enabled", "set_autocast_cache_enabled", ()),
    *(
        (f"backends.cuda.{name}_sdp_enabled", f"backends.cuda.enable_{name}_sdp", ())
        for name in ("flash", "mem_efficient", "math", "cudnn")
    ),
    (
        "backends.cuda.fp16_bf16_reduction_math_sdp_allowed",
        "backends.cuda.allow_fp16_bf16_reduction_math_sdp",
        (),
    ),
    ("backends.cuda.preferred_linalg_library", "backends.cuda.preferred_linalg_library", ()),
    ("backends.cuda.preferred_blas_library", "backends.cuda.preferred_blas_library", ()),
    ("backends.mha.get_fastpath_enabled", "backends.mha.set_fastpath_enabled", ()),
)
"""What a file may set for the whole process: what tells it, what sets it, and of which device."""
_ATTRIBUTES = (
    "backends.cudnn.enabled",
    "backends.cudnn.benchmark",
    "backends.cudnn.benchmark_limit",
    "backends.cudnn.deterministic",
    "backends.cuda.matmul.allow_fp16_accumulation",
    "backends.mkldnn.enabled",
    "backends.mkldnn.deterministic",
    "backends.opt_einsum.enabled",
    "backends.opt_einsum.strategy",
    "backends.quantized.engine",
)
_Flag = tuple[str, Any, Callable[[Any], object]]
"""A flag's name, what it is now, and what sets it."""
_started: dict[str, Any] = {}
"""What each was before the first run."""


def set_as_started(torch: Any) -> None:
    """Set back what an earlier run's file changed for the whole process, before a run begins."""
    for name, now, put in (*_called(torch, _CALLS), *_attributes(torch)):
        before = _started.setdefault(name, now)
        if now != before:
            put(before)
    torch.set_default_device(None)  # a chosen one is asked at every operator
    torch.set_flush_denormal(False)


def _called(torch: Any, calls: Iterable[tuple[str, str, tuple[str, ...]]]) -> Iterator[_Flag]:
    for reads, sets, of in calls:
        read, put = _within(torch, reads), _within(torch, sets)
        if read is None or put is None:
            continue
        try:
            now = read(*of)
        except TypeError:  # an older version does not tell it by device
            continue
        yield " ".join((reads, *of)), now, partial(put, *of)


def _attributes(torch: Any) -> Iterator[_Flag]:
    for name in _ATTRIBUTES:
        place, _, last = name.rpartition(".")
        owner = _within(torch, place)
        if hasattr(owner, last):
            yield name, getattr(owner, last), partial(setattr, owner, last)


def _within(torch: Any, path: str) -> Any:
    """Return what has a path in PyTorch; None where this version has none."""
    try:
        return attrgetter(path)(torch)
    except AttributeError:
        return None


@contextmanager
def stated_kept(torch: Any) -> Iterator[None]:
    """Run foreign code; what a run says of itself holds afterwards: arithmetic and threads."""
    threads, products = torch.get_num_threads(), torch.backends.cuda.matmul
    tf32, reduced = products.allow_tf32, products.allow_fp16_reduced_precision_reduction
    autocast = list(_called(torch, _AUTOCAST))
    try:
        yield
    finally:
        set_flags(torch, tf32=tf32, reduced=reduced)
        set_threads(torch, threads)
        for _, enabled, put in autocast:
            put(enabled)


def set_flags(torch: Any, *, tf32: bool = False, reduced: bool = False) -> None:
    """Say explicitly which arithmetic stands for fp32, and whether sums may be rounded early.

    ``tf32``: products of fp32 numbers on tensor cores, their factors rounded to 11 bits.
    ``reduced``: partial sums of a 16-bit product may be added in 16 bits, as when its inner length
    is split among blocks. PyTorch's own defaults differ between the two and between versions.
    The older names are used because they keep the newer ones in step, and not the other way round;
    newer ones that a file has set would have the last word.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions advise their newer names
        for place in _NEWER:
            owner = _within(torch, f"backends{place}")
            if hasattr(owner, "fp32_precision"):
                owner.fp32_precision = "none"
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = reduced
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = reduced


def set_threads(torch: Any, threads: int) -> None:
    """Let operators use so many CPU threads."""
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
