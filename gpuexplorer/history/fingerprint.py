"""What two runs must share before their times may be compared, and what of it they do not."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.hardware_id import may_be_same
from gpuexplorer.core.result import DeviceSummary, Environment, RunResult
from gpuexplorer.workloads.frameworks import FRAMEWORKS

SHOWN_DIGITS = 12
"""Of a source's SHA-256, in a sentence."""
LIBRARIES = (
    "gpuexplorer", "python", "numpy", "cupy", "pyopencl", "torch", "tensorflow", "keras", "jax",
)  # fmt: skip
"""Fields of an environment that are versions of what takes part in a run."""


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What a time depends on beyond its configuration; None is "not recorded"."""

    workload: str
    source_sha256: str | None
    """Of the workload's manifest and kernel sources."""
    compiler: str | None
    """CUDA's version: it comes with its compiler. On OpenCL the compiler is the driver's."""
    driver: str
    device: str
    """The hardware, not the place where it stands in a list."""
    device_name: str
    libraries: dict[str, str]
    """Versions by name, of those that took part."""

    @property
    def digest(self) -> str:
        """Eight bytes in hexadecimal that are equal for equal fingerprints."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:16]


def fingerprint(
    environment: Environment, device: DeviceSummary | DeviceInfo, config: RunConfig
) -> Fingerprint:
    """Return the fingerprint of a run."""
    versions = {name: getattr(environment, name) for name in LIBRARIES}
    return Fingerprint(
        workload=config.workload,
        source_sha256=environment.source_sha256,
        compiler=environment.cuda,
        driver=device.driver,
        device=device.hardware_id,
        device_name=device.name,
        libraries={name: version for name, version in versions.items() if version is not None},
    )


def fingerprint_of(result: RunResult) -> Fingerprint:
    """Return the fingerprint of a finished run."""
    return fingerprint(result.environment, result.device, result.config)


def differences(a: RunResult, b: RunResult) -> list[str]:
    """Return a sentence for everything that differs in what two runs' times depend on.

    What only one of them recorded is said too. The sources of two workloads always differ, and are
    not mentioned; nor is what each of two backends has for itself: a driver, a compiler, libraries
    that the other does not use, and frameworks' versions where the frameworks are compared.
    """
    mine, theirs = fingerprint_of(a), fingerprint_of(b)
    backends = {a.device.backend, b.device.backend}
    if len(backends) == 2:
        shared = mine.libraries.keys() & theirs.libraries.keys()
        if backends <= set(FRAMEWORKS):
            shared -= set(FRAMEWORKS)
        mine, theirs = _of_what_is_shared(mine, shared), _of_what_is_shared(theirs, shared)
    return fingerprint_differences(mine, theirs)


def _of_what_is_shared(one: Fingerprint, libraries: Collection[str]) -> Fingerprint:
    """Return a fingerprint that says nothing of what one backend alone has."""
    return msgspec.structs.replace(
        one,
        driver="",
        compiler=None,
        libraries={name: v for name, v in one.libraries.items() if name in libraries},
    )


def fingerprint_differences(a: Fingerprint, b: Fingerprint) -> list[str]:
    """Return what ``differences`` does, from the fingerprints."""
    found = []
    if not may_be_same(a.device, b.device):
        first, second = a.device_name, b.device_name
        found.append(
            f"The device differs: two of {first}."
            if first == second
            else f"The device differs: {first} and {second}."
        )
    if a.workload == b.workload:
        sources = (_short(a.source_sha256), _short(b.source_sha256))
        found += _differs("kernel source", *sources)
    found += _differs("CUDA compiler", a.compiler, b.compiler)
    found += _differs("driver", a.driver, b.driver)
    for name in sorted(a.libraries.keys() | b.libraries.keys(), key=_place):
        title = {"gpuexplorer": "GPU Explorer", "python": "Python"}.get(name, name)
        mine, theirs = a.libraries.get(name), b.libraries.get(name)
        if mine != theirs:
            found.append(f"{title} differs: {mine or 'none'} and {theirs or 'none'}.")
    return found


def _differs(title: str, mine: str | None, theirs: str | None) -> list[str]:
    if mine == theirs:
        return []
    if not mine or not theirs:
        return [f"The {title} is known for only one of them: {mine or theirs}."]
    return [f"The {title} differs: {mine} and {theirs}."]


def _short(sha256: str | None) -> str | None:
    return sha256[:SHOWN_DIGITS] if sha256 else None


def _place(name: str) -> tuple[bool, str]:
    """Our own version first."""
    return (name != "gpuexplorer", name)
