"""Which of CUDA's libraries a machine gets, or why none: for set-up and for engines alike.

Standard library alone: set-up decides before anything is installed. Sources: NVIDIA's compatibility
of minor versions (libraries of a CUDA run with every driver of its major version), the release
notes of CUDA 13 (it begins at compute capability 7.5), and PyTorch's support matrix, held against
the list of architectures in the wheels of 2.13.0.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from gpuexplorer.core.cuda_driver import Driver, Gpu
from gpuexplorer.core.units import listed

OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 14)
"""Wheels follow a Python only months later."""
OLDEST_DRIVERS = {12: 525, 13: 580}
"""By CUDA's major version, the branch of the driver that it begins with."""
OLDEST_GPUS = {12: (5, 0), 13: (7, 5)}
"""By CUDA's major version, the compute capability that its libraries begin with."""
BLACKWELL = (10, 0)
BLACKWELLS_DRIVER = 570
BLACKWELLS_CUDA = (12, 8)
MACHINES = {"linux": ("x86_64", "aarch64"), "win32": ("x86_64",)}
"""By system, the processors for which there are such libraries."""
SYSTEMS = {"linux": "Linux", "win32": "Windows", "darwin": "macOS"}
TORCH_KERNELS = {
    (12, "x86_64"): ((5, 0), (6, 0), (7, 0), (7, 5), (8, 0), (8, 6), (9, 0)),
    (12, "aarch64"): ((8, 0), (9, 0)),
    (13, "x86_64"): ((7, 5), (8, 0), (8, 6), (9, 0), (10, 0), (12, 0)),
    (13, "aarch64"): ((8, 0), (9, 0), (10, 0), (11, 0), (12, 0)),
}
"""By CUDA's major version and processor, the compute capabilities that PyTorch's build has kernels
for. It has no PTX; its build for CUDA 12 brings NVRTC 12.6, which ends at 9.0 as well."""
BUILDS = ((13, True), (12, True), (13, False), (12, False))
"""CUDA's major version and whether PyTorch comes along, the best first."""
CUPTI_BESIDE_TORCH = (3, 13)
"""The newest Python with a wheel of cupti-python 13.0, which goes with PyTorch's CUPTI."""


@dataclass(frozen=True)
class Here:
    """What decides about CUDA's libraries on a machine."""

    system: str
    """As ``sys.platform`` has it."""
    machine: str
    """The processor: ``x86_64`` or ``aarch64``, whatever the system calls it."""
    driver: Driver | None
    """None: no NVIDIA driver that sees a GPU."""
    python: tuple[int, ...] | None = None
    """Whose wheels are to be had; None: it is not chosen yet."""


@dataclass(frozen=True)
class Choice:
    """What a machine gets."""

    cuda: int | None
    """CUDA's major version; None: none of its libraries."""
    torch: bool
    """Whether PyTorch comes in its build for this CUDA."""
    remark: str
    """What a user has to know and to do, as a clause; empty where nothing is left out."""


@dataclass(frozen=True)
class Fit:
    """What libraries do for the GPUs of a machine; the words are clauses."""

    trouble: str = ""
    """Why they are of no use, and what would change that; empty where they are of use."""
    left_out: tuple[Gpu, ...] = ()
    """GPUs that they do not run on, beside others that they do run on."""
    why: str = ""
    """Why those are left out."""

    @property
    def remark(self) -> str:
        """What is left out and why; empty where nothing is."""
        if not self.left_out:
            return ""
        if len(set(self.left_out)) == 1:
            return f"{self.why}: it is left out"
        return f"{self.why}: they are left out"


def this_machine(driver: Driver | None, python: tuple[int, ...] | None = None) -> Here:
    """Return what decides here."""
    return Here(sys.platform, plain_machine(platform.machine()), driver, python)


def plain_machine(name: str) -> str:
    """Return a processor's name as Linux has it."""
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name.lower(), name.lower())


def choose(here: Here) -> Choice:
    """Return the libraries that serve the most GPUs, of those the ones with PyTorch, the newest."""
    fits = {build: fit(*build, here) for build in BUILDS}
    useful = [build for build in BUILDS if not fits[build].trouble]
    if not useful:
        return Choice(None, False, fits[12, False].trouble)
    cuda, torch = min(useful, key=lambda build: len(fits[build].left_out))
    remarks = [fits[cuda, torch].remark]
    if not torch:
        with_torch = fits[cuda, True]
        remarks.append(with_torch.trouble or with_torch.why)
    return Choice(cuda, torch, "; ".join(filter(None, remarks)))


