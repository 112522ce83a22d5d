"""Choices of the panel's lists, and of those that depend on little more than themselves."""

from __future__ import annotations

from gpuexplorer.core.config import OWN_FILL
from gpuexplorer.core.offer import Offer
from gpuexplorer.workloads.manifest import FILLS, OVERFLOW_FILL, Manifest

FILL_TITLES = {
    "normal": "Normal, N(0, 1)",
    "uniform": "Uniform, 0 to 1",
    "integers": "Integers, -4 to 4",
    "zeros": "Zeros",
    OVERFLOW_FILL: "Large, ±256",
}


def cache_offers(*, include_transfers: bool) -> list[Offer]:
    """Return hot and cold caches, and why cold ones cannot be chosen."""
    reason = "included transfers copy the arrays before each launch"
    return [
        Offer("hot", "Hot: as left behind"),
        Offer("cold", "Cold: emptied first", reason if include_transfers else None),
    ]


def fill_offers(manifest: Manifest, chosen: str) -> list[Offer]:
    """Return the input distributions; the first is the manifest's own."""
    inputs = [a.fill for a in manifest.arrays.values() if a.role in ("in", "inout")]
    own = dict.fromkeys(FILL_TITLES.get(fill, fill) for fill in inputs)
    tip = f"As the workload's manifest says: {'; '.join(own) or 'it has no inputs'}"
    fills: list[str] = [*FILLS]
    if chosen == OVERFLOW_FILL:  # of a run made elsewhere; it is not for timing
        fills.append(OVERFLOW_FILL)
    first = Offer(OWN_FILL, "The workload's own", tip=tip)
    return [first, *(Offer(fill, FILL_TITLES[fill]) for fill in fills)]
