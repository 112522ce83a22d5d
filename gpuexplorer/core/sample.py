"""What arrives while a run is going: samples in batches, and readings of the device's state."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

MOST_SECONDS = 1e9
"""The longest time that a launch can have taken."""


class SampleBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive batches of launches, as they travel.

    ``seconds`` are durations of one launch, little-endian float64, one a sample; ``counts`` says
    how many belong to each batch and ``starts_ns`` when each batch began on the engine's monotonic
    clock.
    """

    seconds: bytes
    counts: tuple[int, ...]
    starts_ns: tuple[int, ...]
    phases_s: bytes | tuple[tuple[float, float, float, float, float], ...] = b""
    """With transfers included: allocate, host→device, kernel, device→host, free of each sample, as
    little-endian float64; what an earlier version stored may hold rows."""
    launches: tuple[int, ...] = ()
    """Launches that each sample of a batch is the mean of; empty: one."""
    clocks_Hz: tuple[float | None, ...] = ()
    """The clock the device held during each batch; empty or None: it cannot be told."""

    @property
    def durations_s(self) -> npt.NDArray[np.float64]:
        """The durations as an array."""
        return np.frombuffer(self.seconds, dtype="<f8")

    @property
    def phases(self) -> npt.NDArray[np.float64]:
        """The phases in seconds, shape (samples that have them, 5)."""
        if isinstance(self.phases_s, bytes):
            return np.frombuffer(self.phases_s, "<f8").reshape(-1, 5)
        return np.array(self.phases_s, np.float64).reshape(-1, 5)

    @property
    def is_whole(self) -> bool:
        """Whether it can be: as many of each part as there are samples or batches, and numbers."""
        samples, rest = divmod(len(self.seconds), 8)
        batches, phases = len(self.counts), self.phases_s
        rows, part = divmod(len(phases), 40) if isinstance(phases, bytes) else (len(phases), 0)
        return (
            not rest
            and bool((np.abs(self.durations_s) <= MOST_SECONDS).all())  # which NaN is not
            and sum(self.counts) == samples
            and min(self.counts, default=0) >= 0
            and len(self.starts_ns) == batches
            and not part
            and rows in (0, samples)
            and len(self.launches) in (0, batches)
            and min(self.launches, default=1) >= 1
            and len(self.clocks_Hz) in (0, batches)
        )


class DeviceUser(msgspec.Struct, frozen=True, kw_only=True):
    """Another program that has work or memory on a device."""

    pid: int
    program: str
    user: str = ""
    """Whose it is; empty where that is not told."""
    memory_B: float | None = None
    """Memory of the device that it holds."""
    load: float | None = None
    """Share of the latest time that it had work there, 0 to 1; None where that is not told."""

    @property
    def works(self) -> bool:
        """Whether it had work there lately, as far as can be told."""
        return self.load is None or self.load > 0


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a device's state; None is "not available".

    ``load`` is the share of time the device was busy, 0 to 1; ``t_ns`` the engine's monotonic
    clock. Rates (``..._B_per_s``, ``occupancy``, ``sm_active``) are means over the ``interval_s``
    before ``t_ns``. ``energy_J`` is a counter: only differences mean something.
    """

    t_ns: int
    source: str
    sm_clock_Hz: float | None = None
    memory_clock_Hz: float | None = None
    power_W: float | None = None
    temperature_C: float | None = None
    memory_used_B: float | None = None
    load: float | None = None
    other_cores: float | None = None
    """Cores of the processor that other programs than this one kept busy."""
    stolen: float | None = None
    """Share of the processor's time that the host of a virtual machine gave to others, 0 to 1."""
    users: tuple[DeviceUser, ...] | None = None
    """Other programs on the device."""
    throttle_reasons: tuple[str, ...] | None = None
    energy_J: float | None = None
    dram_read_B_per_s: float | None = None
    dram_write_B_per_s: float | None = None
    dram_B_per_s: float | None = None
    """Reads and writes together, where the source cannot tell them apart."""
    pcie_rx_B_per_s: float | None = None
    """Into the device."""
    pcie_tx_B_per_s: float | None = None
    """Out of the device."""
    occupancy: float | None = None
    """Warps resident over the most there can be, as achieved, 0 to 1."""
    sm_active: float | None = None
    """Share of time that multiprocessors had work, 0 to 1."""
    interval_s: float | None = None
    sources: dict[str, str] = {}
    """Whose word a field is, where it is not ``source``'s."""
    missing: dict[str, str] = {}
    """Why something is not available, by field name; said once per source."""
