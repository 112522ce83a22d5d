"""Whether this program is a frozen one (PyInstaller's), and how it starts children then.

Asked here and nowhere else. A frozen program has no interpreter that could be given ``-m``: its
executable starts itself again with a word that says what to be. And it runs with a search path of
its own libraries, which no program that is not ours may get.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from gpuexplorer.core.bootstrap import FILE

COMMAND_LINE = "gpuexplorer"
ENGINE = "gpuexplorer.engine"
MODULE_WORD = "--module"
"""``gpuexplorer --module NAME ...`` runs a module of this package, in a frozen program alone."""
ON_WINDOWS = os.name == "nt"
_WINDOWS_CONSOLE = "gpuexplorer-cli.exe"
_SEARCH_PATHS = (
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LIBPATH", "LD_PRELOAD", "QT_PLUGIN_PATH",
    "QT_QPA_PLATFORM_PLUGIN_PATH", "QML2_IMPORT_PATH", "PYTHONHOME", "PYTHONPATH", "XDG_DATA_DIRS",
    "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
"""What a launcher or a frozen program's start may set; NAME_ORIG keeps what the user had."""
_BY_THE_START = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LIBPATH")
"""What the start sets by itself: without a NAME_ORIG the user had none."""


def is_frozen() -> bool:
    """Return whether this is a frozen program rather than a package in a Python."""
    return bool(getattr(sys, "frozen", False))


def bundle_folder() -> Path:
    """Return the folder with a frozen program's libraries and data.

    Raises RuntimeError in a program that is not frozen: ask ``is_frozen`` first.
    """
    if not is_frozen():
        raise RuntimeError("this program is not frozen")
    return Path(getattr(sys, "_MEIPASS", sys.prefix))


def program() -> str:
    """Return the executable that a child of a frozen program is started with.

    On Windows that is the one with a console: only it surely has standard streams.
    """
    beside = Path(sys.executable).with_name(_WINDOWS_CONSOLE)
    return str(beside) if ON_WINDOWS and beside.is_file() else sys.executable


def frozen_command(module: str, *arguments: str) -> list[str]:
    """Return the command with which a frozen program runs a module of this package."""
    if module == ENGINE:
        return [program(), "engine", *arguments]
    if module == COMMAND_LINE:
        return [program(), *arguments]
    return [program(), MODULE_WORD, module, *arguments]


def module_command(
    module: str, *arguments: str, python: str = "", framed: bool = False
) -> list[str]:
    """Return the command that runs a module of this package; ``python``: in which, "" for this.

    This program may be a frozen one, which runs its modules itself. Another Python leaves no
    bytecode in its folder: that would be left over when the program is removed. An engine that
    was started so hands it on to its children, unless they inherit it from the environment.
    """
    if not python and is_frozen():
        return frozen_command(module, *arguments)
    inherited = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    quiet = ["-B"] if is_frozen() or (sys.dont_write_bytecode and not inherited) else []
    way = ["--framed"] if framed else []
    return [python or sys.executable, *quiet, FILE, *way, module, *arguments]


def engine_command(*arguments: str, framed: bool = False) -> list[str]:
    """Return the command of an engine in the interpreter, or the frozen program, that runs this.

    ``framed``: standard output carries frames (see ``bootstrap``), as it always may if frozen.
    """
    return module_command(ENGINE, *arguments, framed=framed)


def to_get(requirement: str, *, in_an_engine: bool) -> str:
    """Return what brings a package of ``requirement``, in words: a frozen program takes in none.

    ``in_an_engine``: an engine in another Python could have it instead.
    """
    if not is_frozen():
        return f"pip install '{requirement}'"
    if in_an_engine:
        return "make an engine that has it: the page 'Engines', or 'gpuexplorer engines create'"
    return f"only GPU Explorer as a Python package can have it: pip install '{requirement}'"


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a program that is not ours: a system's program, another Python.

    The search paths are the user's again, and nothing tells a program of the same kind that it is
    a child of this one. The same environment comes back when this program is not frozen.
    """
    cleaned = dict(environment)
    if not is_frozen():
        return cleaned
    for name in _SEARCH_PATHS:
        original = cleaned.pop(f"{name}_ORIG", None)
        if original:
            cleaned[name] = original
        elif original is not None or name in _BY_THE_START or _is_ours(cleaned.get(name)):
            cleaned.pop(name, None)
    for name in [n for n in cleaned if n.startswith(("_PYI_", "_MEIPASS"))]:
        del cleaned[name]
    return cleaned


def _is_ours(value: str | None) -> bool:
    """Whether a search path names this program's own folder first."""
    if not value:
        return False
    first = Path(value.split(os.pathsep)[0])
    return first.is_absolute() and first.is_relative_to(bundle_folder())
