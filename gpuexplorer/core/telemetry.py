"""What is said of a device's telemetry apart from its readings: the sources and their state."""

from __future__ import annotations

import msgspec

FIELD_TITLES: dict[str, str] = {
    "sm_clock_Hz": "clock",
    "memory_clock_Hz": "memory clock",
    "power_W": "power",
    "temperature_C": "temperature",
    "memory_used_B": "memory used",
    "load": "load",
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
