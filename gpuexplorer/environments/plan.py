"""What an environment would consist of: every file with its size, before any is fetched."""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.interrupts import at_once
from gpuexplorer.environments.disk import free_B
from gpuexplorer.environments.downloads import downloads_folder, have_B
from gpuexplorer.environments.hashes import SUMS, check_file, mismatch, read_sums
from gpuexplorer.environments.journal import engines_folder
from gpuexplorer.environments.kinds import Kind, check_wheels, missing_of
from gpuexplorer.environments.locked import Lock, plain, read_lock
from gpuexplorer.environments.packages import Package, Source
from gpuexplorer.environments.pip_settings import PipSettings, read_settings
from gpuexplorer.environments.progress import check
from gpuexplorer.environments.pythons import FoundPython
from gpuexplorer.environments.resolve import resolve, resolve_in
from gpuexplorer.environments.web import Web

__all__ = ["EnvironmentPlan", "Package", "Source", "plan"]

UNPACKED = 3.0
"""How many bytes a byte of a wheel becomes, about: the libraries' share is most of it."""
ASKED_AT_ONCE = 8


class EnvironmentPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that would be fetched and written."""

    kind: Kind
    python: FoundPython
    source: Source
    packages: tuple[Package, ...]
    folder: Path
    """Below which it is all written."""
    have_B: int = 0
    """What of it was downloaded before and is still there, in bytes."""
    installed_B: int = 0
    """About how much the finished environment takes, in bytes."""
    free_B: int = 0
    """Free space where it would be written, in bytes."""
    left_out: dict[str, str] = {}
    """Packages that it has to do without, each with the reason as a clause."""

    @property
    def total_B(self) -> int:
        """All wheels together, in bytes; those of unknown size count nothing."""
        return sum(one.size_B or 0 for one in self.packages)

    @property
    def download_B(self) -> int:
        """What is still to be fetched, in bytes; nothing of a folder's own wheels."""
        return 0 if self.source.folder is not None else max(0, self.total_B - self.have_B)

    @property
    def unknown(self) -> int:
        """How many wheels' sizes are not known."""
        return sum(one.size_B is None for one in self.packages)

    @property
    def needs_B(self) -> int:
        """Space that is still taken until all is installed, in bytes."""
        return self.download_B + self.installed_B

    @property
    def missing_B(self) -> int:
        """How much more space has to be freed, in bytes; 0 when there is enough."""
        return max(0, self.needs_B - self.free_B)


def plan(
    kind: Kind,
    python: FoundPython,
    source: Source | None = None,
    cancel: threading.Event | None = None,
    on_words: Callable[[str], None] = lambda words: None,
) -> EnvironmentPlan:
    """Have uv resolve a kind's requirements; nothing is installed, nothing large is fetched.

    ``on_words`` is told what is being done. Raises Cancelled; InputError for a Python that cannot
    be used, for a kind that has no wheels for it or for this system, and for a folder that is none
    or whose wheels nothing vouches for; WorkFailed when the index cannot be reached or has no such
    wheels, or a wheel's hash is not the lock's.
    """
    source = source or Source()
    if not python.ok:
        raise InputError(f"{python.problem}", remedy="choose another Python")
    check_wheels(kind, python.numbers)
    if source.folder is not None and not source.folder.is_dir():
        raise InputError(f"there is no folder {source.folder}", remedy="check its path")
    folder = engines_folder()
    lock = read_lock(kind.lock) if kind.lock is not None else None
    sums = read_sums(source.folder) if source.folder is not None else {}
    settings = read_settings(Path(python.path))
    on_words("choosing the packages")
    if source.folder is None:
        pinned = lock.constraints if lock is not None else []
        chosen = resolve(kind, pinned, python, settings, cancel)
    else:
        chosen = _of_folder(source.folder, kind, lock, sums, python, cancel)
    packages = [_vouched(one, lock, sums, source.folder) for one in chosen]
    on_words("asking for their sizes")
    packages = _with_sizes(packages, settings, cancel)
    named = {plain(one.name) for one in packages}
    missing = missing_of(kind, python.numbers)
    check(cancel)
    return EnvironmentPlan(
        kind=kind,
        python=python,
        source=source,
        packages=tuple(sorted(packages, key=lambda one: -(one.size_B or 0))),
        folder=folder,
        have_B=sum(have_B(downloads_folder(folder), one) for one in packages),
        installed_B=sum(map(_unpacked, packages)),
        free_B=free_B(folder),
        left_out={name: why for name, why in missing.items() if name not in named},
    )


def _of_folder(
    folder: Path,
    kind: Kind,
    lock: Lock | None,
    sums: dict[str, str],
    python: FoundPython,
    cancel: threading.Event | None,
) -> list[Package]:
    """Return the wheels of a folder: the lock's versions, or what its list of hashes has."""

    def check_sums(*, broken_alone: bool) -> None:
        for path in sorted(folder.glob("*.whl")):
            if path.name in sums and not (broken_alone and zipfile.is_zipfile(path)):
                check_file(path, sums[path.name], SUMS, cancel)

    check_sums(broken_alone=True)  # uv would choose another version without a word
    pinned = lock.constraints if lock is not None and not sums else []
    hashes = sums | (lock.hashes if lock is not None else {})
    try:
        return resolve_in(folder, hashes, kind, pinned, python, cancel)
    except WorkFailed:
        check_sums(broken_alone=False)
        raise


def _vouched(one: Package, lock: Lock | None, sums: dict[str, str], folder: Path | None) -> Package:
    """Return a package with the hash that its file must have, and whose word that is."""
    pinned = lock.wheel(one.file) if lock is not None else None
    if pinned is not None:
        if folder is None and one.sha256 not in ("", pinned.sha256):
            raise mismatch(one.file, pinned.sha256, one.sha256, "lock")
        size = pinned.size_B or one.size_B
        return replace(one, sha256=pinned.sha256, size_B=size, vouched_by="lock")
    if folder is not None:
        if one.file not in sums:
            path = folder / SUMS
            raise InputError(
                f"nothing vouches for {one.file}: this program's lock does not know it, and there "
                f"is no line for it in {path}",
                remedy="make that list where the wheels come from: sha256sum *.whl > SHA256SUMS",
            )
        return replace(one, sha256=sums[one.file], vouched_by=SUMS)
    if not one.sha256:
        raise WorkFailed(
            f"the index gives no SHA-256 for {one.file}",
            remedy="use another index, or a folder of wheels with a SHA256SUMS (--from FOLDER)",
        )
    return one


def _with_sizes(
    packages: list[Package], settings: PipSettings, cancel: threading.Event | None
) -> list[Package]:
    """Find out the sizes that are not known yet, from where the files are."""
    web = Web(settings)

    def ask(one: Package) -> Package:
        if one.size_B is not None or (cancel is not None and cancel.is_set()):
            return one
        return replace(one, size_B=web.size_of(one.url))

    return at_once(ask, packages, ASKED_AT_ONCE)


def _unpacked(package: Package) -> int:
    """Return about how many bytes a wheel becomes; exactly for one on this machine."""
    if package.local is not None:
        try:
            with zipfile.ZipFile(package.local) as archive:
                return sum(info.file_size for info in archive.infolist())
        except (OSError, zipfile.BadZipFile):
            pass  # refused later, by its hash
    return int((package.size_B or 0) * UNPACKED)
