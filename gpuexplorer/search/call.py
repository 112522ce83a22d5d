"""What a call of the Python API opens: its workload, and the history that keeps its runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.workloads.loader import is_own_file, load, own_workload, pick
from gpuexplorer.workloads.own_model import is_model_file, read_model
from gpuexplorer.workloads.trust import NotTrusted, is_trusted
from gpuexplorer.workloads.trust import trust as agree_to
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from gpuexplorer.history.store import Store


def workload_of(name: str, kernels: str | Path | Sequence[str | Path], *, trust: bool) -> Workload:
    """Return a workload by name, or a file of one's own by its path; NotTrusted for a new file."""
    roots = trusted([*listed(kernels), name], trust=trust)[:-1]
    return own_workload(Path(name)) if is_own_file(name) else pick(load(roots), name)


def listed(kernels: str | Path | Sequence[str | Path]) -> list[str | Path]:
    """Return folders in a list, also where one stands alone."""
    return [kernels] if isinstance(kernels, str | Path) else list(kernels)


def trusted(kernels: str | Path | Sequence[str | Path], *, trust: bool) -> list[Path]:
    """Return folders of workloads and models' files; NotTrusted for one that was not agreed to."""
    roots = [Path(folder) for folder in listed(kernels)]
    for root in roots:
        if is_model_file(root):
            model = read_model(root)
            if not is_trusted(model.sha256):
                if not trust:
                    raise NotTrusted(model)
                agree_to(model, remember=False)
    return roots


def not_kept(error: ExplorerError) -> None:
    """Warn that runs cannot be kept; what was measured comes back all the same."""
    warnings.warn(f"the runs are not kept in the history: {error}", UserWarning, stacklevel=3)


@contextmanager
def kept_in(history: bool | str | Path) -> Iterator[Store | None]:
    """Open the history that a call keeps its runs in: the user's own, the one named, or none."""
    if not history:
        yield None
        return
    from gpuexplorer.history.store import Store

    with Store.open(None if isinstance(history, bool) else history) as store:
        yield store
