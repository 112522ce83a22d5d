"""The order of a workload's kernels as rungs: what each is a step on from."""

from __future__ import annotations

from collections.abc import Iterator

from gpuexplorer.workloads.workload import Workload


def problem_of(workload: Workload, variant: str) -> object:
    """Return what tells variants that compute the same from others."""
    return workload.work_of(variant), workload.variant(variant).reference


def rungs_below(workload: Workload, name: str) -> Iterator[str]:
    """Yield the kernels that a kernel builds on, the nearest first; none for a library call.

    The next one is that of ``after``, or else the last that stands before it.
    """
    variants = workload.manifest.variants
    if variants[name].call is not None:
        return
    order = list(variants)
    at: str | None = name
    while at is not None:
        before = [n for n in order[: order.index(at)] if variants[n].call is None
                  and problem_of(workload, n) == problem_of(workload, name)]  # fmt: skip
        at = variants[at].after or next(reversed(before), None)
        if at is not None:
            yield at
