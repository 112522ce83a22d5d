"""Debian packages: which are wanted, which are missing, and what to do about it.

A part of ``bootstrap.py``, so standard library alone.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum


class Packages(Enum):
    """What to do about Debian packages that are missing."""

    NOTHING = "nothing"
    INSTALL = "install"
    ASK = "ask"
    PRINT = "print"


def parse_apt_list(text: str) -> dict[str, list[tuple[str, ...]]]:
    """Return each section's packages; a package is the tuple of names of which any will do."""
    sections: dict[str, list[tuple[str, ...]]] = {}
    current: list[tuple[str, ...]] | None = None
    for raw in text.splitlines():
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        if line.startswith("[") and line.endswith("]"):
            current = sections.setdefault(line[1:-1], [])
        elif current is None:
            raise ValueError(f"{line!r} stands before the first [section]")
        else:
            current.append(tuple(name.strip() for name in line.split("|")))
    return sections


def parse_installed(listing: str) -> set[str]:
    """Return the installed packages in dpkg-query's lines of ``name<TAB>status``."""
    rows = (line.split("\t") for line in listing.splitlines())
    return {row[0] for row in rows if len(row) == 2 and row[1].strip() == "install ok installed"}


def missing_packages(wanted: Iterable[tuple[str, ...]], installed: Collection[str]) -> list[str]:
    """Return what to ask apt for: the first name of each package of which none is installed."""
    return [names[0] for names in wanted if not any(name in installed for name in names)]


def apt_commands(packages: Sequence[str]) -> list[list[str]]:
    """Return the commands that install these packages without a question."""
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    return [["apt-get", "update"], install]


def command_line(commands: Iterable[Sequence[str]], *, sudo: bool = False) -> str:
    """Return commands as one line to paste into a shell."""
    prefix = ["sudo"] if sudo else []
    return " && ".join(shlex.join([*prefix, *command]) for command in commands)


def decide(missing: Collection[str], *, is_root: bool, terminal: bool, ci: bool) -> Packages:
    """Return what to do: root installs, after one question where somebody can answer it."""
    if not missing:
        return Packages.NOTHING
    if not is_root:
        return Packages.PRINT
    return Packages.ASK if terminal and not ci else Packages.INSTALL


def under_ci(environment: Mapping[str, str]) -> bool:
    """Return whether a continuous-integration service runs this, by the variable they all set."""
    return environment.get("CI", "").lower() not in {"", "0", "false", "no"}


def installed_packages() -> set[str] | None:
    """Return the installed Debian packages, or None where there is no dpkg."""
    if shutil.which("dpkg-query") is None:
        return None
    answer = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package}\\t${Status}\\n"],
        capture_output=True,
        text=True,
        check=False,
    )
    return parse_installed(answer.stdout)
