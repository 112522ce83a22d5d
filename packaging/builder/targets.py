"""What can be built: each module of this package lists its targets, and they are put in order."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.errors import BuildError
from builder.tools import lacking
from builder.version import read_epoch, read_version

MODULES: tuple[str, ...] = (
    "wheel",
    "frozen",
    "deb",
    "tarball",
    "appimage",
    "windows",
    "macos",
    "notices",
    "sbom",
    "checksums",
)  # fmt: skip
"""The modules that have ``TARGETS``, in the order in which they are listed."""


@dataclass(frozen=True)
class Context:
    """Where and for what is built."""

    root: Path
    """The checkout."""
    work: Path
    """For what stands between, such as the frozen program: ``build/``."""
    out: Path
    """For what is given to users: ``dist/``."""
    version: str
    epoch: int
    """The seconds since 1970 of every date in a package."""
    arch: str
    """The processor, as ``platform.machine`` calls it on Linux: x86_64, aarch64."""

    @property
    def frozen(self) -> Path:
        """The folder of the frozen program."""
        return self.work / "frozen" / "gpuexplorer"


@dataclass(frozen=True)
class Target:
    """One thing to build."""

    name: str
    title: str
    needs: tuple[str, ...]
    """Programs, modules or platforms (see ``tools``)."""
    after: tuple[str, ...]
    """Targets that are built first."""
    build: Callable[[Context], list[Path]]
    """Builds it and returns the files for users; BuildError in a sentence."""

    def problems(self) -> list[str]:
        """Return what this system lacks for it, in words."""
        return [said for need in self.needs if (said := lacking(need)) is not None]


def make_context(root: Path, work: Path | None = None, out: Path | None = None) -> Context:
    """Return the context of a checkout on this machine; BuildError when it is none."""
    return Context(
        root=root,
        work=work or root / "build",
        out=out or root / "dist",
        version=read_version(root),
        epoch=read_epoch(root),
        arch=normal_arch(platform.machine()),
    )


def normal_arch(machine: str) -> str:
    """Return one name for a processor that systems call differently."""
    lower = machine.lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(lower, lower)


def registry() -> dict[str, Target]:
    """Return every target by its name."""
    found: dict[str, Target] = {}
    for name in MODULES:
        for target in importlib.import_module(f"builder.{name}").TARGETS:
            if target.name in found:
                raise BuildError(f"two targets are called '{target.name}'; rename one")
            found[target.name] = target
    return found


def ordered(names: Iterable[str], targets: Mapping[str, Target]) -> list[Target]:
    """Return targets and what they come after, each once, in an order in which they can be built.

    Raises BuildError for a name that no target has, and for targets that wait for each other.
    """
    done: list[Target] = []

    def visit(name: str, path: Sequence[str]) -> None:
        if name not in targets:
            raise BuildError(f"there is no target '{name}'; known are {', '.join(targets)}")
        if name in path:
            raise BuildError(f"targets wait for each other: {' -> '.join([*path, name])}")
        target = targets[name]
        if target in done:
            return
        for before in target.after:
            visit(before, [*path, name])
        done.append(target)

    for name in names:
        visit(name, [])
    return done
