"""What the frozen program is made of: every file and module in it, and whose it is.

PyInstaller's tables say where each came from. What a package's RECORD lists is that package's, what
dpkg knows is a Debian package's, the standard library is Python's. Something of unknown origin
stops the build: nobody could say under which terms it is passed on.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path, PurePosixPath

from builder.errors import BuildError
from builder.parts import (
    FONT_OF,
    Kind,
    Part,
    debian_part,
    dpkg_query,
    font_part,
    normal_name,
    python_part,
    wheel_part,
    windows_part,
)
from builder.targets import Context

PRODUCT = "gpuexplorer"
CONTENTS = "_internal"
"""The folder beside the program that holds everything else."""
WHEELS_FILE = "wheels.json"
"""Written by the set-up into the environment: the SHA-256 of each wheel that pip installed."""
Owner = tuple[Kind, str]
_OURS: Owner = (Kind.WHEEL, PRODUCT)
_LOADER: Owner = (Kind.WHEEL, "pyinstaller")
_PYTHON: Owner = (Kind.PYTHON, "python")
_WINDOWS: Owner = (Kind.WINDOWS, "windows")


def parts(context: Context, folder: Path | None = None) -> list[Part]:
    """Return what the frozen program, or the one in ``folder``, is made of, by kind and name.

    Raises BuildError when there is no frozen program, or something in it has no known origin or no
    licence.
    """
    folder = folder or context.frozen
    tables = context.work / "pyinstaller" / PRODUCT
    if not folder.is_dir() or not (tables / "COLLECT-00.toc").is_file():
        raise BuildError(f"there is no {folder} with its tables; build it: builder frozen")
    owners = Owners(context)
    sources = files(folder, tables)
    owner_of = owners.of([*sources.values(), *modules(tables)])
    owned: dict[Owner, list[str]] = {owner: [] for owner in owner_of.values() if owner != _OURS}
    for name, source in sources.items():
        if owner_of[source] != _OURS:
            owned[owner_of[source]].append(name)
    found = [owners.part(owner, names) for owner, names in owned.items()]
    return sorted(found, key=lambda part: (part.kind.name, part.name, part.version))


# --- PyInstaller's tables ------------------------------------------------------------------------


def files(folder: Path, tables: Path) -> dict[str, Path]:
    """Return the files in the program's folder, links left out, with what each was made from.

    Raises BuildError for one that no table has. Not asked about is what stands beside the program:
    the papers that builders write.
    """
    sources = {}
    for name, source, kind in _entries(tables / "COLLECT-00.toc"):
        place = PurePosixPath(name.replace("\\", "/"))
        sources[str(place if kind == "EXECUTABLE" else CONTENTS / place)] = Path(source)
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not path.is_file():
            continue
        if name in sources:
            found[name] = sources[name]
        elif "/" in name:
            raise BuildError(f"nothing says where {path} comes from; build again: builder frozen")
    return found


def modules(tables: Path) -> Iterator[Path]:
    """Yield the sources of the modules and scripts that are packed into the program."""
    for table in sorted([*tables.glob("PYZ-*.toc"), *tables.glob("PKG-*.toc")]):
        for _name, source, kind in _entries(table):
            if kind.startswith("PY") and os.path.isabs(source) and Path(source).suffix != ".pyz":
                yield Path(source)


def _entries(table: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the entries of a table, name, source and kind, wherever they stand in it."""

    def walk(value: object) -> Iterator[tuple[str, str, str]]:
        match value:
            case (str() as name, str() as source, str() as kind):
                yield name, source, kind
            case list() | tuple():
                for inner in value:
                    yield from walk(inner)

    try:
        content = ast.literal_eval(table.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError) as error:
        raise BuildError(f"{table} cannot be read ({error}); build again: builder frozen") from None
    yield from walk(content)


# --- whose it is ---------------------------------------------------------------------------------


