"""The kinds of environments that can be made: what each has, and for whose driver it is.

What pip is asked for stands in each kind's lock file, which ``packaging/builder/locks.py`` makes of
pyproject's extras; here stand the words, and which extras they are.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.environments.driver import Driver
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
    backend: str | None = None
    """The backend whose device it brings and is tested with: ``cuda``, ``opencl``, ``torch``."""


@dataclass(frozen=True)
class Recipe:
    """What a kind is made of."""

    name: str
    title: str
    teaches: str
    extras: tuple[str, ...]
    """Extras of this program's own package."""
    torch: str | None = None
    """What PyTorch is to compute on: ``cpu``, ``cuda12`` or ``cuda13``; None without it."""
    cuda: int | None = None
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
        ("torch", "tensorflow", "keras", "jax"), torch="cpu", backend="torch",
    ),
)  # fmt: skip


def all_kinds() -> tuple[Kind, ...]:
    """Return every kind, whatever this machine has; those for the CPU come last.

    Raises InputError when an installed file cannot be read.
    """
    return tuple(_kind(recipe) for recipe in RECIPES)


def kinds_for(driver: Driver | None) -> tuple[Kind, ...]:
    """Return the kinds that are of use with a driver (None: with no NVIDIA GPU), the best first.

    A driver runs every CUDA up to its own; kinds for the CPU are of use everywhere.
    """
    newest = 0 if driver is None else driver.cuda[0]
    return tuple(kind for kind in all_kinds() if kind.cuda is None or kind.cuda <= newest)


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
        backend=recipe.backend,
    )
