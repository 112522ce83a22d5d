"""What calibration tries on a device: a few sensible candidates for each ceiling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gpuexplorer.core.ceilings import CeilingKind
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.workloads.choose import complete, device_for_variant
from gpuexplorer.workloads.loader import read_folder, workload_folders
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload

ASSUMED_CACHE_B = 64 << 20
"""Last-level cache where the device does not say how large it is."""
MEMORY_FACTOR = 4
"""An array in main memory is this many times the last-level cache, as McCalpin's STREAM asks."""
QUICK_MEMORY_FACTOR = 1
LARGEST_ARRAY_B = 1 << 29
"""Larger ones take long to make and to fill, also where the cache is large."""
SMALLEST_ARRAY_B = 1 << 26
MEMORY_SHARE = 1 / 16
"""Share of a device's memory that one array may take."""
LAST_LEVEL_PARTS = (2, 8)
INNER_PARTS = (32, 128, 512)
"""A launch in the caches touches the last level's size over these."""
SMALLEST_FOOTPRINT_B = 1 << 18
LIBRARIES = ("torch", "cupy", "numpy")
GEMM_SIZES = (1024, 2048, 4096, 8192)
BRIEF_S = 0.15
"""How long each ceiling is sampled in brief."""
FMA_ROUNDS = 128
"""Rounds of 48 multiply-adds of a thread."""
CPU_FMA_THREADS = 1 << 16
GPU_FMA_THREADS = 1 << 21

LAST_LEVEL = "last-level cache"
Roof = tuple[CeilingKind, str | None, bool]
"""A kind, a precision, and whether it is of the last-level cache: there is one of each."""


class CeilingCandidate(msgspec.Struct, frozen=True):
    """One configuration that may reach a ceiling."""

    workload: Workload
    config: RunConfig
    title: str
    """What runs, in words."""
    after: CeilingCandidate | None = None
    """The same at a smaller size: tried first, and this one only when it was short enough."""
    growth: float = 1.0
    """How many times the work of ``after``."""


class Stage(msgspec.Struct, frozen=True):
    """One ceiling, and what may reach it; ``seconds`` is how long each is sampled."""

    kind: CeilingKind
    precision: str | None
    title: str
    size: str
    """The size in words, for the method."""
    seconds: float
    candidates: tuple[CeilingCandidate, ...] = ()

    @property
    def roof(self) -> Roof:
        """Which of all ceilings it is."""
        return self.kind, self.precision, self.title == LAST_LEVEL


@cache
def ceiling_workloads() -> dict[str, Workload]:
    """Return the workloads that measure ceilings; they are in no list of workloads."""
    root = Path(__file__).parent / "kernels"
    found = [Workload(read_folder(folder)) for folder in workload_folders(root)]
    return {workload.name: workload for workload in found}


def stages(devices: DeviceList, device: DeviceInfo, *, quick: bool = False) -> list[Stage]:
    """Return every ceiling to measure on a device; those that nothing here can run are left out."""
    made = _Planner(devices, device, quick)
    return [stage for stage in made.stages() if stage.candidates]


def in_brief(stages: Sequence[Stage]) -> list[Stage]:
    """Return the stages that take some five seconds together: kernels alone, one candidate each.

    Libraries are left out: some take longer to be loaded than all of this.
    """
    kept = [stage for stage in stages if stage.kind != "gemm"]
    return [replace(s, seconds=BRIEF_S, candidates=s.candidates[:1]) for s in kept]


