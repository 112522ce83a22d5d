"""What is known of a device: who it is, what it may launch, what it can do."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

DISPLAY_LAUNCH_S = 1.5
"""Longest predicted launch on a GPU whose system ends long ones: Windows does so after two seconds
(TDR), and a prediction is not exact."""


class DeviceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch on this device may ask for."""

    max_threads_per_block: int = 1024
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    max_shared_B: int = 48 * 1024
    """Shared memory one block may have, in bytes (static and dynamic)."""
    memory_B: int | None = None
    """All of it; on a CPU what this process may use. How much is free is asked before each run."""
    max_allocation_B: int | None = None
    max_launch_s: float | None = None
    """Longest launch that may run, where the system ends longer ones: on GPUs with a display."""


class DeviceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One device that can run work here.

    ``id`` is ``backend:index``; ``hardware_id`` (UUID, or a CPU's model and machine) is equal for
    every backend's view of the same silicon.
    """

    id: str
    hardware_id: str
    name: str
    backend: str
    kind: str
    """``gpu`` or ``cpu``."""
    driver: str
    compute_units: int
    peak_bandwidth_B_per_s: float | None = None
    peak_source: str | None = None
    """Where the peak comes from, in words; None when the peak is not known."""
    last_level_cache_B: int | None = None
    """The cache before main memory: a GPU's L2, all of a CPU's last level together."""
    nominal_clock_Hz: float | None = None
    """The highest clock of the cores that the device states."""
    limits: DeviceLimits = DeviceLimits()
    precisions: tuple[str, ...] = ("fp32",)
    features: tuple[str, ...] = ()
    """What a variant may require: ``cuda``, ``opencl``, ``shuffle``, ``sm_90``, ...

    ``lanes_16``: a CPU's vector unit runs 16 threads together; ``intel_cpu``, ``amd_cpu``: who made
    the CPU.
    """
    libraries: tuple[str, ...] = ()
    """Library calls this device offers, such as ``torch.matmul``."""
    threads: int | None = None
    """CPU threads a kernel may use; None on a GPU."""
    runs_kernels: bool = False
    """Whether the kernels' own sources can be compiled for it."""
    compute_capability: tuple[int, int] | None = None

    @property
    def is_nvidia_gpu(self) -> bool:
        """Whether it is a GPU of NVIDIA's, or a part of one."""
        return self.kind == "gpu" and self.hardware_id.startswith(("GPU-", "MIG-"))

    def has(self, requirement: str) -> bool:
        """Whether the device offers ``requirement``; ``sm_80`` means 8.0 or newer.

        Where kernels are compiled for ``compute_90`` among the features, 9.0 is the newest.
        """
        if requirement in self.features:
            return True
        if requirement.startswith("sm_") and requirement[3:].isdigit() and self.compute_capability:
            major, minor = self.compute_capability
            compiled_for = [int(f[8:]) for f in self.features if f.startswith("compute_")]
            return min([major * 10 + minor, *compiled_for]) >= int(requirement[3:])
        return False


class Unavailable(msgspec.Struct, frozen=True, kw_only=True):
    """A backend that cannot run here, why, and what would change that."""

    backend: str
    reason: str
    remedy: str


class DeviceList(msgspec.Struct, frozen=True, kw_only=True):
    """Every device found, and every backend that has none."""

    devices: tuple[DeviceInfo, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()

    def __iter__(self) -> Iterator[DeviceInfo]:
        """Iterate over the devices that can run work."""
        return iter(self.devices)
