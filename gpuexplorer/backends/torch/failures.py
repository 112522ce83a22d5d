"""What PyTorch's errors mean."""

from __future__ import annotations

from typing import Any

HOST_IS_FULL = ("can't allocate memory", "not enough memory", "bad_alloc")
"""How PyTorch says that the host has no memory left; a GPU's lack has a type of its own."""


def out_of_memory(torch: Any, error: Exception) -> bool:
    """Whether an error says that memory is short."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(w in str(error) for w in HOST_IS_FULL)


def device_failed(torch: Any, error: Exception) -> bool:
    """Whether an error is the GPU's own, after which its context is of no more use."""
    if out_of_memory(torch, error) or not isinstance(error, RuntimeError):
        return False
    kind = getattr(torch, "AcceleratorError", None)
    return (kind is not None and isinstance(error, kind)) or "CUDA error" in str(error)


def first_line(error: Exception) -> str:
    """Return an error's first line, or its type where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
