"""What an environment is made of: wheels, and where they come from."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import msgspec


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where wheels come from."""

    folder: Path | None = None
    """A folder of wheels; None: the package index that pip is configured for."""

    @property
    def words(self) -> str:
        """Say it in a few words."""
        return "the package index" if self.folder is None else str(self.folder)


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """One wheel of a plan."""

    name: str
    version: str
    file: str
    """The wheel's file name."""
    url: str
    """Where it is fetched from, ``file:`` for one on this machine."""
    sha256: str
    size_B: int | None = None
    """None where the index does not say."""
    vouched_by: str = "index"
    """Whose hash it is: ``lock``, ``SHA256SUMS`` or ``index``."""

    @property
    def local(self) -> Path | None:
        """The file, if it is on this machine."""
        return local_file(self.url)


def local_file(url: str) -> Path | None:
    """Return the file that an address names, if it is on this machine."""
    parts = urlsplit(url)
    return Path(url2pathname(unquote(parts.path))) if parts.scheme == "file" else None


def file_name(url: str) -> str:
    """Return the name of the file at an address."""
    return unquote(urlsplit(url).path).rpartition("/")[2]
