"""Which variants of a workload have operators that something tells: those that PyTorch runs."""

from __future__ import annotations

from gpuexplorer.workloads.workload import Workload

TOLD_BY = "torch."


def told_variants(workload: Workload) -> list[str]:
    """Return the variants whose operators PyTorch's profiler tells, in the manifest's order."""
    variants = workload.manifest.variants
    return [name for name, spec in variants.items() if (spec.call or "").startswith(TOLD_BY)]
