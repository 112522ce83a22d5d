"""What else kept a processor busy while it measured: other programs, and the host it is lent by."""

from __future__ import annotations

from gpuexplorer.core.units import listed, percent, plural

OTHERS = 0.25
"""Cores that other programs keep busy, from which it is worth a word."""
STOLEN = 0.03
"""Share of the time that a host gave to others, from which it is worth a word."""


def cores_of(backend: str, compute_units: int | None) -> int | None:
    """Return how many cores a processor has; None where a backend knows its own threads alone."""
    return compute_units if backend == "opencl" else None


def disturbance(other_cores: float | None, stolen: float | None, cores: int | None) -> str:
    """Say who kept a processor of so many ``cores`` busy; empty for nobody, or nothing known.

    ``other_cores`` is how many of them other programs used, ``stolen`` the share of its time that
    the host of a virtual machine gave to others.
    """
    found = []
    if other_cores is not None and other_cores >= OTHERS:
        found.append(
            plural(
                cores,
                "other programs keep this CPU busy ({others:.1f} of {number} core)",
                "other programs keep this CPU busy ({others:.1f} of {number} cores)",
                others=other_cores,
            )
            if cores
            else f"other programs keep this CPU busy ({other_cores:.1f} cores)"
        )
    if stolen is not None and stolen >= STOLEN:
        found.append(f"its host gave {percent(stolen)} of its time to others")
    return listed(found)
