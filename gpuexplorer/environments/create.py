"""Make an environment as planned: fetch, install, verify; every step can be begun again."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.engine.interpreters import Interpreters, checked_name, python_in
from gpuexplorer.environments.disk import free_B, is_full, no_space, says_full, size_of
from gpuexplorer.environments.downloads import downloads_folder, fetch_all, make_folder
from gpuexplorer.environments.hashes import check_file
from gpuexplorer.environments.journal import (
    FILE,
    SCRATCH,
    Journal,
    Managed,
    SetUpStep,
    engines_folder,
    key_of,
    read_journal,
)
from gpuexplorer.environments.locked import plain
from gpuexplorer.environments.managed import empty, find_managed
from gpuexplorer.environments.one_at_a_time import one_at_a_time
from gpuexplorer.environments.pip_settings import read_settings
from gpuexplorer.environments.plan import EnvironmentPlan
from gpuexplorer.environments.progress import PHASES, SetUpProgress, Teller, check
from gpuexplorer.environments.uv import reason, run_uv
from gpuexplorer.environments.verify import verify
from gpuexplorer.environments.web import Web
from gpuexplorer.exchange.files import write_error

__all__ = ["PHASES", "SetUpProgress", "create"]


def create(
    plan: EnvironmentPlan,
    name: str,
    on_progress: Callable[[SetUpProgress], None] = lambda progress: None,
    cancel: threading.Event | None = None,
) -> Managed:
    """Make the environment ``name`` and register it as an engine of that name.

    Called again after a cancel, a crash or a full disk, it goes on from what is there.
    ``on_progress`` is called from the calling thread, some ten times a second at the most. Raises
    Cancelled; InputError for a name that is taken or cannot be; WorkFailed, in one sentence, when
    the disk is full, a file is not what its hash says, or the finished environment cannot be an
    engine.
    """
    checked_name(name)
    tell = Teller(on_progress)
    with one_at_a_time(engines_folder()):
        _check_free(name)
        making = _Making(plan, name, tell, cancel)
        try:
            return making.make()
        except ExplorerError as error:
            making.note(error)
            raise


def _check_free(name: str) -> None:
    """Raise InputError where a name is another engine's, or a finished environment's."""
    folder = engines_folder() / name
    found = find_managed(name)
    if found is not None and found.ready:
        raise InputError(
            f"there is an environment '{name}' already",
            remedy="choose another name, or remove that one first",
        )
    if found is None and folder.exists():
        raise InputError(
            f"{folder} is there already, and was not made here", remedy="choose another name"
        )
    path = Interpreters().read().engines.get(name)
    if path is not None and not Path(path).is_relative_to(folder):
        raise InputError(
            f"there is an engine '{name}' already: {path}",
            remedy="choose another name",
        )


def _check_space(plan: EnvironmentPlan) -> None:
    """Raise WorkFailed where the plan cannot fit, before anything is fetched."""
    if plan.needs_B > free_B(plan.folder):
        raise no_space(plan.folder, plan.needs_B, kept=False)


class _Making:
    """The making of one environment."""

    def __init__(
        self, plan: EnvironmentPlan, name: str, tell: Teller, cancel: threading.Event | None
    ) -> None:
        self._plan, self._tell, self._cancel = plan, tell, cancel
        self._folder = engines_folder() / name
        self._downloads = downloads_folder(engines_folder())
        self._key = key_of(
            [plan.python.path, f"{plan.python.version}", *(p.sha256 for p in plan.packages)]
        )
        self._environment = Managed(
            name=name,
            kind=plan.kind.name,
            title=plan.kind.title,
            path=str(self._folder),
            ready=False,
            python=plan.python.version or "",
            base=plan.python.path,
            source="" if plan.source.folder is None else str(plan.source.folder),
            packages={one.name: one.version for one in plan.packages},
            left_out=plan.left_out,
            created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def make(self) -> Managed:
        """Make it, from where it was left."""
        before = read_journal(self._folder)
        installed = before is not None and before.key == self._key and before.step == "verify"
        if not installed or python_in(self._folder) is None:
            make_folder(self._folder)
            make_folder(self._downloads)
            self._tidy()
            _check_space(self._plan)
            self._write("download")
            wheels = self._fetch()
            check(self._cancel)
            self._write("install")
            self._install(wheels)
            self._write("verify")
        return self._verify()

    def note(self, error: ExplorerError) -> None:
        """Have the folder say why it is not finished; not on a disk that is full."""
        journal = read_journal(self._folder)
        if journal is not None and not journal.environment.ready:
            environment = msgspec.structs.replace(journal.environment, problem=str(error))
            with suppress(ExplorerError):
                msgspec.structs.replace(journal, environment=environment).write()

    def _write(self, step: SetUpStep) -> None:
        Journal(step=step, key=self._key, environment=self._environment).write()

    def _tidy(self) -> None:
        """Delete what was half installed, and what a uv that was killed has left behind."""
        empty(self._folder, keep=FILE)
        for left in engines_folder().glob(f"{SCRATCH}*"):
            shutil.rmtree(left, ignore_errors=True)

    # ---- fetching

    def _fetch(self) -> Path:
        """Have every wheel here; return the folder they are in."""
        plan = self._plan
        if plan.source.folder is not None:  # whose hashes are checked when it is installed from
            return plan.source.folder
        web = Web(read_settings(Path(plan.python.path)))
        fetch_all(plan.packages, self._downloads, web, self._tell, plan.installed_B, self._cancel)
        return self._downloads

    # ---- installing

    def _install(self, wheels: Path) -> None:
        plan = self._plan
        total = plan.total_B
        self._tell("install", 0, total, "making the environment")
        sizes = {one.name: one.size_B or 0 for one in plan.packages}

        def report(installed: list[str]) -> None:
            done = sum(sizes[name] for name in installed)
            words = f"{len(installed)} of {len(sizes)} packages"
            self._tell("install", done, total, words)

        try:
            install(plan, self._folder, wheels, report, self._cancel)
        except ExplorerError:  # what is half installed would only take the space that is missing
            with suppress(ExplorerError):
                empty(self._folder, keep=FILE)
            raise

    # ---- verifying

    def _verify(self) -> Managed:
        """Start its engine and test its device; register it; let go of its downloads."""

        def report(done: int, total: int, words: str) -> None:
            self._tell("verify", done, total, words)

        found = verify(str(self._folder), self._plan.kind, report, self._cancel)
        if not found.usable:
            self._write("install")  # the next try puts it together anew
            raise WorkFailed(
                f"'{self._environment.name}' was installed, but {found.words}",
                remedy=found.remedy or found.engine.remedy,
                detail="\n".join(found.engine.said),
            )
        known = Interpreters()
        name = self._environment.name
        if name not in known.read().engines:
            known.add(name, str(self._folder))
        self._environment = msgspec.structs.replace(
            self._environment, ready=True, verified=found.passed, verdict=found.words
        )
        self._write("ready")
        if self._plan.source.folder is None:
            for package in self._plan.packages:
                with suppress(OSError):
                    (self._downloads / package.file).unlink()
        return self._environment


# ---- install
# Put an environment together with uv: a Python without pip, and the wheels by their hashes.


def install(
    plan: EnvironmentPlan,
    folder: Path,
    wheels: Path,
    on_installed: Callable[[list[str]], None],
    cancel: threading.Event | None,
) -> None:
    """Make an environment of a plan's wheels in a folder; nothing else comes along, not even pip.

    Each wheel must be what its hash says. ``on_installed`` is told the names of those that are
    unpacked. Raises WorkFailed and Cancelled.
    """
    python, names = Path(plan.python.path), [one.name for one in plan.packages]
    with _working(folder.parent, plan.installed_B) as working:
        make = ("venv", "--quiet", "--allow-existing", "--python", str(python), str(folder))
        done = run_uv(python, make, working, None, cancel)
        made = python_in(folder)
        if done.returncode != 0 or made is None:
            if says_full(done.text):
                raise no_space(folder, plan.installed_B)
            raise WorkFailed(
                f"{python} cannot make an environment: {reason(done)}",
                remedy="choose another Python (--python)",
                detail=done.text,
            )
        on_installed([])
        wanted = working / "wanted.txt"
        lines = [f"{p.name}=={p.version} --hash=sha256:{p.sha256}\n" for p in plan.packages]
        wanted.write_text("".join(lines), encoding="utf-8")
        command = (
            "pip", "install", "--quiet", "--python", str(made), "--requirement", str(wanted),
            "--no-deps", "--require-hashes", "--only-binary", ":all:",
            "--no-index", "--find-links", str(wheels),
        )  # fmt: skip

        def on_tick() -> None:
            on_installed(_unpacked(working, names))

        done = run_uv(python, command, working, None, cancel, on_tick)
    if done.returncode != 0:
        if says_full(done.text):
            raise no_space(folder, plan.installed_B - size_of(folder))
        for one in plan.packages:  # one that uv was right to refuse
            check_file(wheels / one.file, one.sha256, one.vouched_by, cancel)
        raise WorkFailed(
            f"uv could not install '{plan.kind.title}': {reason(done)}",
            remedy="start again; if that does not help, choose another Python (--python)",
            detail=done.text,
        )
    on_installed(names)


@contextmanager
def _working(folder: Path, needs_B: int) -> Iterator[Path]:
    """Make a folder that is gone afterwards; raises WorkFailed when the disk is full.

    It stands beside the environment: on the same disk, where files need not be copied, and with a
    name that is no longer, since Windows bounds a path's length.
    """
    try:
        with tempfile.TemporaryDirectory(
            dir=folder, prefix=SCRATCH, ignore_cleanup_errors=True
        ) as name:
            yield Path(name)
    except OSError as error:
        if is_full(error):
            raise no_space(folder, needs_B) from None
        raise write_error(folder, error) from None


def _unpacked(working: Path, names: list[str]) -> list[str]:
    """Return which packages uv has unpacked; it puts them all into the environment at the end."""
    found = working.glob("archive-*/*/*.dist-info")
    there = {plain(info.name.partition("-")[0]) for info in found}
    return [name for name in names if plain(name) in there]
