"""Parts of others' in the frozen program: their names, versions, terms and the texts of these."""

from __future__ import annotations

import functools
import os
import platform
import re
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Protocol

from builder.errors import BuildError

FONTS = "resources/fonts"
LICENCES = "packaging/licences"
"""Texts for parts that bring none: called after the part, or after an SPDX identifier."""
_NAME = re.compile(
    r"(?i)((.*[_-])?(licen[cs]e|copying|notice|copyright|eula)s?([._-].*)?|third[-_]party.*)"
)
_SUFFIXES = frozenset(
    {"", ".txt", ".md", ".rst", ".apache", ".bsd", ".mit", ".external", ".lesser"}
)


class Kind(Enum):
    """Where a part comes from."""

    WHEEL = "Python package"
    DEBIAN = "Debian package"
    PYTHON = "Python"
    WINDOWS = "Windows"
    FONT = "font"


@dataclass(frozen=True)
class Text:
    """A licence or a notice, as its owner words it."""

    title: str
    words: str


@dataclass(frozen=True)
class Part:
    """Something of others' that is passed on with the program."""

    kind: Kind
    name: str
    version: str
    licence: str
    """As its metadata states it; an SPDX expression where ``is_spdx``."""
    is_spdx: bool
    homepage: str | None
    texts: tuple[Text, ...]
    files: tuple[str, ...]
    """Names of its files in the program's folder, sorted."""
    wheel_sha256: str | None = None
    """The hash of the archive that was installed, where it is known."""


class Metadata(Protocol):
    """What is asked of a package's metadata."""

    def get_all(self, name: str, failobj: None = None) -> list[Any] | None:
        """Return the values of a field; None when it has none."""


def normal_name(name: str) -> str:
    """Return the one spelling of a Python package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


# --- Python packages -----------------------------------------------------------------------------


def wheel_part(
    distribution: metadata.Distribution, files: Sequence[str], root: Path, wheel: str | None = None
) -> Part:
    """Return an installed Python package; BuildError when there is no text of its licence.

    ``wheel`` is the SHA-256 of the archive that it was installed from.
    """
    name = normal_name(distribution.metadata["Name"])
    texts = [
        Text(_title(file.parts), read_text(Path(str(distribution.locate_file(file)))))
        for file in distribution.files or ()
        if is_licence(file.parts)
    ]
    licence, is_spdx = stated_licence(distribution.metadata)
    texts = sorted(texts, key=lambda text: text.title) or our_texts(name, licence, root)
    if not texts:
        raise BuildError(
            f"{name} {distribution.version} brings no text of its licence ('{licence}'); put it "
            f"into {LICENCES}/{name}.txt"
        )
    return Part(
        kind=Kind.WHEEL,
        name=name,
        version=distribution.version,
        licence=licence,
        is_spdx=is_spdx,
        homepage=homepage(distribution.metadata),
        texts=tuple(texts),
        files=tuple(files),
        wheel_sha256=wheel,
    )


def is_licence(path: Sequence[str]) -> bool:
    """Return whether a file of a package, by its path in it, is a licence or a notice."""
    *folders, name = path
    if {"licenses", "licensing"} & set(folders):
        return PurePosixPath(name).suffix not in {".py", ".pyc"}
    return _NAME.fullmatch(name) is not None and PurePosixPath(name).suffix.lower() in _SUFFIXES


def _title(path: Sequence[str]) -> str:
    """Return a text's name: its path without the way out of, and the folders of, metadata."""
    kept = [p for p in path if p not in {"..", "licenses"} and not p.endswith(".dist-info")]
    return "/".join(kept)


def stated_licence(meta: Metadata) -> tuple[str, bool]:
    """Return the licence that a package's metadata states, and whether it is an SPDX expression."""
    expression = _first(meta, "License-Expression")
    if expression:
        return expression, True
    said = _first(meta, "License").strip()
    if said and "\n" not in said:
        return said, False
    classifiers = [str(value) for value in meta.get_all("Classifier") or ()]
    names = [c.rpartition(" :: ")[2] for c in classifiers if c.startswith("License :: ")]
    return ", ".join(names) or "see its text", False


def homepage(meta: Metadata) -> str | None:
    """Return a package's page, or where its source is."""
    pages = {}
    for line in meta.get_all("Project-URL") or ():
        label, _, address = str(line).partition(",")
        pages[label.strip().lower()] = address.strip()
    for label in ("homepage", "home", "source", "source code", "repository"):
        if label in pages:
            return pages[label]
    return _first(meta, "Home-page") or next(iter(pages.values()), None)


def _first(meta: Metadata, field: str) -> str:
    values = meta.get_all(field)
    return str(values[0]) if values else ""


