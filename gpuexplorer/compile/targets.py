"""What NVRTC is asked to compile for: an exact architecture, or PTX for a GPU newer than NVRTC."""

from __future__ import annotations

from collections.abc import Sequence

from gpuexplorer.analysis.occupancy import parse_architecture
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.frozen import to_get

Version = tuple[int, int]
"""Of CUDA, such as (13, 0)."""
OLDEST_OF_CUDA_12 = 50


def number(arch: str) -> int | None:
    """Return 90 of ``sm_90`` or ``sm_90a``; None for another text."""
    capability = parse_architecture(arch)
    return None if capability is None else capability[0] * 10 + capability[1]


def is_ptx(target: str) -> bool:
    """Return whether a target is PTX, which the driver compiles as it loads it."""
    return target.startswith("compute_")


def target_for(arch: str, known: Sequence[int], version: Version) -> str:
    """Return what to compile for so that a GPU of architecture ``arch`` runs it.

    ``known`` are the architectures that this version of NVRTC compiles for, as numbers. One among
    them is compiled for exactly. A newer GPU gets ``compute_90``: PTX of the newest architecture
    before it, without the instructions of one chip alone (``a``, ``f``), as that of those runs on
    no other. Raises CannotRunHere for a GPU older than all of them, InputError for no architecture.
    """
    wanted = number(arch)
    if wanted is None:
        raise InputError(f"'{arch}' is not an architecture")
    if wanted in known:
        return arch
    before = [one for one in known if one < wanted]
    if before:
        return f"compute_{max(before)}"
    remedy = "use another GPU"
    if wanted >= OLDEST_OF_CUDA_12 and version[0] > 12:
        remedy = f"use the CUDA 12 libraries: {to_get('gpuexplorer[cuda12]', in_an_engine=True)}"
    raise CannotRunHere(
        f"NVRTC {version[0]}.{version[1]} compiles for sm_{min(known)} and newer, "
        f"and this GPU is {arch}",
        remedy=remedy,
    )


def unknown(arch: str, known: Sequence[int], version: Version) -> InputError:
    """Return the refusal of an architecture that this version of NVRTC does not compile for."""
    names = ", ".join(f"sm_{one}" for one in known)
    return InputError(
        f"NVRTC {version[0]}.{version[1]} does not compile for '{arch}'",
        remedy=f"give one that it knows: {names}",
    )
