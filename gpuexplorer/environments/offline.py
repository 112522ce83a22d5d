"""Fill a folder of wheels, for a machine that has no internet: ``create`` takes them from there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from gpuexplorer.environments.disk import free_B, no_space
from gpuexplorer.environments.downloads import fetch_all, have_B, make_folder
from gpuexplorer.environments.hashes import SUMS, read_sums
from gpuexplorer.environments.one_at_a_time import one_at_a_time
from gpuexplorer.environments.pip_settings import read_settings
from gpuexplorer.environments.plan import EnvironmentPlan
from gpuexplorer.environments.progress import SetUpProgress, Teller
from gpuexplorer.environments.web import Web
from gpuexplorer.exchange.files import atomic_file


def fill(
    plan: EnvironmentPlan,
    folder: Path,
    on_progress: Callable[[SetUpProgress], None] = lambda progress: None,
    cancel: threading.Event | None = None,
) -> Path:
    """Fetch the wheels of a plan into a folder, and their hashes beside them; return their list.

    Begun again, it goes on from what is there. Raises Cancelled, InputError when the folder cannot
    be written, and WorkFailed as ``create`` does.
    """
    make_folder(folder)
    with one_at_a_time(folder):
        there = sum(have_B(folder, one) for one in plan.packages)
        needs = plan.total_B - there
        if needs > free_B(folder):
            raise no_space(folder, needs, kept=False)
        web = Web(read_settings(Path(plan.python.path)))
        fetch_all(plan.packages, folder, web, Teller(on_progress), 0, cancel)
        sums = read_sums(folder) | {one.file: one.sha256 for one in plan.packages}
        with atomic_file(folder / SUMS) as stream:
            stream.writelines(f"{sums[name]}  {name}\n".encode() for name in sorted(sums))
    return folder / SUMS