def our_texts(name: str, licence: str, root: Path) -> list[Text]:
    """Return the texts that we keep for a part: its own, or those of the licences it names."""
    folder = root / LICENCES
    if (folder / f"{name}.txt").is_file():
        return [Text(name, read_text(folder / f"{name}.txt"))]
    named = dict.fromkeys(re.findall(r"[A-Za-z0-9][A-Za-z0-9.+-]*", licence))
    return [
        Text(word, read_text(folder / f"{word}.txt"))
        for word in named
        if (folder / f"{word}.txt").is_file()
    ]


# --- the building system's -----------------------------------------------------------------------


def dpkg_query(*arguments: str) -> str:
    """Return what dpkg knows; empty where it knows nothing, or is not there."""
    try:
        answer = subprocess.run(
            ["dpkg-query", *arguments],
            capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
    except OSError:
        return ""
    return answer.stdout


@functools.cache
def installed_debian() -> dict[str, tuple[str, str]]:
    """Return the version and the page of every installed Debian package."""
    said = dpkg_query("-W", "-f", "${Package}\t${Version}\t${Homepage}\n")
    rows = [line.split("\t") for line in said.splitlines()]
    return {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}


def debian_part(name: str, files: Sequence[str]) -> Part:
    """Return an installed Debian package; BuildError when its copyright file is missing."""
    version, page = installed_debian().get(name, ("", ""))
    path = Path("/usr/share/doc") / name / "copyright"
    if not version or not path.is_file():
        raise BuildError(
            f"Debian's package {name} has no {path}; install it anew, then build again"
        )
    words = read_text(path)
    # Such a file is of the whole source package: it names the terms of everything in that.
    stated = dict.fromkeys(name.strip() for name in re.findall(r"(?m)^License: *(\S.*)$", words))
    return Part(
        kind=Kind.DEBIAN,
        name=name,
        version=version,
        licence=", ".join(stated) or "see its text",
        is_spdx=False,
        homepage=page or None,
        texts=(Text("copyright", words),),
        files=tuple(files),
    )


def python_part(files: Sequence[str]) -> Part:
    """Return the Python that builds; BuildError when its licence is not beside it."""
    for place in (Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix)):
        path = place / "LICENSE.txt"
        if path.is_file():
            return Part(
                kind=Kind.PYTHON,
                name="python",
                version=platform.python_version(),
                licence="PSF-2.0",
                is_spdx=True,
                homepage="https://www.python.org",
                texts=(Text("LICENSE.txt", read_text(path)),),
                files=tuple(files),
            )
    raise BuildError(
        f"there is no LICENSE.txt of Python's below {sys.base_prefix}; it must go along"
    )


class Font(NamedTuple):
    """Where the files of a font lie that the program brings along, and what it was made of."""

    folder: str
    version: str
    homepage: str


FONT_OF = {
    "noto-sans-cjk-sc": Font(f"{FONTS}/chinese", "2.004", "https://github.com/notofonts/noto-cjk"),
    "inter": Font(FONTS, "3.19", "https://github.com/rsms/inter"),
}
"""By its name, inner folders first."""


def font_part(name: str, files: Sequence[str], root: Path) -> Part:
    """Return a font that the program brings along."""
    font = FONT_OF[name]
    return Part(
        kind=Kind.FONT,
        name=name,
        version=font.version,
        licence="OFL-1.1",
        is_spdx=True,
        homepage=font.homepage,
        texts=(Text("LICENSE.txt", read_text(root / font.folder / "LICENSE.txt")),),
        files=tuple(files),
    )


WINDOWS_TERMS = """\
Files of the Universal C and Visual C++ runtimes, copied from Windows. Microsoft lets programs bring
them along, unchanged and as a part of the program: "Distributable Code" in the licence terms of
Visual Studio, https://visualstudio.microsoft.com/license-terms/.
"""


def windows_part(files: Sequence[str]) -> Part:
    """Return what was copied from the Windows that builds."""
    return Part(
        kind=Kind.WINDOWS,
        name="microsoft-c-runtime",
        version=platform.version(),
        licence="LicenseRef-Microsoft-Distributable-Code",
        is_spdx=True,
        homepage="https://learn.microsoft.com/cpp/windows/latest-supported-vc-redist",
        texts=(Text("terms", WINDOWS_TERMS),),
        files=tuple(files),
    )


def read_text(path: Path) -> str:
    """Return the text in a file of others'; BuildError when it cannot be read."""
    try:
        return decode(path.read_bytes())
    except OSError as error:
        raise BuildError(f"{path} cannot be read ({error.strerror}); it must go along") from None


def decode(data: bytes) -> str:
    """Return a text with plain line ends, whatever its owner encoded it in."""
    try:
        words = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        words = data.decode("cp1252", errors="replace")
    return words.replace("\r\n", "\n").replace("\r", "\n")
