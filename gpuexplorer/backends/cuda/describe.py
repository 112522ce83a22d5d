"""From what the driver says of a device to what the rest of the program knows of it."""

from __future__ import annotations

from gpuexplorer.analysis.occupancy import LIMITS, WARP, MultiprocessorLimits
from gpuexplorer.backends.cuda import driver as cu
from gpuexplorer.core.device import DeviceInfo, DeviceLimits
from gpuexplorer.core.precision import BFLOAT_SINCE

PEAK_SOURCE = "memory clock × bus width (nominal)"
FIRST_WITH_HALF = (5, 3)
FIRST_WITH_OWN_TARGET = 9
"""From compute capability 9.0 on, an ``a`` target has the instructions of that chip alone."""


def architecture(capability: tuple[int, int]) -> str:
    """Return the compiler's name of the exact architecture, such as ``sm_90a``."""
    major, minor = capability
    return f"sm_{major}{minor}" + ("a" if major >= FIRST_WITH_OWN_TARGET else "")


def peak_bandwidth_B_per_s(clock_kHz: int | None, bus_width_bit: int | None) -> float | None:
    """Return the nominal peak: two transfers a clock, over the bus; None when either is unknown."""
    if not clock_kHz or not bus_width_bit:
        return None
    return clock_kHz * 1e3 * 2 * bus_width_bit / 8


def multiprocessor_limits(facts: cu.DeviceFacts) -> MultiprocessorLimits | None:
    """Return the limits of one multiprocessor as the device states them; None when it does not."""
    threads = facts.attribute(cu.MAX_THREADS_PER_MULTIPROCESSOR)
    blocks = facts.attribute(cu.MAX_BLOCKS_PER_MULTIPROCESSOR)
    shared_B = facts.attribute(cu.MAX_SHARED_PER_MULTIPROCESSOR)
    block_B = facts.attribute(cu.MAX_SHARED_PER_BLOCK_OPTIN)
    reserved_B = facts.attribute(cu.RESERVED_SHARED_PER_BLOCK)
    registers = facts.attribute(cu.MAX_REGISTERS_PER_MULTIPROCESSOR)
    if not (threads and blocks and shared_B and block_B and registers) or reserved_B is None:
        return None
    known = LIMITS.get(facts.capability)  # for what has no attribute
    return MultiprocessorLimits(
        warps=threads // WARP,
        blocks=blocks,
        shared_B=shared_B,
        shared_per_block_B=block_B,
        reserved_per_block_B=reserved_B,
        shared_unit_B=128 if facts.capability >= (8, 0) else 256,
        registers=registers,
        barriers=known.barriers if known is not None else None,
    )


def describe(
    facts: cu.DeviceFacts,
    driver: str,
    peak_B_per_s: float | None,
    libraries: tuple[str, ...],
    target: str | None = None,
) -> DeviceInfo:
    """Return the device as the rest of the program sees it.

    ``target`` is what kernels are compiled for, by default the exact architecture: ``compute_90``,
    say, where the compiler does not know the device. Then instructions of that chip alone, or of
    any after 9.0, are not to be had.
    """
    capability = facts.capability
    half = capability >= FIRST_WITH_HALF
    bfloat = capability >= BFLOAT_SINCE
    precisions = ["fp64", "fp32", *(["bf16"] if bfloat else []), *(["fp16"] if half else [])]
    target = target or architecture(capability)
    features = ["cuda", "c++", "shuffle", "fp64", *(["fp16"] if half else [])]
    features += dict.fromkeys([target.rstrip("a"), target])
    x, y, z = (facts.needed(n) for n in cu.MAX_BLOCK_DIM)
    grid_x, grid_y, grid_z = (facts.needed(n) for n in cu.MAX_GRID_DIM)
    return DeviceInfo(
        id=f"cuda:{facts.index}",
        hardware_id=facts.uuid,
        name=facts.name,
        backend="cuda",
        kind="gpu",
        driver=driver,
        compute_units=facts.needed(cu.MULTIPROCESSORS),
        peak_bandwidth_B_per_s=peak_B_per_s,
        peak_source=PEAK_SOURCE if peak_B_per_s is not None else None,
        last_level_cache_B=facts.attribute(cu.L2_CACHE_B),
        nominal_clock_Hz=facts.clock_Hz,
        limits=DeviceLimits(
            max_threads_per_block=facts.needed(cu.MAX_THREADS_PER_BLOCK),
            max_block=(x, y, z),
            max_grid=(grid_x, grid_y, grid_z),
            max_shared_B=facts.attribute(cu.MAX_SHARED_PER_BLOCK_OPTIN)
            or facts.needed(cu.MAX_SHARED_PER_BLOCK),
            memory_B=facts.memory_B,
            max_launch_s=facts.max_launch_s,
        ),
        precisions=tuple(precisions),
        features=tuple(features),
        libraries=libraries,
        runs_kernels=True,
        compute_capability=capability,
    )
