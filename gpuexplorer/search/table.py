"""A sweep as a table: one row for each configuration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpuexplorer.core.sweep import SweepDocument, SweptRun
from gpuexplorer.exchange import csv_table
from gpuexplorer.exchange.table import switches_text

COLUMNS = (
    "run", "workload", "variant", "size", "block_x", "block_y", "block_z", "precision", "tunables",
    "switches", "device", "cache", "fill", "threads", "samples", "median_s", "ci95_low_s",
    "ci95_high_s", "min_s", "flop_per_s", "bandwidth_B_per_s", "compile_s", "max_rel_error",
    "rms_rel_error", "suspect", "skipped",
)  # fmt: skip


def write_table(document: SweepDocument, path: Path) -> None:
    """Write a sweep as CSV, one row for each configuration; InputError when that fails.

    Times are in seconds, what is not known is empty, and ``skipped`` says why there is no figure.
    """
    csv_table.write_table(path, COLUMNS, (tuple(_row(entry)) for entry in document.runs))


def _row(entry: SweptRun) -> Iterator[Any]:
    config, run = entry.config, entry.run
    yield run.id if run is not None else ""
    yield from (config.workload, config.variant, _pairs(config.size))
    yield from config.block or ("", "", "")
    yield from (config.precision, _pairs(config.tunables), switches_text(config))
    yield from (config.device, config.cache, config.fill)
    yield config.threads if config.threads is not None else ""
    if run is None:
        yield from ("",) * 11
    else:
        timing, speed, check = run.timing, run.throughput, run.verification
        values = (
            timing.samples, timing.median_s, timing.ci95_low_s, timing.ci95_high_s, timing.min_s,
            speed.flop_per_s, speed.bandwidth_B_per_s, run.phases_s.compile,
            *((check.max_rel_error, check.rms_rel_error) if check is not None else (None, None)),
            timing.suspect,
        )  # fmt: skip
        yield from ("" if value is None else value for value in values)
    yield entry.skipped or ""


def _pairs(values: dict[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())
