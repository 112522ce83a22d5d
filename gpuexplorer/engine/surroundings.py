"""The environment variables that an engine's process is given: its own, not this program's.

Another interpreter must not find our libraries, and must find its own as it does where its
environment is activated. For conda these are the variables that an activation sets; scripts below
``etc/conda/activate.d`` are not run.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpuexplorer.core.frozen import clean_environment

OF_OUR_PYTHON = (
    "PYTHONPATH", "PYTHONHOME", "PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__", "VIRTUAL_ENV",
    "VIRTUAL_ENV_PROMPT",
)  # fmt: skip
"""Variables that say where an interpreter finds its modules, or which environment is active."""
OF_OUR_CONDA = ("CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_PROMPT_MODIFIER", "CONDA_SHLVL")
LIBRARY_PATH = "LD_LIBRARY_PATH"


def own_environment() -> dict[str, str]:
    """Return the environment of a child in this program's own interpreter."""
    return clean_environment(os.environ)  # a frozen program sets its own at each start


def prefix_of(python: Path) -> Path:
    """Return the folder of the environment that an interpreter belongs to; links are kept."""
    folder = python.parent
    return folder.parent if folder.name in ("bin", "Scripts") else folder


def is_conda(prefix: Path) -> bool:
    """Whether a folder is a conda environment."""
    return (prefix / "conda-meta").is_dir()


def is_venv(prefix: Path) -> bool:
    """Whether a folder is a virtual environment."""
    return (prefix / "pyvenv.cfg").is_file()


def environment_for(python: Path) -> dict[str, str]:
    """Return the environment of a child in another interpreter."""
    environment = own_environment()
    prefix = prefix_of(python)
    activated = environment.get("CONDA_PREFIX") == str(prefix)
    ours = _our_prefixes(environment) - {prefix}
    dropped = OF_OUR_PYTHON if activated else (*OF_OUR_PYTHON, *OF_OUR_CONDA)
    for name in dropped:
        environment.pop(name, None)
    _drop_below(environment, "PATH", ours)
    _drop_below(environment, LIBRARY_PATH, ours)
    if is_conda(prefix):
        _put_first(environment, "PATH", _conda_folders(prefix))
        if not activated:
            environment |= {
                "CONDA_PREFIX": str(prefix), "CONDA_DEFAULT_ENV": prefix.name, "CONDA_SHLVL": "1",
            }  # fmt: skip
            environment |= _conda_variables(prefix)
        if os.name != "nt":  # after the user's own: a fallback for what is looked up by name
            _put_last(environment, LIBRARY_PATH, prefix / "lib")
    elif is_venv(prefix):
        _put_first(environment, "PATH", [python.parent])
        environment["VIRTUAL_ENV"] = str(prefix)
    return environment


def _our_prefixes(environment: Mapping[str, str]) -> set[Path]:
    """Return the environments that this program runs in."""
    named = [environment.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    found = {Path(name) for name in named if name}
    own = Path(sys.prefix)
    if is_venv(own) or is_conda(own):
        found.add(own)
    return found


def _drop_below(environment: dict[str, str], name: str, prefixes: Iterable[Path]) -> None:
    """Take the folders of some environments out of a list of folders."""
    if name not in environment:
        return
    folders = environment[name].split(os.pathsep)
    kept = [
        folder
        for folder in folders
        if not any(folder and Path(folder).is_relative_to(prefix) for prefix in prefixes)
    ]
    environment[name] = os.pathsep.join(kept)
    if not kept:
        del environment[name]


def _put_first(environment: dict[str, str], name: str, folders: Iterable[Path]) -> None:
    first = [str(folder) for folder in folders]
    rest = environment.get(name, "").split(os.pathsep)
    environment[name] = os.pathsep.join([*first, *(f for f in rest if f and f not in first)])


def _put_last(environment: dict[str, str], name: str, folder: Path) -> None:
    before = [f for f in environment.get(name, "").split(os.pathsep) if f]
    if str(folder) not in before:
        environment[name] = os.pathsep.join([*before, str(folder)])


def _conda_folders(prefix: Path) -> list[Path]:
    """Return the folders that an activation puts first into PATH."""
    if os.name != "nt":
        return [prefix / "bin"]
    library = prefix / "Library"
    return [
        prefix, library / "mingw-w64" / "bin", library / "usr" / "bin", library / "bin",
        prefix / "Scripts", prefix / "bin",
    ]  # fmt: skip


def _conda_variables(prefix: Path) -> dict[str, str]:
    """Return what ``conda env config vars set`` has noted for an environment."""
    try:
        state = json.loads((prefix / "conda-meta" / "state").read_text(encoding="utf-8"))
        variables = {str(name): str(value) for name, value in state["env_vars"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # no such file: nothing was set
    return {name: value for name, value in variables.items() if value != "***unset***"}