class _Planner:
    def __init__(self, devices: DeviceList, device: DeviceInfo, quick: bool) -> None:
        self.devices, self.device, self.quick = devices, device, quick
        self.cache_B = device.last_level_cache_B or ASSUMED_CACHE_B
        self.wide = "fp64" if "fp64" in device.precisions else "fp32"
        self.itemsize_B = PRECISIONS[self.wide].itemsize_B
        self.is_cpu = device.kind == "cpu"

    def stages(self) -> Iterator[Stage]:
        yield from self._main_memory()
        yield from self._caches()
        for precision in self.device.precisions:
            yield self._fma(precision)
        for precision in self.device.precisions:
            yield self._gemm(precision)

    # ---- memory

    def _array_B(self) -> tuple[int, str]:
        """Return the bytes of one array in main memory, and how that compares with the cache."""
        factor = QUICK_MEMORY_FACTOR if self.quick else MEMORY_FACTOR
        most = [LARGEST_ARRAY_B]
        if self.device.limits.memory_B is not None:
            most.append(int(self.device.limits.memory_B * MEMORY_SHARE))
        if self.device.limits.max_allocation_B is not None:
            most.append(self.device.limits.max_allocation_B // 2)
        array_B = min(max(factor * self.cache_B, SMALLEST_ARRAY_B), *most) >> 20 << 20
        array_B = max(array_B, 1 << 20)
        times = array_B / self.cache_B
        array_MiB, cache_MiB = array_B >> 20, self.cache_B >> 20
        words = [
            f"arrays of {array_MiB} MiB",
            f"{times:.2g} × the last-level cache of {cache_MiB} MiB"
            if self.device.last_level_cache_B
            else f"{times:.2g} × an assumed cache of {cache_MiB} MiB",
        ]
        if times < 0.99 * factor:
            words.append("the largest tried")
        return array_B, ", ".join(words)

    def _main_memory(self) -> Iterator[Stage]:
        array_B, words = self._array_B()
        seconds = 0.8 if self.quick else 2.0
        elements = array_B // self.itemsize_B
        for kind, title, found in (
            ("copy", "copy, main memory", self._streams("copy", elements)),
            ("triad", "triad, main memory", self._streams("triad", elements)),
            ("read", "read-only, main memory", self._reads(elements)),
        ):
            yield Stage(kind, None, title, words, seconds, tuple(found))  # type: ignore[arg-type]

    def _streams(self, what: str, elements: int) -> list[CeilingCandidate]:
        names = [what, *(f"{what}_{library}" for library in LIBRARIES)]
        if not self.quick:
            names.append(f"{what}_four")
        known = ceiling_workloads()["ceiling-memory"].manifest.variants
        return self._known("ceiling-memory", [n for n in names if n in known], {"N": elements})

    def _reads(self, elements: int) -> list[CeilingCandidate]:
        found: list[CeilingCandidate] = []
        shapes = ((64, 64), (256, 32)) if self.is_cpu else ((256, 32), (512, 32))
        for width, rows in shapes[:1] if self.quick else shapes:
            size = {"G": max(1, elements // (width * rows)), "R": rows, "W": width}
            found += self._known("ceiling-read", ["sum"], size)
        size = {"G": max(1, elements // 8192), "R": 32, "W": 256}
        return found + self._known("ceiling-read", LIBRARIES, size)

    def _caches(self) -> Iterator[Stage]:
        seconds = 0.2 if self.quick else 0.4
        for title, parts in ((LAST_LEVEL, LAST_LEVEL_PARTS), ("inner caches", INNER_PARTS)):
            footprints = [self.cache_B // part for part in (parts[-1:] if self.quick else parts)]
            footprints = [f for f in footprints if f >= SMALLEST_FOOTPRINT_B]
            found: list[CeilingCandidate] = []
            for footprint_B in footprints:
                elements = footprint_B // self.itemsize_B
                found += self._streams("copy", elements // 2)
                found += self._streams("triad", elements // 3)
                found += self._reads(elements)
            listed = ", ".join(_mebibytes(f) for f in footprints)
            words = (
                f"launches that touch {listed}, of a last-level cache of {self.cache_B >> 20} MiB"
            )
            yield Stage("cache", None, title, words, seconds, tuple(found))

    # ---- arithmetic

    def _fma(self, precision: str) -> Stage:
        threads = GPU_FMA_THREADS
        if self.is_cpu:
            threads = CPU_FMA_THREADS * (self.device.threads or 1)
        size = {"N": threads, "R": FMA_ROUNDS}
        found: list[CeilingCandidate] = []
        for chains in (8, 12, 24) if self.is_cpu else (4, 8, 16):
            for name in ("chains", "pairs"):
                if precision in ceiling_workloads()["ceiling-fma"].precisions_of(name):
                    found += self._known("ceiling-fma", [name], size, precision, {"CHAINS": chains})
        words = f"{threads} threads of {48 * FMA_ROUNDS} multiply-adds"
        seconds = 0.2 if self.quick else 0.5
        return Stage("fma", precision, f"multiply-add {precision}", words, seconds, tuple(found))

    def _gemm(self, precision: str) -> Stage:
        workload = ceiling_workloads()["ceiling-gemm"]
        names = [n for n in workload.manifest.variants if precision in workload.precisions_of(n)]
        found: list[CeilingCandidate] = []
        for name in names:
            smaller: CeilingCandidate | None = None
            for size in GEMM_SIZES:
                for one in self._known("ceiling-gemm", [name], {"N": size}, precision):
                    smaller = CeilingCandidate(one.workload, one.config, one.title, smaller, 8.0)
                    found.append(smaller)
        words = f"square matrices up to N = {GEMM_SIZES[-1]}, as far as a launch stays short"
        seconds = 0.6 if self.quick else 1.5
        title = f"matrix product {precision}"
        return Stage("gemm", precision, title, words, seconds, tuple(found))

    # ---- candidates

    def _known(
        self,
        workload_name: str,
        variants: Sequence[str],
        size: dict[str, int],
        precision: str | None = None,
        tunables: dict[str, int] | None = None,
    ) -> list[CeilingCandidate]:
        """Return the variants that this hardware can run, by whichever backend offers them."""
        workload = ceiling_workloads()[workload_name]
        found = []
        for name in variants:
            where = device_for_variant(self.devices, workload.variant(name), self.device)
            if where.hardware_id != self.device.hardware_id:
                continue
            request = RunRequest(
                workload=workload_name,
                variant=name,
                size=size,
                precision=precision or self.wide,
                device=where.id,
                tunables=tunables or {},
                threads=where.threads,
            )
            try:
                config = complete(request, workload, self.devices)
                make_plan(workload, config, where)
            except ExplorerError:
                continue  # not offered here, or too large for this device
            set_to = (f"{symbol.lower()} {value}" for symbol, value in (tunables or {}).items())
            title = ", ".join([workload.variant(name).title, *set_to])
            found.append(CeilingCandidate(workload, config, title))
        return found


def _mebibytes(nbytes: int) -> str:
    return f"{nbytes / (1 << 20):.3g} MiB"
