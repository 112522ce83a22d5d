"""What is told of a device besides times: its sources, its counters, its clock's reasons."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpuexplorer.core.result import Traffic
from gpuexplorer.core.sample import DeviceUser
from gpuexplorer.core.units import listed

FIELD_TITLES: dict[str, str] = {
    "sm_clock_Hz": "clock",
    "memory_clock_Hz": "memory clock",
    "power_W": "power",
    "temperature_C": "temperature",
    "memory_used_B": "memory used",
    "load": "device load",
    "other_cores": "cores that others use",
    "stolen": "time that the host took",
    "users": "other programs on it",
    "throttle_reasons": "throttle reasons",
    "energy_J": "energy",
    "dram_read_B_per_s": "DRAM reads",
    "dram_write_B_per_s": "DRAM writes",
    "dram_B_per_s": "DRAM traffic",
    "pcie_rx_B_per_s": "PCIe into the device",
    "pcie_tx_B_per_s": "PCIe out of the device",
    "occupancy": "occupancy",
    "sm_active": "SM active",
}
"""The fields of a reading in words, in the order they are listed."""


class SourceState(msgspec.Struct, frozen=True, kw_only=True):
    """One source of the ladder on one device: what it gives, or why it gives nothing."""

    source: str
    """As it stands beside the numbers, such as ``nvml``."""
    title: str
    gives: tuple[str, ...] = ()
    """Fields of a reading that it delivered; empty when it does not work here."""
    reason: str = ""
    """Why it gives nothing."""
    remedy: str = ""
    """How to enable it."""
    missing: dict[str, str] = {}
    """Fields that it could give on other devices, and why not on this one."""
    users: tuple[DeviceUser, ...] | None = None
    other_cores: float | None = None
    stolen: float | None = None
    """Who else uses the device, as in a reading."""


# ---- counters of one launch
# What a profiler counted in one launch.


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


# ---- why a clock is where it is
# Why a GPU's clock is where it is, by its driver's word, and what that means for a figure.
#
# At a limit of its own a device runs as fast as it can for as long as it likes: the figure is true,
# with a remark. A slowdown is something else: heat or supply take away what the device could do.


HEAT = "temperature (driver)"
"""The driver lowers the clock step by step, to what the cooling can carry off."""
FAULTS = frozenset({"hardware slowdown", "temperature (hardware)", "power brake"})
"""The hardware protects itself and halves the clock or worse."""
LIMITS = {
    "power cap": "power",
    "board limit": "board",
    "reliability": "voltage",
    HEAT: "temperature",
}
"""What each limit is called; but for heat, a device at one runs at the speed that it has."""
CHOSEN = frozenset({"application clocks", "sync boost", "display clocks"})
"""Limits of the clock that a user or an administrator has set."""


def slowdowns(reasons: Sequence[str]) -> tuple[str, ...]:
    """Return the reasons that take speed away which the device could have: heat and faults."""
    return tuple(r for r in reasons if r == HEAT or r in FAULTS)


def is_fault(reasons: Sequence[str]) -> bool:
    """Return whether the hardware protects itself."""
    return not FAULTS.isdisjoint(reasons)


def at_own_limit(reasons: Sequence[str]) -> bool:
    """Return whether a limit of the device's own holds the clock, and nothing slows it down."""
    return any(r in LIMITS for r in reasons) and not slowdowns(reasons)


def limit_words(reasons: Sequence[str]) -> str:
    """Return ``at its power limit``, or all limits that hold the clock; empty without any."""
    limits = [limit for reason, limit in LIMITS.items() if reason in reasons]
    if not limits:
        return ""
    return f"at its {listed(limits)} limits" if len(limits) > 1 else f"at its {limits[0]} limit"


def clock_words(reasons: Sequence[str]) -> str:
    """Return what holds the clock, faults first; empty when nothing does."""
    faults = [r for r in reasons if r in FAULTS]
    others = [r for r in reasons if r not in FAULTS and r not in LIMITS]
    parts = [f"slowed down: {', '.join(faults)}" if faults else "", limit_words(reasons)]
    return "; ".join(part for part in (*parts, *others) if part)


def frequent(looks: Sequence[Sequence[str] | None], share: float) -> tuple[str, ...]:
    """Return the reasons that stood in at least this share of the looks that know any, sorted."""
    known = [look for look in looks if look is not None]
    found = {reason for look in known for reason in look}
    return tuple(sorted(r for r in found if sum(r in look for look in known) >= share * len(known)))
