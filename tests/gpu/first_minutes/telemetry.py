"""The device's state by UUID: clocks, power, temperature, memory, and what crosses PCIe."""

from __future__ import annotations

import numpy as np

from gpuexplorer.core.sample import Reading
from gpuexplorer.telemetry.base import TelemetrySource
from gpuexplorer.telemetry.ladder import open_source
from tests.gpu.first_minutes.check import Failed, Note, require, within
from tests.gpu.first_minutes.here import Here

COPIED_B = 1 << 26
LOOKS = 5
"""A counter of bytes may start over between two looks: then it gives no rate, and so the next."""
PCIE_SHARE = (0.5, 3.0)
"""What the counter may say of a copy: packets have headers, and others use the link, too."""
BOUNDS = {
    "sm_clock_Hz": (1e8, 5e9, "Hz"),
    "memory_clock_Hz": (1e8, 2e10, "Hz"),
    "temperature_C": (0.0, 110.0, "°C"),
    "memory_used_B": (1e6, 1e13, "B"),
    "power_W": (1.0, 2000.0, "W"),
    "load": (-1e-9, 1.0 + 1e-9, ""),
    "energy_J": (-1e-9, 1e12, "J"),
}
ALWAYS = ("sm_clock_Hz", "memory_used_B")
"""What every GPU has; the rest may be missing, with a reason."""


def telemetry(here: Here, note: Note) -> None:
    """A device found by its UUID tells its state, or why it does not."""
    source = open_source(here.device)
    if source is None:
        raise Failed(f"nothing reads the state of {here.device.hardware_id}")
    try:
        _read(here, note, source)
    finally:
        source.close()


def _read(here: Here, note: Note, source: TelemetrySource) -> None:
    data = np.ones(COPIED_B, np.uint8)
    address = here.upload(data)
    missing: dict[str, str] = {}
    for _ in range(LOOKS):
        before = source.read()
        here.copy_in(address, data)
        after = source.read()
        missing |= {**before.missing, **after.missing}
        if after.pcie_rx_B_per_s is not None:
            break
    for field, (low, high, unit) in BOUNDS.items():
        value = getattr(after, field)
        if value is None:
            _missing(note, field, missing)
        else:
            note(field, value)
            within(f"'{field}'", value, low, high, unit)
    reasons = after.throttle_reasons
    note("held down by", None if reasons is None else ", ".join(reasons) or "nothing")
    require(reasons is not None or "throttle_reasons" in missing, "no word on throttling")
    _pcie(note, before, after, missing)


def _missing(note: Note, field: str, missing: dict[str, str]) -> None:
    require(field not in ALWAYS, f"'{field}' is missing: {missing.get(field, 'no reason told')}")
    require(field in missing, f"'{field}' is missing without a reason")
    note(f"'{field}' is missing", missing[field])


def _pcie(note: Note, before: Reading, after: Reading, missing: dict[str, str]) -> None:
    """Compare the bytes that came into the device with those that were copied."""
    field = "pcie_rx_B_per_s"
    if after.pcie_rx_B_per_s is None:
        _missing(note, field, missing)
        return
    note("PCIe into the device_B_per_s", after.pcie_rx_B_per_s)
    if field in after.sources:
        return  # a mean over an interval of its own
    seen_B = after.pcie_rx_B_per_s * (after.t_ns - before.t_ns) * 1e-9
    note("PCIe's bytes over those copied", seen_B / COPIED_B)
    within("PCIe's bytes over those copied", seen_B / COPIED_B, *PCIE_SHARE)