def fit(cuda: int, torch: bool, here: Here) -> Fit:
    """Return what a CUDA's libraries, and PyTorch's build for it, do on a machine."""
    trouble = trouble_of_system(here) or _trouble_of_driver(cuda, here.driver)
    if trouble or here.driver is None:
        return Fit(trouble)
    gpus = here.driver.gpus
    reasons = {gpu: _trouble_of_gpu(cuda, torch, gpu, here.machine, here.driver) for gpu in gpus}
    left_out = tuple(gpu for gpu in gpus if reasons[gpu])
    why = listed(filter(None, reasons.values()))
    return Fit(why) if len(left_out) == len(gpus) else Fit(left_out=left_out, why=why)


def trouble_of_system(here: Here) -> str:
    """Return why there are no such libraries for a system or a Python; empty where there are."""
    if here.machine not in MACHINES.get(here.system, ()):
        system = SYSTEMS.get(here.system, here.system)
        if here.system in MACHINES:
            return f"there are no wheels of CUDA's libraries for {system} on {here.machine}"
        return f"there are no wheels of CUDA's libraries for {system}"
    if here.python and not OLDEST_PYTHON <= here.python[:2] <= NEWEST_PYTHON:
        return (
            f"there are no wheels of CUDA's libraries for Python {_dotted(here.python)}: take one "
            f"from {_dotted(OLDEST_PYTHON)} to {_dotted(NEWEST_PYTHON)}"
        )
    return ""


def without_cupti(system: str, python: tuple[int, ...], torch: bool) -> str:
    """Return why cupti-python is left out beside CUDA 13; empty where it comes along."""
    if system != "linux":
        return f"there is no wheel of it for {SYSTEMS.get(system, system)}"
    if torch and python[:2] > CUPTI_BESIDE_TORCH:
        return f"the version that goes with PyTorch has no wheel for Python {_dotted(python)}"
    return ""


def _trouble_of_driver(cuda: int, driver: Driver | None) -> str:
    oldest = OLDEST_DRIVERS[cuda]
    if driver is None:
        return (
            f"CUDA {cuda} needs an NVIDIA driver {oldest} or newer, and there is no NVIDIA driver "
            "with a GPU here"
        )
    if driver.cuda[0] < cuda:
        return (
            f"CUDA {cuda} needs an NVIDIA driver {oldest} or newer, and this one runs CUDA "
            f"{_dotted(driver.cuda)}"
        )
    return ""


def _trouble_of_gpu(cuda: int, torch: bool, gpu: Gpu, machine: str, driver: Driver) -> str:
    """Return why libraries do not run on one GPU; empty where they do, or that is not known."""
    has = gpu.capability
    if has is None:
        return ""
    if has < OLDEST_GPUS[cuda]:
        oldest = _dotted(OLDEST_GPUS[cuda])
        return (
            f"CUDA {cuda} begins at compute capability {oldest}, and {gpu.name} has {_dotted(has)}"
        )
    if has >= BLACKWELL and driver.cuda < BLACKWELLS_CUDA:
        return f"{gpu.words} needs an NVIDIA driver {BLACKWELLS_DRIVER} or newer"
    if torch and not _runs_on(has, TORCH_KERNELS[cuda, machine]):
        parts = [
            f"PyTorch's build for CUDA {cuda} on aarch64 has no kernels for {gpu.words}"
            if machine == "aarch64"
            else f"PyTorch's build for CUDA {cuda} has no kernels for {gpu.words}"
        ]
        if driver.cuda[0] < 13 and _runs_on(has, TORCH_KERNELS[13, machine]):
            newer = OLDEST_DRIVERS[13]
            parts.append(f"an NVIDIA driver {newer} or newer brings one that has")
        return "; ".join(parts)
    return ""


def _runs_on(capability: tuple[int, int], built: Iterable[tuple[int, int]]) -> bool:
    """Whether a GPU runs kernels built for these: those of its major, and not of a later minor."""
    return any(one[0] == capability[0] and one[1] <= capability[1] for one in built)


def _dotted(numbers: tuple[int, ...]) -> str:
    return f"{numbers[0]}.{numbers[1]}"
