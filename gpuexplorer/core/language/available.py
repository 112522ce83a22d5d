"""Which languages there are, and which one a process takes.

Asked in this order: what was chosen (``--language``, or the window's setting), the variable
``GPUEXPLORER_LANGUAGE``, the system. The name of a language, or a file of one's own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gpuexplorer.core import resources
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.language.catalogue import read_head
from gpuexplorer.core.language.english import ENGLISH

VARIABLE = "GPUEXPLORER_LANGUAGE"
SYSTEM = "system"
"""Follow the system's language."""
SUFFIX = ".po"
TOLD = "X-Told"
"""The line of a file's head that says how much of all there is to read is told, in percent."""


def folder() -> Path:
    """Return the folder that has a file for each language but English."""
    return resources.folder() / "languages"


def languages() -> dict[str, str]:
    """Return what each language calls itself, by its name; English first.

    One that is not told as a whole yet says how much of it is: ``简体中文 (62 %)``.
    """
    found = {path.stem: read_head(path) for path in sorted(folder().glob(f"*{SUFFIX}"))}
    return {ENGLISH: "English"} | {name: _title(name, head) for name, head in found.items()}


def _title(name: str, head: Mapping[str, str]) -> str:
    title, told = head.get("Language-Name", name), head.get(TOLD, "100")
    return title if told == "100" else f"{title} ({told} %)"


def catalogue_file(language: str | Path) -> Path:
    """Return a language's file; InputError for a name without one."""
    named = Path(language)
    if isinstance(language, Path) or named.suffix == SUFFIX:
        return named
    path = folder() / f"{language}{SUFFIX}"
    if not path.is_file():
        names = ", ".join([SYSTEM, *languages()])
        raise InputError(f"there is no language '{language}'", remedy=f"use one of {names}")
    return path


def system_languages(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the languages that the system asks for, such as ``zh_CN``, the first one first."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environ.get(name):
            # gettext's list counts only where messages are to be in a language at all
            listed = environ.get("LANGUAGE", "").split(":") if _plain(environ[name]) else []
            return [_plain(one) for one in (*listed, environ[name]) if one]
    if sys.platform == "win32":
        import ctypes
        import locale

        asked = ctypes.windll.kernel32.GetUserDefaultUILanguage()
        return [locale.windows_locale.get(asked, "")]
    return []


def _plain(name: str) -> str:
    """Return ``zh_CN`` for ``zh_CN.UTF-8``; empty for C and POSIX."""
    plain = name.partition(".")[0].partition("@")[0].replace("-", "_")
    return "" if plain in ("C", "POSIX") else plain


def following(wanted: Iterable[str]) -> str:
    """Return the language to take for what a system asks for; English where there is none.

    The first one that is known decides: an English system with Chinese second stays English.
    """
    asked = [name for name in map(_plain, wanted) if name]
    if not asked or asked[0].partition("_")[0] == ENGLISH:
        return ENGLISH
    known: dict[str, str] = {}
    for path in sorted(folder().glob(f"*{SUFFIX}")):
        head = read_head(path)
        known |= dict.fromkeys([path.stem, *head.get("X-Locales", "").split()], path.stem)
    for plain in asked:
        for one in (plain, "_".join(plain.split("_")[:2])):
            if one in known:
                return known[one]
        if plain.partition("_")[0] == ENGLISH:
            return ENGLISH
    return ENGLISH


def chosen(
    asked: str | None = None,
    *,
    remembered: str = SYSTEM,
    system: Sequence[str] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> str:
    """Return the language to use: what was asked for, or the variable's, the setting's, or the
    system's (``system``: what it asks for, where a better source than the environment knows).
    """
    for one in (asked, environ.get(VARIABLE), remembered):
        if one and one != SYSTEM:
            return one
        if one == SYSTEM:
            break
    return following(system_languages(environ) if system is None else system)
