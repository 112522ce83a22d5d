"""Which variants of a workload have operators that something tells: those that PyTorch runs."""

from __future__ import annotations

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.workload import Workload

TOLD_BY = "torch."


def told_variants(workload: Workload) -> list[str]:
    """Return the variants whose operators PyTorch's profiler tells, in the manifest's order."""
    variants = workload.manifest.variants
    return [name for name, spec in variants.items() if (spec.call or "").startswith(TOLD_BY)]


def told_variant(workload: Workload, wanted: str | None) -> str:
    """Return the variant to record: the wanted one, or the first whose operators are told.

    Raises InputError when there is none, or the wanted one is none of them.
    """
    able = told_variants(workload)
    if wanted is not None:
        workload.variant(wanted)  # which says when there is none
        if wanted in able:
            return wanted
        raise InputError(
            f"nothing tells the operators of '{wanted}'",
            remedy=f"PyTorch runs {', '.join(able)}" if able else "choose another workload",
        )
    if not able:
        raise InputError(
            f"PyTorch runs no variant of '{workload.name}', and its profiler tells operators",
            remedy="choose another workload; 'gpuexplorer workloads' lists them",
        )
    first = workload.manifest.first_variant
    return first if first in able else able[0]
