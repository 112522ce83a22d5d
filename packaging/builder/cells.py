"""The systems and Pythons that engines are made for, and which wheels fit one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_wheel_filename

from gpuexplorer.core.cuda_choice import MACHINES, NEWEST_PYTHON, OLDEST_PYTHON, plain_machine
from gpuexplorer.environments.kinds import Recipe

PYTHONS = tuple(f"3.{minor}" for minor in range(OLDEST_PYTHON[1], NEWEST_PYTHON[1] + 1))
OLDEST_GLIBC = 28
"""PyTorch's wheels ask for glibc 2.28, which is Debian 10's and Red Hat 8's."""
OLDEST_MACOS = (14, 0)
"""PyTorch's wheels ask for it."""


@dataclass(frozen=True)
class System:
    """An operating system on a processor, as environment markers and as wheels call it."""

    sys_platform: str
    machine: str
    os_name: str
    platform_system: str

    @property
    def name(self) -> str:
        """What the lock files call it."""
        return f"{self.sys_platform}-{self.machine}"

    @property
    def wheel_platforms(self) -> list[str]:
        """The platforms of the wheels that it takes."""
        if self.sys_platform == "linux":
            modern = [f"manylinux_2_{minor}_{self.machine}" for minor in range(OLDEST_GLIBC, 4, -1)]
            old = [f"manylinux{year}_{self.machine}" for year in ("2014", "2010", "1")]
            return [*modern, *old, f"linux_{self.machine}"]
        if self.sys_platform == "win32":
            return ["win_amd64"]
        return list(mac_platforms(OLDEST_MACOS, self.machine))


SYSTEMS = (
    System("linux", "x86_64", "posix", "Linux"),
    System("linux", "aarch64", "posix", "Linux"),
    System("win32", "AMD64", "nt", "Windows"),
    System("darwin", "arm64", "posix", "Darwin"),
)


@dataclass(frozen=True)
class Cell:
    """A system with a Python."""

    system: System
    python: str

    @property
    def words(self) -> str:
        """Say which it is."""
        return f"{self.system.name} with Python {self.python}"

    @cached_property
    def environment(self) -> dict[str, str]:
        """What environment markers see there."""
        return {
            "sys_platform": self.system.sys_platform,
            "os_name": self.system.os_name,
            "platform_system": self.system.platform_system,
            "platform_machine": self.system.machine,
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "implementation_name": "cpython",
            "implementation_version": f"{self.python}.0",
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_version": "",
            "extra": "",
        }

    def takes(self, files: Iterable[str]) -> str | None:
        """Return the first of some wheels, by their files' names, that can be installed there."""
        tags = _tags(self.system, self.python)
        return next((file for file in files if parse_wheel_filename(file)[3] & tags), None)


@cache
def _tags(system: System, python: str) -> frozenset[Tag]:
    version = tuple(map(int, python.split(".")))
    interpreter = f"cp{''.join(python.split('.'))}"
    platforms = system.wheel_platforms
    return frozenset(
        [
            *cpython_tags(version, platforms=platforms),
            *compatible_tags(version, interpreter=interpreter, platforms=platforms),
        ]
    )


def cells_of(recipe: Recipe) -> frozenset[Cell]:
    """Return where a kind is offered: for a GPU only where CUDA's libraries are."""
    return frozenset(
        Cell(system, python)
        for system in SYSTEMS
        for python in PYTHONS
        if tuple(map(int, python.split("."))) <= recipe.newest_python
        and (
            recipe.cuda is None
            or plain_machine(system.machine) in MACHINES.get(system.sys_platform, ())
        )
    )


# ---- as the lock files name them


def lines_of(cells: Iterable[Cell], among: Iterable[Cell]) -> list[str]:
    """Return cells in a lock file's words: none where they are all of a kind's."""
    wanted, every = set(cells), set(among)
    if wanted == every:
        return []
    lines = []
    for system in SYSTEMS:
        here = [python for python in PYTHONS if Cell(system, python) in wanted]
        if here:
            whole = all(Cell(system, python) not in every - wanted for python in PYTHONS)
            lines.append(" ".join([system.name] if whole else [system.name, *here]))
    return lines


def cells_in(lines: Iterable[str], among: Iterable[Cell]) -> Iterator[Cell]:
    """Yield the cells that a lock file's words name."""
    named = dict(line.partition(" ")[::2] for line in lines)
    for cell in among:
        pythons = named.get(cell.system.name)
        if not named or (pythons is not None and (not pythons or cell.python in pythons.split())):
            yield cell
