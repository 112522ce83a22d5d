"""Run documents made by hand, for tests that need one without running a kernel."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.result import (
    BatchSummary,
    DeviceSummary,
    Environment,
    Phases,
    Resources,
    RunResult,
    TelemetrySummary,
    Throughput,
    Timing,
    Traffic,
    Verification,
)
from gpuexplorer.core.statistics import summarize


def made_config(**changes: Any) -> RunConfig:
    """Return a matmul configuration, with changes."""
    config = RunConfig(
        workload="matmul", variant="naive", size={"N": 512}, precision="fp32", device="opencl:0",
        block=(16, 16, 1), grid=(32, 32, 1), threads=7,
    )  # fmt: skip
    return msgspec.structs.replace(config, **changes)


def made_result(
    samples: int = 400, median_s: float = 7.6e-3, *, peak: float | None = 4e10, **changes: Any
) -> RunResult:
    """Return a document whose samples were drawn from a seeded generator."""
    config = made_config(**changes)
    generator = np.random.default_rng(7)
    values = median_s * (1 + 0.01 * np.abs(generator.standard_normal(samples)))
    values[::97] *= 1.4
    summary = summarize(values)
    per_batch = 8
    starts = np.cumsum(np.concatenate([[0.0], values]))[:-1:per_batch] + 1000.0
    batches = [
        BatchSummary(
            start_s=float(start),
            samples=len(values[i * per_batch : (i + 1) * per_batch]),
            median_s=float(np.median(values[i * per_batch : (i + 1) * per_batch])),
        )
        for i, start in enumerate(starts)
    ]
    n = config.size["N"]
    return RunResult(
        id="0123456789abcdef0123456789abcdef",
        time_utc="2026-01-01T12:00:00.000+00:00",
        config=config,
        device=DeviceSummary(
            id=config.device, hardware_id="cpu:Example", name="Example CPU", backend="opencl",
            driver="OpenCL 3.0 (1.2.3)", compute_units=8, peak_bandwidth_B_per_s=peak,
            peak_source="measured copy" if peak else None,
        ),
        environment=Environment(gpuexplorer="0.1.0", python="3.11.2"),
        timing=Timing(
            samples=samples, median_s=summary.median_s, mean_s=summary.mean_s,
            min_s=summary.min_s, p05_s=summary.p05_s, p95_s=summary.p95_s,
            stdev_s=summary.stdev_s, ci95_low_s=summary.ci95_low_s,
            ci95_high_s=summary.ci95_high_s, method="OpenCL profiling events",
            resolution_s=1e-9, stopped_by="time", converged=True,
        ),
        samples_s=values.tolist(),
        batches=batches,
        phases_s=Phases(allocate=2e-5, host_to_device=3e-4, kernel=median_s, device_to_host=1e-4),
        throughput=Throughput(
            flop_per_s=2 * n**3 / summary.median_s, bandwidth_B_per_s=12 * n * n / summary.median_s
        ),
        traffic=[
            Traffic(kind="compulsory", read_B=8.0 * n * n, write_B=4.0 * n * n, source="model"),
            Traffic(kind="requested", read_B=8.0 * n**3, write_B=4.0 * n * n, source="model"),
            Traffic(kind="pcie", read_B=8.0 * n * n, write_B=4.0 * n * n, source="model"),
        ],
        verification=Verification(ok=True, max_rel_error=3.1e-7, tolerance=2e-5, method="rows"),
        resources=Resources(),
        telemetry=TelemetrySummary(sm_clock_Hz=2.8e9, load=0.93),
    )  # fmt: skip
