"""Put an environment together with uv: a Python without pip, and the wheels by their hashes."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.engine.interpreters import python_in
from gpuexplorer.environments.disk import is_full, no_space, says_full, size_of
from gpuexplorer.environments.hashes import check_file
from gpuexplorer.environments.journal import SCRATCH
from gpuexplorer.environments.locked import plain
from gpuexplorer.environments.plan import EnvironmentPlan
from gpuexplorer.environments.uv import reason, run_uv
from gpuexplorer.exchange.files import write_error


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
