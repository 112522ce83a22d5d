"""What a profiler counted in one launch."""

from __future__ import annotations

import msgspec

from gpuexplorer.core.result import Traffic


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """The hardware's counters over all kernels of one launch; None is "not counted"."""

    kernels: tuple[str, ...]
    """Names of the kernels, in the order they ran."""
    dram_read_B: float | None = None
    dram_write_B: float | None = None
    l2_B: float | None = None
    """Bytes through the L2 cache."""
    l1_B: float | None = None
    """Bytes through the L1 caches and texture units."""
    duration_s: float | None = None
    """While it was profiled: not a measurement of its speed."""
    occupancy: float | None = None
    """Warps resident over the most there can be, as achieved, 0 to 1."""

    def traffic(self) -> list[Traffic]:
        """Return the bytes as a run's document has them."""
        found = []
        if self.dram_read_B is not None and self.dram_write_B is not None:
            found.append(
                Traffic(
                    kind="dram", read_B=self.dram_read_B, write_B=self.dram_write_B, source="ncu"
                )
            )
        if self.l2_B is not None:
            found.append(
                Traffic(kind="l2", read_B=None, write_B=None, combined_B=self.l2_B, source="ncu")
            )
        return found
