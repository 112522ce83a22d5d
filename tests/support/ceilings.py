"""Ceilings made by hand, for tests of what rests on them."""

from __future__ import annotations

from typing import Any

import msgspec

from gpuexplorer.core.ceilings import Ceiling, Ceilings

CACHE_B = 32 << 20


def made_ceilings(**changes: Any) -> Ceilings:
    """Return the ceilings of a small CPU: 20 GB/s memory, 100 GB/s cache, 200 GFLOP/s fp32."""
    made = Ceilings(
        device="opencl:0",
        hardware_id="cpu:Example",
        name="Example CPU",
        driver="OpenCL 3.0 (1.2.3)",
        threads=7,
        last_level_cache_B=CACHE_B,
        nominal_clock_Hz=3.0e9,
        time_utc="2026-01-01T12:00:00+00:00",
        ceilings=(
            _ceiling("copy", 20e9, footprint_B=256 << 20),
            _ceiling("triad", 18e9, footprint_B=384 << 20),
            _ceiling("cache", 40e9, footprint_B=16 << 20),
            _ceiling("cache", 100e9, footprint_B=1 << 20),
            _ceiling("fma", 200e9, "fp32"),
            _ceiling("gemm", 180e9, "fp32"),
            _ceiling("fma", 100e9, "fp64"),
            _ceiling("fma", 50e9, "fp16"),
        ),
    )
    return msgspec.structs.replace(made, **changes)


def _ceiling(
    kind: Any, value: float, precision: str | None = None, footprint_B: int | None = None
) -> Ceiling:
    return Ceiling(
        kind=kind,
        precision=precision,
        value=value,
        ci95_low=0.99 * value,
        ci95_high=1.01 * value,
        clock_held_Hz=2.5e9,
        footprint_B=footprint_B,
        method=f"{kind} on opencl:0; sizes; OpenCL profiling events",
    )
