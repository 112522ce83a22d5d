"""What a user is told when a model's file ended the engine's process itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpuexplorer.core.config import RunConfig
from gpuexplorer.workloads.frameworks import is_own
from gpuexplorer.workloads.workload import Workload

LAST_LINES = 12


class FileLoss(NamedTuple):
    """A sentence, what to do, and what was printed last."""

    reason: str
    remedy: str = ""
    detail: str = ""


def ended_by_file(
    workload: Workload | None,
    config: RunConfig | None,
    status: int | None,
    how: str,
    output: Sequence[str],
) -> FileLoss | None:
    """Return what to say when the process ended while a model's file ran; None for other work.

    ``how`` says in words how the process ended, ``output`` is what it printed.
    """
    if workload is None or config is None or config.variant not in workload.manifest.variants:
        return None
    if not is_own(workload.variant(config.variant).model):
        return None
    origin = workload.source.origin
    detail = "\n".join(list(output)[-LAST_LINES:])
    if status is not None and status >= 0:
        return FileLoss(
            f"{origin}: it ended the engine's process with status {status}",
            "look for os._exit(), or for a library that ends the program",
            detail,
        )
    return FileLoss(
        f"{origin}: while it ran, {how}", "look at what it calls outside Python", detail
    )
