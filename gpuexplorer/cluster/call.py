"""The cluster that a call of the Python API measures on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

from gpuexplorer.cluster.connection import Cluster
from gpuexplorer.cluster.paces import SLOWER_BY
from gpuexplorer.cluster.place import find_cluster
from gpuexplorer.core.errors import InputError


def connecting(
    cluster: str | Path | None, *, python: str | None, slower_by: float | None
) -> Callable[[], Cluster] | None:
    """Return what connects to the cluster that is named, whose troubles are warnings; None: none.

    Raises InputError for an engine of this machine beside a cluster, and for ``slower_by`` without.
    """
    if cluster is None:
        if slower_by is not None:
            raise InputError(
                "slower_by is for the workers of a cluster", remedy="give cluster as well"
            )
        return None
    if python is not None:
        raise InputError(
            "python names one of this machine's engines, and a cluster's workers use theirs",
            remedy="leave it out, or leave cluster out",
        )
    return lambda: Cluster(
        find_cluster(str(cluster)),
        slower_by=SLOWER_BY if slower_by is None else slower_by,
        on_trouble=lambda sentence: warnings.warn(sentence, UserWarning, stacklevel=3),
    )
