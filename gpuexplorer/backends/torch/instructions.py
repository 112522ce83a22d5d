"""Which instructions the CPU has for low precisions, by PyTorch's own word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OLDER = {
    "avx512_vnni": "_is_vnni_supported",
    "avx512_bf16": "_is_avx512_bf16_supported",
    "amx_int8": "_is_amx_tile_supported",
    "amx_fp16": "_is_amx_fp16_supported",
}
"""What versions without ``torch.cpu.get_capabilities`` can tell."""
_BF16 = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")
_FP16 = ("avx512_fp16", "amx_fp16", "fp16_arith")
_NEEDED = {
    "bf16": _BF16,
    "autocast_bf16": _BF16,
    "fp16": _FP16,
    "autocast_fp16": _FP16,
    "int8": ("avx512_vnni", "avx_vnni", "amx_int8", "dot", "i8mm"),
}


def capabilities(torch: Any) -> Mapping[str, Any]:
    """Return the CPU's sets of instructions by name, as far as this version tells them."""
    tell = getattr(torch.cpu, "get_capabilities", None)
    if tell is not None:
        told: Mapping[str, Any] = tell()
        return told
    return {
        name: getattr(torch.cpu, ask)() for name, ask in _OLDER.items() if hasattr(torch.cpu, ask)
    }


def instructions_words(torch: Any, precision: str) -> str | None:
    """Return whether the CPU computes in a precision by itself; None where that is no question."""
    has = capabilities(torch)
    needed = _NEEDED.get(precision, ())
    found = [name for name in needed if has.get(name)]
    if found:
        return f"this CPU has instructions for it ({found[0]})"
    if not needed or "architecture" not in has:  # an older version does not know them all
        return None
    return "this CPU has no instructions for it and computes by way of others"
