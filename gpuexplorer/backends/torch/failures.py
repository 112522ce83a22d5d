"""What PyTorch's errors mean."""

from __future__ import annotations

from typing import Any

from gpuexplorer.core.errors import DeviceLost, ExplorerError, WorkFailed

HOST_IS_FULL = ("can't allocate memory", "not enough memory", "bad_alloc")
"""How PyTorch says that the host has no memory left; a GPU's lack has a type of its own."""


def out_of_memory(torch: Any, error: Exception) -> bool:
    """Whether an error says that memory is short."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(w in str(error) for w in HOST_IS_FULL)


def device_failed(torch: Any, error: Exception) -> bool:
    """Whether the GPU's context is of no more use after an error.

    The device itself is asked, by waiting for it: after an error that ends a context every further
    call fails, while one of a single call (cuBLAS refusing a layout, a launch with bad arguments)
    leaves the device as it was, whatever words PyTorch has for both.
    """
    if not isinstance(error, RuntimeError) or not torch.cuda.is_initialized():
        return False
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


def explain(torch: Any, error: RuntimeError, device_id: str, doing: str) -> ExplorerError:
    """Return the error a user should see; a DeviceLost only where the GPU answers no more."""
    if device_failed(torch, error):
        return DeviceLost(
            f"{device_id} failed while {doing}: {first_line(error)}",
            remedy="the engine starts afresh",
            detail=str(error),
        )
    if out_of_memory(torch, error):
        return WorkFailed(
            f"{device_id} ran out of memory while {doing}",
            remedy="choose a smaller size",
            detail=str(error),
        )
    return WorkFailed(
        f"PyTorch failed on {device_id} while {doing}: {first_line(error)}",
        remedy="choose another size, precision or switch",
        detail=str(error),
    )


def first_line(error: Exception) -> str:
    """Return an error's first line, or its type where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
