"""What a file from elsewhere holds, once it is read: runs, what was skipped, and what to know."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.result import (
    DeviceSummary,
    Environment,
    Origin,
    Phases,
    Resources,
    RunResult,
    TelemetrySummary,
    Throughput,
    Timing,
    Traffic,
)
from gpuexplorer.core.series.examine import examine

CONVERGED = 0.005
"""The error down to which a median counts as known, as for runs of our own."""


class SkippedRun(msgspec.Struct, frozen=True):
    """A configuration without a result: its values as the file names them, and why."""

    values: dict[str, Any]
    reason: str


class Imported(msgspec.Struct, frozen=True):
    """The content of one file."""

    format: str
    """In words, such as ``NVBench JSON``."""
    runs: tuple[RunResult, ...]
    skipped: tuple[SkippedRun, ...] = ()
    axes: dict[str, list[Any]] | None = None
    """The axes of a search by name; None where the runs are no search."""
    notes: tuple[str, ...] = ()
    """What a user should know, a sentence each."""
    documents: tuple[bytes, ...] = ()
    """The runs as they stood in the file, where it is a document of ours."""
    rest: dict[str, Any] | None = None
    """A document of ours apart from its runs, such as a comparison's verdicts."""


def file_time(path: Path) -> str:
    """Return when a file was last written, as runs say their time."""
    try:
        stamp = path.stat().st_mtime
    except OSError:
        stamp = 0.0
    return datetime.fromtimestamp(stamp, UTC).isoformat(timespec="milliseconds")


def foreign_run(
    *,
    origin: Origin,
    config: RunConfig,
    samples_s: Sequence[float],
    time_utc: str,
    device: DeviceSummary,
    method: str,
    warnings: Sequence[str] = (),
    compile_s: float | None = None,
    moved_B: float | None = None,
    traffic: Sequence[Traffic] = (),
    telemetry: TelemetrySummary | None = None,
) -> RunResult:
    """Return the document of a run that another program measured.

    Figures are computed from ``samples_s`` as for our own runs, the bandwidth from the bytes that a
    launch moves; what the file does not say is None.
    The id follows from the content, so that a file imported twice is recognised.
    """
    values = np.asarray(samples_s, dtype=np.float64)
    summary = examine(values)
    error = summary.relative_error
    bandwidth_B_per_s = None
    if moved_B is not None and summary.median_s > 0:
        bandwidth_B_per_s = moved_B / summary.median_s
    content = msgspec.json.encode(
        [origin.program, origin.what, config, device.id, device.name], order="sorted"
    )
    return RunResult(
        id=hashlib.sha256(content + values.astype("<f8").tobytes()).hexdigest()[:32],
        time_utc=time_utc,
        config=config,
        device=device,
        environment=Environment(gpuexplorer=None, python=None),
        timing=Timing(
            samples=len(values),
            median_s=summary.median_s,
            mean_s=summary.mean_s,
            min_s=summary.min_s,
            p05_s=summary.p05_s,
            p95_s=summary.p95_s,
            stdev_s=summary.stdev_s,
            ci95_low_s=summary.ci95_low_s,
            ci95_high_s=summary.ci95_high_s,
            method=method,
            resolution_s=None,
            stopped_by="imported",
            converged=error is not None and error <= CONVERGED,
            outliers=summary.outliers,
            warnings=(*warnings, *summary.warnings),
        ),
        samples_s=values.tolist(),
        batches=[],
        phases_s=Phases(compile=compile_s, kernel=summary.median_s),
        throughput=Throughput(flop_per_s=None, bandwidth_B_per_s=bandwidth_B_per_s),
        traffic=list(traffic),
        verification=None,
        resources=Resources(),
        telemetry=telemetry or TelemetrySummary(),
        origin=origin,
    )


def foreign_device(program: str, name: str, **known: Any) -> DeviceSummary:
    """Return a device of another program: its name, and no id that could be taken for ours."""
    values: dict[str, Any] = {
        "compute_units": None,
        "peak_bandwidth_B_per_s": None,
        "peak_source": None,
    }
    return DeviceSummary(
        id=name,
        hardware_id=f"{program}:{name}",
        name=name,
        backend=program,
        driver="",
        **(values | known),
    )
