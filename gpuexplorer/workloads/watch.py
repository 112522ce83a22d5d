"""Files of a workload that may be edited while it is looked at: which they are, and what moved."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gpuexplorer.workloads.kernel_file import is_kernel_file, manifest_path
from gpuexplorer.workloads.workload import Workload

Stamps = frozenset[tuple[str, int, int]]
"""Of each file its path, the time of its last change and its size."""


def source_paths(workload: Workload) -> list[Path]:
    """Return the manifest and the sources of a workload that was read from files."""
    origin = Path(workload.source.origin)
    manifest = manifest_path(origin) if is_kernel_file(origin) else origin
    return [manifest, *(origin.parent / name for name in workload.source.files)]


def stamps(paths: Iterable[Path]) -> Stamps:
    """Return what tells whether files changed; one that cannot be looked at is left out."""
    found = set()
    for path in paths:
        try:
            state = path.stat()
        except OSError:
            continue
        found.add((str(path), state.st_mtime_ns, state.st_size))
    return frozenset(found)
