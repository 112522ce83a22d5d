"""What GPUs differ in: the tests' bounds follow from these, not from the card they were made for.

Multiply-adds a clock and multiprocessor are those of the table "Throughput of Native Arithmetic
Instructions" (CUDA C++ Programming Guide up to 12, Best Practices Guide from 13 on), a pair of
halves counted as two. Where editions of the table or NVIDIA's white papers disagree, the lower and
the higher word stand: for 8.0 the Best Practices Guide has 128 and the A100's paper 256; for 10.0
editions 13 and 12 have 128 and 256. For 8.6 the guide said 256; the GA102's paper, and those of the
AD102 and GB202, give halves the rate of floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.workloads.choose import device_for_variant
from gpuexplorer.workloads.workload import Workload

Capability = tuple[int, int]
Bounds = tuple[float, float]

SHARE = (0.6, 1.25)
"""What may be measured of a nominal ratio: the clock of either side depends on its power."""
FIRST_WITH_TENSOR_CORES = (7, 0)
WITHOUT_TENSOR_CORES = "GTX 16"
"""These have compute capability 7.5 and no tensor cores."""
FIRST_WITH_ENERGY_COUNTER = (7, 0)
LAUNCH_S = 4e-6
"""No launch takes less: what would be faster from main memory cannot show a cache's bandwidth."""


@dataclass(frozen=True)
class Rates:
    """Multiply-adds a clock and multiprocessor."""

    fp32: int
    fp16: tuple[int, int]
    """By the lowest and the highest word."""
    fp64: int

    def over_fp32(self, precision: str) -> Bounds:
        """Return the nominal ratio to fp32, by the lowest and the highest word."""
        low, high = self.fp16 if precision == "fp16" else (self.fp64, self.fp64)
        return low / self.fp32, high / self.fp32


RATES: dict[Capability, Rates] = {
    (6, 0): Rates(64, (128, 128), 32),
    (6, 1): Rates(128, (2, 2), 4),
    (7, 0): Rates(64, (128, 128), 32),
    (7, 5): Rates(64, (128, 128), 2),
    (8, 0): Rates(64, (128, 256), 32),
    (8, 6): Rates(128, (128, 128), 2),
    (8, 9): Rates(128, (128, 128), 2),
    (9, 0): Rates(128, (256, 256), 64),
    (10, 0): Rates(128, (128, 256), 64),
    (12, 0): Rates(128, (128, 128), 2),
    (12, 1): Rates(128, (128, 128), 2),
}
"""By compute capability."""


def rate_bounds(capability: Capability | None, precision: str) -> Bounds:
    """Return what a precision's multiply-add rate over that of fp32 may be measured as.

    A GPU that is not in the table may have the ratio of any that is.
    """
    known = RATES.get(capability) if capability is not None else None
    ratios = [r.over_fp32(precision) for r in ([known] if known else RATES.values())]
    return SHARE[0] * min(low for low, _ in ratios), SHARE[1] * max(high for _, high in ratios)


def has_tensor_cores(device: DeviceInfo) -> bool:
    """Return whether products of halves run on tensor cores."""
    capability = device.compute_capability or (0, 0)
    return capability >= FIRST_WITH_TENSOR_CORES and WITHOUT_TENSOR_CORES not in device.name


def cache_shows(cache_B: int | None, memory_B_per_s: float) -> bool:
    """Return whether a quick calibration's launch in the cache can be faster than main memory.

    It touches an eighth of the cache. In a small one that is over before a launch is.
    """
    return cache_B is not None and cache_B / 8 / memory_B_per_s > LAUNCH_S


def in_cache(cache_B: int | None, *, arrays: int, itemsize_B: int = 4) -> int:
    """Return how many elements arrays may have to lie in half of the last-level cache together."""
    return max(1 << 12, (cache_B or 1 << 20) // 2 // (arrays * itemsize_B))


def fitting(elements: int, bytes_each: int, memory_B: int | None, share: float = 0.25) -> int:
    """Return a number of elements, halved until they take no more than a share of the memory."""
    while memory_B is not None and elements * bytes_each > share * memory_B:
        elements //= 2
    return elements


def offered(
    devices: DeviceList, device: DeviceInfo, workload: Workload, variant: str
) -> Sequence[str]:
    """Return the precisions in which this hardware runs a variant, by whichever backend has it."""
    spec = workload.variant(variant)
    where = device_for_variant(devices, spec, device)
    if where.hardware_id != device.hardware_id:
        return ()
    if spec.call is not None and spec.call not in where.libraries:
        return ()
    if not all(where.has(requirement) for requirement in spec.requires):
        return ()
    return [p for p in workload.precisions_of(variant) if p in where.precisions]
