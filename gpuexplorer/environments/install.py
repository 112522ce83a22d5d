"""Put an environment's folder together: a Python without pip, and the wheels by their hashes."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.engine.interpreters import python_in
from gpuexplorer.environments.children import Done, module_in, run, surroundings
from gpuexplorer.environments.disk import is_full, no_space, says_full, size_of
from gpuexplorer.environments.locked import plain
from gpuexplorer.environments.plan import Package, Plan
from gpuexplorer.environments.pythons import FoundPython
from gpuexplorer.environments.resolve import pip_surroundings
from gpuexplorer.exchange.files import write_error

ALWAYS = (
    "--no-deps", "--require-hashes", "--only-binary", ":all:", "--progress-bar", "off", "--quiet",
)  # fmt: skip
SCRATCH = ".pip-"
"""How the folders begin that pip works in; one that was killed leaves its own behind."""


def make_environment(
    python: FoundPython, folder: Path, needs_B: int, cancel: threading.Event | None
) -> None:
    """Make an environment without packages, not even pip.

    ``needs_B``: what it will take in the end, for the sentence on a full disk. Raises WorkFailed
    and Cancelled.
    """
    path = Path(python.path)
    command = module_in(path, "venv", "--without-pip", str(folder))
    done = run(command, surroundings(path), cancel)
    if done.returncode != 0 or python_in(folder) is None:
        if says_full(done.text):
            raise no_space(folder, needs_B)
        raise WorkFailed(
            f"{path} cannot make an environment: {_last(done)}",
            remedy="choose another Python (--python)",
            detail=done.text,
        )


def install(
    plan: Plan,
    pip: Path,
    folder: Path,
    wheels: Path,
    scratch: Path,
    on_installed: Callable[[list[str]], None],
    cancel: threading.Event | None,
) -> None:
    """Install the wheels of a plan; each must be what its hash says, and nothing else comes along.

    ``scratch`` is a folder for what is needed meanwhile; ``on_installed`` is told the names of
    those that are in place. Raises WorkFailed and Cancelled.
    """
    python = python_in(folder)
    assert python is not None
    on_installed([])
    lines = [f"{p.name}=={p.version} --hash=sha256:{p.sha256}" for p in plan.packages]
    names = [one.name for one in plan.packages]
    with _wanted(scratch, lines, plan.installed_B) as wanted:
        command = module_in(
            python, "pip", "install", *ALWAYS, "--no-index", "--find-links", str(wheels),
            "--no-compile", "--no-warn-script-location", "--no-cache-dir",
            "--requirement", str(wanted), pip=pip,
        )  # fmt: skip
        environment = pip_surroundings(python, wheels, wanted.parent)
        done = run(command, environment, cancel, lambda: on_installed(_installed(folder, names)))
    if done.returncode != 0:
        if says_full(done.text):
            raise no_space(folder, plan.installed_B - size_of(folder))
        raise WorkFailed(
            f"pip could not install '{plan.kind.title}': {_last(done)}",
            remedy="start again; if that does not help, choose another Python (--python)",
            detail=done.text,
        )
    on_installed(names)


def download_with_pip(
    python: FoundPython,
    pip: Path,
    package: Package,
    index: str | None,
    downloads: Path,
    cancel: threading.Event | None,
) -> str | None:
    """Fetch one wheel with pip; return what pip said where it could not, else None."""
    line = f"{package.name}=={package.version} --hash=sha256:{package.sha256}"
    further = [] if index is None else ["--extra-index-url", index]
    path = Path(python.path)
    with _wanted(downloads, [line], package.size_B or 0) as wanted:
        command = module_in(
            path, "pip", "download", *ALWAYS, *further, "--dest", str(downloads),
            "--requirement", str(wanted), pip=pip,
        )  # fmt: skip
        done = run(command, pip_surroundings(path, None, wanted.parent), cancel)
    if says_full(done.text):
        raise no_space(downloads, package.size_B or 0)
    return None if done.returncode == 0 else done.text


@contextmanager
def _wanted(folder: Path, lines: list[str], needs_B: int) -> Iterator[Path]:
    """Write what pip is asked for into a folder that is gone afterwards, its temporary one."""
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=SCRATCH) as scratch:
            wanted = Path(scratch) / "wanted.txt"
            wanted.write_text("\n".join(lines) + "\n", encoding="utf-8")
            yield wanted
    except OSError as error:
        if is_full(error):
            raise no_space(folder, needs_B) from None
        raise write_error(folder, error) from None


def _installed(folder: Path, names: list[str]) -> list[str]:
    """Return which of some packages are in place: their list of files is written last."""
    places = (
        [folder / "Lib" / "site-packages"]
        if os.name == "nt"
        else list(folder.glob("lib/python3*/site-packages"))
    )
    there = {
        plain(record.parent.name.partition("-")[0])
        for place in places
        for record in place.glob("*.dist-info/RECORD")
    }
    return [name for name in names if plain(name) in there]


def _last(done: Done) -> str:
    """Return the line of a program's output that says why."""
    lines = [line.strip() for line in done.lines if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if "rror" in line]
    return (errors or lines or ["it gave no reason"])[-1][:300]
