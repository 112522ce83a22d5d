"""Which Debian packages a folder of programs needs: asked of its ELF files, not listed by hand."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from builder.errors import BuildError
from builder.files import entries

MAGIC = b"\x7fELF"
KNOWN = Path("/var/lib/dpkg/info")
"""Where each installed package of libraries says how to depend on them: ``*.shlibs``."""
DATA_PACKAGES = {"libxkbcommon.so.0": "xkb-data"}
"""What a library that is packed with the program reads at run time, which no ELF file names."""
_SHLIBS = re.compile(r"^(?:(\S+): )?(\S+) (\S+) (\S.*)$")
_GLIBC = re.compile(rb"\0GLIBC_(\d+)\.(\d+)(?=\0)")
"""A version in a file's table of names."""
_DYNAMIC, _LOAD = 2, 1
_NEEDED, _STRINGS = 1, 5


def elf_files(folder: Path) -> list[Path]:
    """Return the ELF files below a folder, links left out."""
    found = []
    for path in entries(folder):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as stream:
                if stream.read(4) == MAGIC:
                    found.append(path)
    return found


def needed_packages(folder: Path, known: Path = KNOWN) -> list[str]:
    """Return the Debian packages, with their oldest versions, that the folder's ELF files need.

    They are found among what is installed here. Raises BuildError when a library is neither in the
    folder nor in an installed package.
    """
    asked = outside(folder)
    packages = package_of(known)
    missing = {name: users for name, users in asked.items() if name not in packages}
    if missing:
        said = "; ".join(f"{name}, needed by {user}" for name, user in missing.items())
        raise BuildError(
            f"these libraries are neither in {folder} nor in an installed package: {said}; install "
            "them, or leave out of the program what needs them"
        )
    glibc = f"libc6 (>= {oldest_glibc(folder)})"
    found = {packages[name] for name in asked}
    found = {glibc if word.partition(" ")[0] == "libc6" else word for word in found}
    names = {path.name for path in entries(folder)}
    return sorted(found | {data for library, data in DATA_PACKAGES.items() if library in names})


def outside(folder: Path) -> dict[str, str]:
    """Return each library that is needed and not in the folder, with a file that needs it."""
    inside = {path.name for path in entries(folder) if path.exists()}
    found: dict[str, str] = {}
    for path in elf_files(folder):
        for name in needed(path.read_bytes()):
            if name not in inside:
                found.setdefault(name, path.relative_to(folder).as_posix())
    return dict(sorted(found.items()))


def needed(data: bytes) -> list[str]:
    """Return the names of the libraries that an ELF file asks for; none where it is not 64-bit."""
    if len(data) < 64 or data[4:6] != b"\x02\x01":
        return []
    table, size, count = (
        *struct.unpack_from("<Q", data, 32),
        *struct.unpack_from("<HH", data, 54),
    )
    segments = [struct.unpack_from("<IIQQQQ", data, table + size * n) for n in range(count)]
    loads = [(s[3], s[2], s[5]) for s in segments if s[0] == _LOAD]
    names: list[int] = []
    strings = None
    for kind, _, offset, _, _, length in segments:
        if kind != _DYNAMIC:
            continue
        for place in range(offset, offset + length, 16):
            tag, value = struct.unpack_from("<qQ", data, place)
            if tag == _NEEDED:
                names.append(value)
            elif tag == _STRINGS:
                strings = _offset(value, loads)
            elif tag == 0:
                break
    if strings is None:
        return []
    begins = [strings + name for name in names]
    return [data[begin : data.index(b"\0", begin)].decode() for begin in begins]


def _offset(address: int, loads: Iterable[tuple[int, int, int]]) -> int | None:
    """Return where in the file an address in memory lies."""
    for start, offset, length in loads:
        if start <= address < start + length:
            return address - start + offset
    return None


def package_of(known: Path) -> Mapping[str, str]:
    """Return for each library of installed packages what a package that needs it depends on."""
    found = {}
    for path in sorted(known.glob("*.shlibs")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = _SHLIBS.match(line.strip())
            if row is not None and row[1] is None:  # others are for the installer of Debian
                found[f"{row[2]}.so.{row[3]}"] = row[4]
                found[f"{row[2]}-{row[3]}.so"] = row[4]
    return found


def oldest_glibc(folder: Path) -> str:
    """Return the version of glibc that the folder's ELF files ask for at least, such as 2.28."""
    asked = {(2, 17)}
    for path in elf_files(folder):
        found = _GLIBC.findall(path.read_bytes())
        asked |= {(int(major), int(minor)) for major, minor in found}
    return "{}.{}".format(*max(asked))
