"""The environments that were made here: where they are, their state, and their removal."""

from __future__ import annotations

import secrets
import shutil
import time
from pathlib import Path

from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.core.units import listed
from gpuexplorer.engine.interpreters import Interpreters, checked_name
from gpuexplorer.environments.disk import size_of
from gpuexplorer.environments.downloads import downloads_folder
from gpuexplorer.environments.journal import SCRATCH, Managed, engines_folder, read_journal
from gpuexplorer.environments.one_at_a_time import one_at_a_time

__all__ = [
    "Managed", "clean_up", "disk_use", "find_managed", "free_name", "list_managed", "remove",
]  # fmt: skip

_REMOVED = ".removed-"
_PIP = ".pip"
"""Where version 0.1 kept a pip."""
ATTEMPTS = 5
"""How often a folder is tried to be deleted: a process that has just ended may still hold it."""


def list_managed() -> list[Managed]:
    """Return every environment of ours by name, unfinished ones too; nothing is started.

    A folder that holds what was not made here, or by a version whose word on it this one cannot
    read, is none of ours.
    """
    try:
        folders = sorted(p for p in engines_folder().iterdir() if p.is_dir())
    except OSError:
        return []
    found = [_read(folder) for folder in folders if not folder.name.startswith(".")]
    return [one for one in found if one is not None]


def find_managed(name: str) -> Managed | None:
    """Return the environment of a name, or None."""
    return next((one for one in list_managed() if one.name == name), None)


def _read(folder: Path) -> Managed | None:
    """Return what a folder says of itself; one that was cut off at once is empty."""
    journal = read_journal(folder)
    if journal is not None:
        return journal.environment
    try:
        if any(folder.iterdir()):
            return None
    except OSError:
        return None
    return Managed(name=folder.name, kind="", title="", path=str(folder), ready=False)


def disk_use(name: str) -> int:
    """Return how many bytes an environment takes on the disk; it looks at every file of it."""
    return size_of(engines_folder() / checked_name(name))


def free_name(wanted: str) -> str:
    """Return ``wanted``, or it with a number where an engine is called that already.

    An unfinished environment keeps its name: making it again goes on with it.
    """
    taken = set(Interpreters().read().engines) | {one.name for one in list_managed() if one.ready}
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


def remove(name: str) -> int:
    """Remove an environment and forget its engine; return the bytes that this freed.

    Raises InputError where there is none, WorkFailed when another program is at work here, or in
    it, or its files cannot be deleted.
    """
    from gpuexplorer.environments.detached import measured_in  # with all that searches

    found = find_managed(name)
    if found is None:
        raise InputError(
            f"there is no environment '{name}' that was made here",
            remedy="see 'gpuexplorer engines list'",
        )
    with one_at_a_time(engines_folder()):
        folder = Path(found.path)
        job = measured_in(folder)
        if job is not None:
            raise WorkFailed(
                f"'{name}' is in use: job {job.id} is measured in it",
                remedy=f"wait until it has ended, or end it: gpuexplorer jobs end {job.id}",
            )
        others = [
            f"'{one.name}'"
            for one in Interpreters().all()
            if one.machine is None and one.name != name and one.path.is_relative_to(folder)
        ]
        if others:
            raise WorkFailed(
                f"'{name}' is in use: its environment is that of {listed(others)} as well",
                remedy=f"remove {listed(others)} first",
            )
        freed = size_of(folder)
        gone = _set_aside(folder)
        forget(name, folder)
        _delete(gone)
    return freed


def clean_up() -> int:
    """Remove unfinished environments and kept downloads; return the bytes that this freed.

    Raises WorkFailed when another program is at work here.
    """
    folder = engines_folder()
    if not folder.is_dir():
        return 0
    freed = 0
    with one_at_a_time(folder):
        for unfinished in [Path(one.path) for one in list_managed() if not one.ready]:
            gone = _set_aside(unfinished)  # without its journal half of it would be nobody's
            forget(unfinished.name, unfinished)
            freed += size_of(gone)
            _delete(gone)
        kinds = (_REMOVED, _PIP, SCRATCH)
        leftovers = [p for p in folder.iterdir() if p.name.startswith(kinds)]
        for path in (downloads_folder(folder), *leftovers):
            if path.exists():
                freed += size_of(path)
                _delete(path)
    return freed


def forget(name: str, folder: Path) -> None:
    """Let the name of an environment's engine go, if it is this environment's."""
    known = Interpreters()
    path = known.read().engines.get(name)
    if path is not None and Path(path).is_relative_to(folder):
        known.remove(name)


def empty(folder: Path, keep: str) -> None:
    """Delete everything in a folder but one file. Raises WorkFailed."""
    for path in folder.iterdir():
        if path.name != keep:
            _delete(path)


def _set_aside(folder: Path) -> Path:
    """Rename a folder, so that what cannot be deleted is no environment any more."""
    aside = folder.with_name(f"{_REMOVED}{folder.name}-{secrets.token_hex(4)}")
    try:
        folder.rename(aside)
    except OSError as error:
        raise _in_use(folder, error) from None
    return aside


def _delete(path: Path) -> None:
    for attempt in range(ATTEMPTS):
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except FileNotFoundError:
            continue
        except OSError as error:
            if attempt + 1 == ATTEMPTS:
                raise _in_use(path, error) from None
            time.sleep(0.1 * 2**attempt)
        else:
            return


def _in_use(path: Path, error: OSError) -> ExplorerError:
    return WorkFailed(
        f"{path} cannot be deleted: {error.strerror or error}",
        remedy="close whatever uses it, such as a window whose engine it is, and try again",
    )