class Owners:
    """Tells whose a file of the building machine is, and what its owner says of its terms."""

    def __init__(self, context: Context) -> None:
        """Look at what is installed in the Python that builds."""
        self._root, self._work = context.root, context.work / "pyinstaller"
        self._distributions: dict[str, metadata.Distribution] = {}
        self._of_file: dict[str, str] = {}
        for distribution in metadata.distributions():
            name = normal_name(distribution.metadata["Name"])
            if name in self._distributions:
                continue  # further down the path: what is imported is the first
            self._distributions[name] = distribution
            for file in distribution.files or ():
                self._of_file[_key(str(distribution.locate_file(file)))] = name
        # A system's own Python lies among its packages, any other one in a folder of its own.
        places = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
        if sys.base_prefix not in {"/usr", "/usr/local"}:
            places.append(sys.base_prefix)
        self._python = [Path(os.path.realpath(place)) for place in places]
        self._wheels = wheel_hashes(Path(sys.prefix) / WHEELS_FILE)

    def of(self, sources: Iterable[Path]) -> dict[Path, Owner]:
        """Return whose each of these files is; BuildError when nobody knows of one."""
        known = {source: self._of(source) for source in sources}
        unknown = [source for source, owner in known.items() if owner is None]
        of_debian = debian_owners(unknown) if unknown else {}
        return {source: owner or of_debian[source] for source, owner in known.items()}

    def _of(self, source: Path) -> Owner | None:
        """Return whose a file is; None leaves it to the system's packages."""
        name = self._of_file.get(_key(source))
        if name is not None:
            return (Kind.WHEEL, name)
        if source.is_relative_to(self._work):
            # What PyInstaller made: the program around its loader, and Python's first modules.
            return _PYTHON if source.suffix in {".zip", ".pyc"} else _LOADER
        real = Path(os.path.realpath(source))
        if any(real.is_relative_to(place) for place in self._python):
            return _PYTHON
        if real.is_relative_to(self._root) and not source.is_relative_to(sys.prefix):
            for name, font in FONT_OF.items():
                if real.is_relative_to(self._root / font.folder):
                    return (Kind.FONT, name)
            return _OURS
        windows = os.environ.get("SYSTEMROOT")
        if windows and _key(real).startswith(_key(windows)):
            return _WINDOWS
        return None

    def part(self, owner: Owner, files: Sequence[str]) -> Part:
        """Return an owner as a part with these files; BuildError without a licence."""
        kind, name = owner
        if kind is Kind.WHEEL:
            distribution = self._distributions[name]
            wheel = self._wheels.get(f"{name}=={distribution.version}")
            return wheel_part(distribution, files, self._root, wheel)
        if kind is Kind.DEBIAN:
            return debian_part(name, files)
        if kind is Kind.FONT:
            return font_part(name, files, self._root)
        return python_part(files) if kind is Kind.PYTHON else windows_part(files)


def _key(path: str | os.PathLike[str]) -> str:
    return os.path.normcase(os.path.normpath(path))


def debian_owners(sources: Sequence[Path]) -> dict[Path, Owner]:
    """Return the Debian packages of a system's files; BuildError when dpkg knows none of one."""
    spellings = {source: _spellings(source) for source in sources}
    asked = sorted({path for paths in spellings.values() for path in paths})
    packages = {}
    for line in dpkg_query("-S", *asked).splitlines():
        names, _, path = line.partition(": ")
        if not names.startswith("diversion "):
            packages[path] = names.partition(",")[0].partition(":")[0]
    found: dict[Path, Owner] = {}
    for source, paths in spellings.items():
        name = next((packages[path] for path in paths if path in packages), None)
        if name is None:
            raise BuildError(
                f"nothing says whose {source} is, which is bundled; leave it out of the frozen "
                "program, or teach packaging/builder/bundled.py"
            )
        found[source] = (Kind.DEBIAN, name)
    return found


def _spellings(source: Path) -> list[str]:
    """Return the names by which dpkg may know a file, since /lib is a link to /usr/lib."""
    paths = [str(source), os.path.realpath(source)]
    return [*paths, *(f"/usr{p}" for p in paths), *(p.removeprefix("/usr") for p in paths)]


def wheel_hashes(path: Path) -> Mapping[str, str]:
    """Return the SHA-256 of installed wheels by ``name==version``; empty when nobody kept them."""
    if not path.is_file():
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): str(digest) for name, digest in kept.items()}
    except (ValueError, AttributeError) as error:
        raise BuildError(f"{path} cannot be read ({error}); delete it and set up again") from None
