"""CUDA's errors as sentences, and which of them end the engine."""

from __future__ import annotations

from gpuexplorer.core.errors import BlockTooLarge, DeviceLost, ExplorerError, WorkFailed

OUT_OF_MEMORY = 2

_POISONED = {
    214: "the GPU's memory had an error that cannot be corrected",
    220: "the link to another GPU had an error that cannot be corrected",
    226: "the GPU had a hardware error",
    700: "the kernel read or wrote memory outside its arrays",
    702: "the kernel ran longer than the driver allows on this display GPU",
    709: "the GPU's context is gone after an earlier error",
    710: "an assert in the kernel failed",
    714: "the kernel's stack was corrupted or overflowed",
    715: "the kernel met an instruction that this GPU does not have",
    716: "the kernel accessed memory at an address that is not aligned to the element's size",
    717: "the kernel accessed an address that is not in the memory it names",
    718: "the kernel jumped outside its code",
    719: "the kernel failed while it ran",
    721: "the kernel ended without giving back all of its tensor memory",
    810: "the MPS server has ended this program's part of the GPU",
    911: "a device outside of CUDA, which the GPU waited for, had an error",
    999: "the NVIDIA driver met an error it does not name",
}
"""Errors after which nothing runs in this process any more (sticky, in CUDA's terms)."""

_REMEDIES = {
    700: "check its indexes against the arrays' sizes",
    702: "choose a smaller size, or a GPU without a display",
    716: "check pointer casts such as (float4*)p",
}
_AFTERWARDS = "the engine starts afresh"


def explain(error: Exception, action: str) -> ExplorerError | None:
    """Return the error a user should see for an error of CuPy's, or None for any other.

    ``action`` says in the -ing form what was tried. A DeviceLost means that the context is lost.
    """
    if isinstance(error, ExplorerError):
        return None
    kind = type(error).__name__
    if kind == "OutOfMemoryError":
        return _no_memory(action)
    status = getattr(error, "status", None)
    if kind not in ("CUDARuntimeError", "CUDADriverError", "CUBLASError") or status is None:
        return None
    if kind == "CUBLASError":
        return WorkFailed(f"cuBLAS failed while {action}: {error}")
    if status == OUT_OF_MEMORY:
        return _no_memory(action)
    if status in _POISONED:
        remedy = _REMEDIES.get(status)
        return DeviceLost(
            f"{_POISONED[status]} (CUDA error {status} while {action})",
            remedy=f"{remedy}; {_AFTERWARDS}" if remedy else _AFTERWARDS,
        )
    if status == 701:
        return BlockTooLarge(
            "the block needs more registers than a multiprocessor has",
            remedy="make the block smaller",
        )
    return WorkFailed(f"CUDA failed while {action}: {error}")


def _no_memory(action: str) -> WorkFailed:
    return WorkFailed(
        f"the GPU has no memory left for {action}",
        remedy="choose a smaller size, or end other programs that use the GPU",
    )
