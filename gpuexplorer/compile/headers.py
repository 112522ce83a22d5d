"""CUDA's headers, given to NVRTC by value: no path of this machine reaches the compiler.

On Windows NVRTC decodes include paths outside ASCII wrongly, and a user's name stands in most of
them (hashcat #4885, cupy #7581). By value the headers also belong to what a cached result is
named by.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import posixpath
import re
from pathlib import Path

_INCLUDE = re.compile(
    rb'^([ \t]*#[ \t]*include[ \t]*)(?:"([^"\r\n]+)"|<([^>\r\n]+)>)', re.MULTILINE
)
_COMPUTED = re.compile(rb"^[ \t]*#[ \t]*include[ \t]+[A-Za-z_]", re.MULTILINE)
_VERSION = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+CUDA_VERSION[ \t]+(\d+)", re.MULTILINE)
_PARTS = {
    "runtime": "cuda_fp16.h",
    "crt": "crt/mma.h",
    "cccl": "cuda/barrier",
}
"""What CUDA's headers come in, by one header that each has: fp16, bf16, fp8 and cooperative groups;
what ``mma.h`` is made of; ``cuda/…``, ``cub``, and ``nv/target``, which the others need."""


def header_folders(major: int) -> tuple[Path, ...]:
    """Return where the headers of CUDA ``major`` stand: packages from pip, then the toolkit.

    The toolkit is the one that CUDA_PATH or CUDA_HOME names, where it has the same major version.
    """
    packaged = [_packaged(part, major) for part in _PARTS]
    found = [folder for folder in packaged if folder is not None]
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if os.environ.get(variable):
            found += _of_toolkit(Path(os.environ[variable]) / "include", major)
    return tuple(dict.fromkeys(found))


def lacks_some(folders: tuple[Path, ...]) -> bool:
    """Return whether a part of CUDA's headers is in none of these folders."""
    return not all(headers_in(folders).has(header) for header in _PARTS.values())


@functools.cache
def _packaged(part: str, major: int) -> Path | None:
    """Return the folder of one part in its package of this major version."""
    if major > 12:
        package = f"nvidia-cuda-{part}"
    else:  # there the compiler's package has the part that it calls crt
        own = "nvcc" if part == "crt" else part
        package = f"nvidia-cuda-{own}-cu{major}"
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return None
    if distribution.version.partition(".")[0] != str(major):
        return None
    marker = _PARTS[part]
    for file in distribution.files or []:
        path = file.as_posix()
        if path.endswith((f"/include/{marker}", f"/include/cccl/{marker}")):
            return Path(str(distribution.locate_file(path.removesuffix(f"/{marker}"))))
    return None


def _of_toolkit(include: Path, major: int) -> list[Path]:
    try:
        version = _VERSION.search((include / "cuda.h").read_bytes())
    except OSError:
        return []
    if version is None or int(version[1]) // 1000 != major:
        return []
    return [folder for folder in (include, include / "cccl") if folder.is_dir()]


class Headers:
    """The headers below some folders, each read once."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self._folders = folders
        self._where: dict[str, Path | None] = {}
        self._read: dict[str, tuple[bytes, frozenset[str]]] = {}

    def has(self, name: str) -> bool:
        """Return whether an include of ``name`` finds a header here."""
        return self._folder(name) is not None

    def included_by(self, source: str) -> dict[str, bytes]:
        """Return the text of every header that ``source`` includes, and those include, by name.

        Conditions are not evaluated, so there may be more than the compiler asks for. In the
        headers' own includes the names are those returned, whatever folder they are relative to.
        """
        found: dict[str, bytes] = {}
        _, waiting = self._resolve(source.encode(), "")
        todo = sorted(waiting)
        while todo:
            name = todo.pop()
            if name not in found:
                if name not in self._read:
                    folder = self._folder(name)
                    assert folder is not None
                    text = (folder / name).read_bytes()
                    self._read[name] = self._resolve(text, posixpath.dirname(name))
                found[name], included = self._read[name]
                todo += included - found.keys()
        return dict(sorted(found.items()))

    def _folder(self, name: str) -> Path | None:
        if name not in self._where:
            plain = posixpath.normpath(name) == name and not re.match(r"[./]|.*[:\\]", name)
            candidates = (f for f in self._folders if plain and (f / name).is_file())
            self._where[name] = next(candidates, None)
        return self._where[name]

    def _resolve(self, text: bytes, beside: str) -> tuple[bytes, frozenset[str]]:
        """Return a text with the full names of headers in its includes, and those names."""
        included: set[str] = set()

        def full(match: re.Match[bytes]) -> bytes:
            name = (match[2] or match[3]).decode(errors="replace")
            relative = posixpath.normpath(posixpath.join(beside, name))
            for candidate in (relative, name) if match[2] else (name,):
                if self.has(candidate):
                    included.add(candidate)
                    return match[1] + f"<{candidate}>".encode()
            return match[0]

        replaced = _INCLUDE.sub(full, text)
        if _COMPUTED.search(text):  # the name is a macro's: it may be any of the same library
            included |= self._all_of(beside.partition("/")[0])
        return replaced, frozenset(included)

    def _all_of(self, library: str) -> set[str]:
        """Return every header below one top folder, such as ``thrust``."""
        found: set[str] = set()
        for folder in self._folders if library else ():
            below = (folder / library).rglob("*")
            found |= {f.relative_to(folder).as_posix() for f in below if f.is_file()}
        return {name for name in found if not name.endswith((".py", ".pyc"))}


@functools.cache
def headers_in(folders: tuple[Path, ...]) -> Headers:
    """Return the headers below these folders, the same ones each time."""
    return Headers(folders)
