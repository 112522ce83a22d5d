"""The kinds of environments that can be made: what each has, and for whose driver it is.

What pip is asked for stands in each kind's lock file, which ``packaging/builder/locks.py`` makes of
pyproject's extras; here stand the words, and which extras they are.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from gpuexplorer.core.cuda_choice import (
    NEWEST_PYTHON,
    Fit,
    fit,
    this_machine,
    trouble_of_system,
    without_cupti,
)
from gpuexplorer.core.cuda_driver import Driver
from gpuexplorer.core.errors import InputError
from gpuexplorer.environments.locked import SUFFIX, engines_data, read_lock


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of environment."""

    name: str
    """What the command line calls it, and its environment at first: ``cuda13-torch``."""
    title: str
    """A few words for a list: ``CUDA 13 kernels and PyTorch``."""
    teaches: str
    """One sentence: what can be measured with it that cannot without."""
    requirements: tuple[str, ...] = ()
    """What pip is asked for."""
    lock: Path | None = None
    """The file with the pinned versions and the hashes of their wheels; None: nothing is pinned."""
    index: str | None = None
    """An index that is asked beside the configured one."""
    cuda: int | None = None
    """The CUDA of the driver that it is for; None: it needs no GPU."""
    torch: bool = False
    """Whether PyTorch is in it."""
    cupti: bool = False
    """Whether CUPTI's records and counters are, where there is a wheel for them."""
    newest_python: tuple[int, int] = NEWEST_PYTHON
    """Newer Pythons have no wheels of it yet."""
    backend: str | None = None
    """The backend whose device it brings and is tested with: ``cuda``, ``opencl``, ``torch``."""


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A kind, and what it is worth on this machine; the words are clauses."""

    kind: Kind
    trouble: str = ""
    """Why nothing of it could run here, and what would change that; empty where it can."""
    left_out: str = ""
    """Which GPUs it leaves out and why; empty where it leaves none out."""


class Recipe(msgspec.Struct, frozen=True):
    """What a kind is made of."""

    name: str
    title: str
    teaches: str
    extras: tuple[str, ...]
    """Extras of this program's own package."""
    torch: str | None = None
    """What PyTorch is to compute on: ``cpu``, ``cuda12`` or ``cuda13``; None without it."""
    cuda: int | None = None
    newest_python: tuple[int, int] = NEWEST_PYTHON
    backend: str | None = None


RECIPES = (
    Recipe(
        "cuda13", "CUDA 13 kernels",
        "Compiles kernels with NVRTC and runs them on your NVIDIA GPU, with its counters.",
        ("cuda13", "cupti"), cuda=13, backend="cuda",
    ),
    Recipe(
        "cuda13-torch", "CUDA 13 kernels and PyTorch",
        "The same, with PyTorch's operators and models beside your kernels on the GPU.",
        ("cuda13", "cupti", "torch"), torch="cuda13", cuda=13, backend="cuda",
    ),
    Recipe(
        "cuda12", "CUDA 12 kernels",
        "Compiles kernels with NVRTC and runs them on your NVIDIA GPU.",
        ("cuda12",), cuda=12, backend="cuda",
    ),
    Recipe(
        "cuda12-torch", "CUDA 12 kernels and PyTorch",
        "The same, with PyTorch's operators and models beside your kernels on the GPU.",
        ("cuda12", "torch"), torch="cuda12", cuda=12, backend="cuda",
    ),
    Recipe(
        "cpu", "Kernels on the CPU",
        "Runs the kernels' own sources on the processor through OpenCL, where a block's shape "
        "shows as it does on a GPU.",
        ("cpu",), backend="opencl",
    ),
    Recipe(
        "cpu-torch", "PyTorch on the CPU",
        "Runs PyTorch's operators and models on the processor: precisions, switches, compiled or "
        "eager.",
        ("torch",), torch="cpu", backend="torch",
    ),
    Recipe(
        "cpu-frameworks", "PyTorch, TensorFlow, Keras and JAX on the CPU",
        "Runs the same model in four frameworks on the processor, side by side.",
        ("torch", "tensorflow", "keras", "jax"), torch="cpu", newest_python=(3, 13),
        backend="torch",
    ),
)  # fmt: skip


def all_kinds() -> tuple[Kind, ...]:
    """Return every kind, whatever this machine has; those for the CPU come last.

    Raises InputError when an installed file cannot be read.
    """
    return tuple(_kind(recipe) for recipe in RECIPES)


def offers(driver: Driver | None) -> tuple[Offer, ...]:
    """Return every kind as it is worth with a driver (None: with no NVIDIA GPU), the best first.

    Those that serve every GPU come before those that leave some out; those of no use come last.
    """
    fits = [(kind, fit_of(kind, driver)) for kind in all_kinds()]
    found = [Offer(kind=kind, trouble=one.trouble, left_out=one.remark) for kind, one in fits]
    return tuple(sorted(found, key=lambda one: (bool(one.trouble), bool(one.left_out))))


def fit_of(kind: Kind, driver: Driver | None) -> Fit:
    """Return what a kind does for the GPUs of a driver; kinds for the CPU are of use everywhere."""
    return Fit() if kind.cuda is None else fit(kind.cuda, kind.torch, this_machine(driver))


def missing_of(kind: Kind, python: tuple[int, ...]) -> dict[str, str]:
    """Return the packages that a kind has to do without, with the reason, as clauses."""
    why = without_cupti(sys.platform, python[:2], kind.torch) if kind.cupti else ""
    return {"cupti-python": why} if why else {}


def check_wheels(kind: Kind, python: tuple[int, ...]) -> None:
    """Raise InputError where a kind has no wheels for this system or for a Python."""
    trouble = trouble_of_system(this_machine(None)) if kind.cuda is not None else ""
    if trouble:
        raise InputError(f"'{kind.name}' cannot be made here: {trouble}")
    if kind.lock is not None and python[:2] > kind.newest_python:
        newest = ".".join(map(str, kind.newest_python))
        raise InputError(
            f"'{kind.name}' cannot be made with Python {python[0]}.{python[1]}: its packages have "
            "no wheels for it yet",
            remedy=f"choose a Python up to {newest} (--python)",
        )


def find_kind(name: str) -> Kind:
    """Return the kind of a name; InputError for one that there is not."""
    for recipe in RECIPES:
        if recipe.name == name:
            return _kind(recipe)
    names = ", ".join(recipe.name for recipe in RECIPES)
    raise InputError(f"there is no kind of environment '{name}'", remedy=f"choose of {names}")


def lock_file(name: str) -> Path:
    """Return where the lock of a kind stands."""
    return engines_data() / f"{name}{SUFFIX}"


def _kind(recipe: Recipe) -> Kind:
    path = lock_file(recipe.name)
    lock = read_lock(path)
    return Kind(
        name=recipe.name,
        title=recipe.title,
        teaches=recipe.teaches,
        requirements=lock.requirements,
        lock=path,
        index=lock.index.get(sys.platform),
        cuda=recipe.cuda,
        torch=recipe.torch is not None,
        cupti="cupti" in recipe.extras,
        newest_python=recipe.newest_python,
        backend=recipe.backend,
    )
