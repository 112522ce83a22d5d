"""The GPU architectures a kernel can be analysed for, with the cards people know them by."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from gpuexplorer.analysis.occupancy import (
    LIMITS,
    MAX_THREADS_PER_BLOCK,
    MultiprocessorLimits,
    parse_architecture,
)
from gpuexplorer.core.device import DeviceInfo, DeviceLimits
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.precision import BFLOAT_SINCE, KERNEL_PRECISIONS

ALL = "all"
DEFAULT_ARCHITECTURE = "sm_90"
"""Where one is wanted, and neither the user nor a GPU says which."""


class Architecture(msgspec.Struct, frozen=True, kw_only=True):
    """One architecture: the compiler's name, the family's, and well-known GPUs of it."""

    name: str
    family: str
    gpus: tuple[str, ...]

    @property
    def title(self) -> str:
        """The name with its GPUs, such as ``sm_90 · H100, H200``."""
        return f"{self.name} · {', '.join(self.gpus)}"


ARCHITECTURES: dict[str, Architecture] = {
    a.name: a
    for a in (
        Architecture(name="sm_75", family="Turing", gpus=("T4", "RTX 2080 Ti")),
        Architecture(name="sm_80", family="Ampere", gpus=("A100", "A30")),
        Architecture(name="sm_86", family="Ampere", gpus=("RTX 3090", "A10", "A40")),
        Architecture(name="sm_89", family="Ada", gpus=("RTX 4090", "L4", "L40S")),
        Architecture(name="sm_90", family="Hopper", gpus=("H100", "H200")),
        Architecture(name="sm_100", family="Blackwell", gpus=("B200", "GB200")),
        Architecture(name="sm_120", family="Blackwell", gpus=("RTX 5090", "RTX 5080")),
    )
}
"""What ``all`` means, oldest first."""


def chosen_architectures(wanted: Iterable[str]) -> list[str]:
    """Return the compiler's names for architectures or GPUs: ``sm_90``, ``H100``, ``rtx4090``, all.

    Each once, in the order given; none given means all. Raises InputError for an unknown one.
    """
    names: list[str] = []
    for text in wanted:
        names += ARCHITECTURES if text.strip().lower() == ALL else [_one(text)]
    return list(dict.fromkeys(names)) or list(ARCHITECTURES)


def one_architecture(wanted: Iterable[str]) -> str:
    """Return the architecture that is named, by default the usual one; InputError for several."""
    found = chosen_architectures(tuple(wanted) or (DEFAULT_ARCHITECTURE,))
    if len(found) > 1:
        raise InputError(
            "accesses are held against one architecture, and there are several", remedy="name one"
        )
    return found[0]


def _one(text: str) -> str:
    plain = _plain(text)
    number = re.fullmatch(r"(?:sm)?(\d{2,3}[af]?)", plain)
    if number is not None:
        return f"sm_{number[1]}"
    for architecture in ARCHITECTURES.values():
        names = [_plain(gpu) for gpu in architecture.gpus]
        if plain in (*names, *(name.removeprefix("rtx") for name in names)):
            return architecture.name
    known = ", ".join(ARCHITECTURES)
    raise InputError(
        f"no architecture '{text}'", remedy=f"use one of {known}, all, or a GPU such as H100"
    )


def _plain(text: str) -> str:
    return re.sub(r"[\s_-]", "", text.lower())


def limits_of(arch: str) -> MultiprocessorLimits | None:
    """Return one multiprocessor's limits; None for an architecture that is not in the table."""
    capability = parse_architecture(arch)
    return None if capability is None else LIMITS.get(capability)


def gpu_words(arch: str) -> str:
    """Return the GPUs an architecture is known by; empty for another one."""
    known = ARCHITECTURES.get(arch.rstrip("af"))
    return ", ".join(known.gpus) if known else ""


def exact_architecture(arch: str, requires: Iterable[str]) -> str:
    """Return ``sm_90a`` for ``sm_90`` where a variant requires that chip's own instructions."""
    own = f"{arch}a"
    return own if own in requires else arch


def device_of(arch: str) -> DeviceInfo:
    """Return a GPU of this architecture as launches are checked against it; it need not exist.

    Sizes are not limited by its memory. For an architecture without known limits the usual 48 KiB
    of shared memory a block are assumed allowed.
    """
    capability = parse_architecture(arch)
    limits = limits_of(arch)
    shared_B = limits.shared_per_block_B if limits is not None else DeviceLimits().max_shared_B
    bfloat = (capability or (0, 0)) >= BFLOAT_SINCE
    precisions = tuple(name for name in KERNEL_PRECISIONS if bfloat or name != "bf16")
    features = ("cuda", "c++", "shuffle", "fp64", "fp16", arch, arch.rstrip("af"))
    return DeviceInfo(
        id=f"cuda:{arch}",
        hardware_id=arch,
        name=gpu_words(arch) or arch,
        backend="cuda",
        kind="gpu",
        driver="none",
        compute_units=1,
        limits=DeviceLimits(max_threads_per_block=MAX_THREADS_PER_BLOCK, max_shared_B=shared_B),
        precisions=precisions,
        features=tuple(dict.fromkeys(features)),
        runs_kernels=True,
        compute_capability=capability,
    )
