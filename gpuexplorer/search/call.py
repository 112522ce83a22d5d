"""What calls of the Python API share: the workload, the history, what an error leaves measured."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.workloads.loader import is_own_file, load_one, own_workload, programs_of
from gpuexplorer.workloads.trust import NotTrusted, is_trusted
from gpuexplorer.workloads.trust import trust as agree_to
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from gpuexplorer.history.store import Store


def workload_of(name: str, kernels: str | Path | Sequence[str | Path], *, trust: bool) -> Workload:
    """Return a workload by name, or a file of one's own by its path; NotTrusted for a new file."""
    trusted([*listed(kernels), *([name] if is_own_file(name) else [])], trust=trust)
    return read_workload(name, kernels)


def read_workload(name: str, kernels: str | Path | Sequence[str | Path]) -> Workload:
    """Return a workload by name, or a file of one's own by its path, of which nothing will run."""
    if is_own_file(name):
        return own_workload(Path(name))
    return load_one(name, [Path(folder) for folder in listed(kernels)])


def listed(kernels: str | Path | Sequence[str | Path]) -> list[str | Path]:
    """Return folders in a list, also where one stands alone."""
    return [kernels] if isinstance(kernels, str | Path) else list(kernels)


def trusted(kernels: str | Path | Sequence[str | Path], *, trust: bool) -> list[Path]:
    """Return folders of workloads and files; NotTrusted for a program that was not agreed to."""
    roots = [Path(folder) for folder in listed(kernels)]
    for program in (program for root in roots for program in programs_of(root)):
        if not is_trusted(program.sha256):
            if not trust:
                raise NotTrusted(program)
            agree_to(program, remember=False)
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


@contextmanager
def with_partial(so_far: Callable[[], Any]) -> Iterator[None]:
    """Give an error that ends the block what was measured by then, as ``so_far`` returns it."""
    try:
        yield
    except ExplorerError as error:
        error.partial = so_far()
        raise
