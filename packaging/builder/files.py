"""Files of a package: never half written, with the same modes and dates whoever builds them."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from builder.errors import BuildError

EXECUTABLE, PLAIN = 0o755, 0o644


def write_bytes(path: Path, data: bytes, mode: int = PLAIN) -> None:
    """Write a file, and its folder; nobody ever sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(data)
    fresh.chmod(mode)
    fresh.replace(path)


def write_text(path: Path, text: str, mode: int = PLAIN) -> None:
    """Write a file of UTF-8 text, and its folder."""
    write_bytes(path, text.encode(), mode)


def gzipped(data: bytes) -> bytes:
    """Compress as well as gzip can, without name and date."""
    return gzip.compress(data, 9, mtime=0)


def fresh_folder(path: Path) -> Path:
    """Return the folder, made and empty."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder: links as links, programs executable, all else plain, no compiled Python.

    Raises BuildError when the source is missing, or a link in it leads out of it: the copy would
    depend on the machine that built it.
    """
    if not source.is_dir():
        raise BuildError(f"there is no folder {source}; build it first: builder frozen")
    inside = source.resolve()
    target.mkdir(parents=True, exist_ok=True)
    for folder, names, files in os.walk(source):
        here = Path(folder)
        there = target / here.relative_to(source)
        names[:] = [name for name in names if name != "__pycache__"]
        for name in [*names, *files]:
            entry, copy = here / name, there / name
            if entry.is_symlink():
                leads = entry.readlink()
                if leads.is_absolute() or not entry.resolve().is_relative_to(inside):
                    raise BuildError(f"{entry} leads to {leads}, outside of what is packed")
                copy.symlink_to(leads)
            elif entry.is_dir():
                copy.mkdir()
            else:
                shutil.copyfile(entry, copy)
                copy.chmod(EXECUTABLE if _is_program(entry) else PLAIN)


def _is_program(path: Path) -> bool:
    """Whether a file is one that is started: wheels mark libraries and data as such, too."""
    if not path.stat().st_mode & 0o111 or ".so" in path.suffixes:
        return False
    with path.open("rb") as stream:
        return stream.read(4).startswith((b"\x7fELF", b"#!"))


def entries(folder: Path) -> Iterator[Path]:
    """Yield everything below a folder by name, folders before what is in them."""
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from entries(path)


def settle(folder: Path, epoch: int) -> None:
    """Give a folder and all in it one date, and folders the usual mode."""
    for path in [*entries(folder), folder]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(EXECUTABLE)
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
