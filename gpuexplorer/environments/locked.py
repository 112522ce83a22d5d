"""The lock files that are shipped: pinned versions, and the hash of every wheel of them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec

from gpuexplorer.core import resources
from gpuexplorer.core.errors import InputError

SCHEMA = "gpuexplorer/engine-lock/1"
SUFFIX = ".lock"


class Wheel(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a pinned version."""

    file: str
    sha256: str
    size_B: int | None = None


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """One package at the version that is pinned; without wheels its hashes come from the index."""

    name: str
    version: str
    """Or a series, such as ``12.6.*``, of which another package chooses."""
    only: tuple[str, ...] = ()
    """Where it is needed: systems, each with its Pythons unless it is all; empty: everywhere."""
    wheels: list[Wheel] = []


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in a lock file."""

    schema: str = SCHEMA
    kind: str
    requirements: tuple[str, ...]
    """What pip is asked for, with environment markers."""
    index: dict[str, str] = {}
    """An index that is asked beside the configured one, by ``sys.platform``."""
    packages: list[Pinned] = []

    @property
    def constraints(self) -> list[str]:
        """The pinned versions as pip and uv read them."""
        return [f"{one.name}=={one.version}" for one in self.packages]

    def wheel(self, file: str) -> Wheel | None:
        """Return what is known of a wheel by its file's name."""
        return next((w for one in self.packages for w in one.wheels if w.file == file), None)

    @property
    def hashes(self) -> dict[str, str]:
        """The hashes of all wheels, by their files' names."""
        return {wheel.file: wheel.sha256 for one in self.packages for wheel in one.wheels}


def plain(name: str) -> str:
    """Return a package's name as indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def engines_data() -> Path:
    """Return the folder with the lock files, and in a frozen program with uv."""
    return resources.folder() / "engines"


@cache
def read_lock(path: Path) -> Lock:
    """Return what stands in a lock file; InputError when it cannot be read."""
    try:
        found = msgspec.toml.decode(path.read_bytes(), type=Lock)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}", remedy="install GPU Explorer again"
        ) from None
    except msgspec.DecodeError as error:
        raise InputError(
            f"{path} cannot be read: {error}", remedy="install GPU Explorer again"
        ) from None
    return found
