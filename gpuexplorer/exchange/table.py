"""Runs as rows, for CSV and Parquet: their columns, and the figures in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.core.chunked import CHUNK, Floats, as_array
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.knobs import switch_value
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.series.examine import Mask

CSV_COLUMNS = (
    "run", "workload", "variant", "size", "block", "precision", "device",
    "batch", "batch_start_s", "sample", "duration_s", "throttled",
)  # fmt: skip

RUN_COLUMNS: dict[str, type] = {
    "run": str, "time_utc": str, "workload": str, "variant": str, "size": str, "block": str,
    "grid": str, "precision": str, "tunables": str, "switches": str, "cache": str, "fill": str,
    "seed": int,
    "threads": int, "device": str, "device_name": str, "backend": str, "driver": str,
    "samples": int, "median_s": float, "ci95_low_s": float, "ci95_high_s": float, "mean_s": float,
    "min_s": float, "p05_s": float, "p95_s": float, "stdev_s": float, "flop_per_s": float,
    "bandwidth_B_per_s": float, "verified": bool, "max_rel_error": float, "rms_rel_error": float,
    "not_compared": str,
    "registers_per_thread": int, "shared_B": int, "occupancy": float, "sm_clock_Hz": float,
    "power_W": float, "energy_per_launch_J": float, "temperature_C": float, "compile_s": float,
    "host_to_device_s": float, "device_to_host_s": float, "outliers": int,
    "marked_throttled": int, "method": str, "stopped_by": str, "converged": bool, "suspect": str,
    "memory_predicted_B": float, "memory_peak_B": float, "memory_counter": str,
    "warnings": str, "origin": str, "starred": bool, "tags": list, "note": str,
}  # fmt: skip
"""Columns of the table of runs, with the type of their values; any may be missing in a row. A list
is one of texts: in Parquet a list, in CSV one of JSON."""


class Label(msgspec.Struct, frozen=True):
    """What a user put on a run in the history."""

    starred: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""


def size_words(config: RunConfig) -> str:
    """Return ``N=512 M=64``."""
    return _pairs(config.size)


def tunables_text(config: RunConfig) -> str:
    """Return ``TILE=16 UNROLL=4``."""
    return _pairs(config.tunables)


def switches_text(config: RunConfig) -> str:
    """Return ``compile=default include_transfers=on``."""
    return " ".join(f"{name}={switch_value(value)}" for name, value in config.switches.items())


def _pairs(values: dict[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _times(axes: tuple[int, ...] | None) -> str:
    return "x".join(map(str, axes)) if axes else ""


def sample_head(result: RunResult) -> dict[str, str]:
    """Return what every row of a run's samples repeats, by column."""
    config = result.config
    return {
        "run": result.id,
        "workload": config.workload,
        "variant": config.variant,
        "size": size_words(config),
        "block": _times(config.block),
        "precision": config.precision,
        "device": config.device,
    }


def sample_rows(result: RunResult) -> Iterator[tuple[object, ...]]:
    """Yield one row of ``CSV_COLUMNS`` for each launch, in order."""
    head = tuple(sample_head(result).values())
    batch, start = batch_columns(result)
    held = throttled_column(result)
    for first in range(0, len(result.samples_s), CHUNK):
        part = slice(first, first + CHUNK)
        durations = as_array(result.samples_s[part]).tolist()
        batches = repeat("") if batch is None else batch[part].tolist()
        starts = repeat("") if start is None else start[part].tolist()
        marks = repeat("") if held is None else held[part].tolist()
        for index, (of, at, duration, mark) in enumerate(
            zip(batches, starts, durations, marks, strict=False), first
        ):
            yield *head, of, at, index, duration, mark


def batch_columns(result: RunResult) -> tuple[npt.NDArray[np.int64] | None, Floats | None]:
    """Return for each sample its batch and when that began, in seconds from the run's first.

    None where the batches do not tell which samples are theirs.
    """
    counts = [b.samples for b in result.batches]
    if sum(counts) != len(result.samples_s) or not counts:
        return None, None
    starts = np.array([b.start_s for b in result.batches])
    relative = np.round(starts - starts[0], 9)
    return np.repeat(np.arange(len(counts)), counts), np.repeat(relative, counts)


def throttled_column(result: RunResult) -> Mask | None:
    """Return of each sample whether the clock was held down, so that no figure has it.

    (Unless that was so of most of them.) None where only the number of such samples is known.
    """
    counts = [b.samples for b in result.batches]
    if sum(counts) != len(result.samples_s) or not counts:
        return None
    held: Mask = np.repeat([b.throttled is True for b in result.batches], counts)
    return held if int(held.sum()) == result.timing.marked_throttled else None


def run_row(result: RunResult, label: Label | None = None) -> dict[str, Any]:
    """Return one run as a row of ``RUN_COLUMNS``; None is "not known"."""
    config, device, timing = result.config, result.device, result.timing
    check, kernel, state, phases = (
        result.verification,
        result.resources,
        result.telemetry,
        result.phases_s,
    )
    origin = result.origin
    memory = result.memory
    predicted = memory.predicted if memory is not None else None
    return {
        "run": result.id,
        "time_utc": result.time_utc,
        "workload": config.workload,
        "variant": config.variant,
        "size": size_words(config),
        "block": _times(config.block) or None,
        "grid": _times(config.grid) or None,
        "precision": config.precision or None,
        "tunables": tunables_text(config),
        "switches": switches_text(config),
        "cache": config.cache,
        "fill": config.fill if origin is None else None,
        "seed": config.seed if origin is None else None,
        "threads": config.threads,
        "device": config.device,
        "device_name": device.name,
        "backend": device.backend,
        "driver": device.driver or None,
        **{
            name: getattr(timing, name)
            for name in (
                "samples",
                "median_s",
                "ci95_low_s",
                "ci95_high_s",
                "mean_s",
                "min_s",
                "p05_s",
                "p95_s",
                "stdev_s",
                "outliers",
                "marked_throttled",
                "method",
                "stopped_by",
                "converged",
                "suspect",
            )
        },
        "flop_per_s": result.throughput.flop_per_s,
        "bandwidth_B_per_s": result.throughput.bandwidth_B_per_s,
        "verified": check.whole if check is not None else None,
        "max_rel_error": check.max_rel_error if check is not None else None,
        "rms_rel_error": check.rms_rel_error if check is not None else None,
        "not_compared": " ".join(check.not_compared) or None if check is not None else None,
        "registers_per_thread": kernel.registers_per_thread,
        "shared_B": kernel.shared_B,
        "occupancy": kernel.occupancy,
        "sm_clock_Hz": state.sm_clock_Hz,
        "power_W": state.power_W,
        "energy_per_launch_J": state.energy_per_launch_J,
        "temperature_C": state.temperature_C,
        "compile_s": phases.compile,
        "host_to_device_s": phases.host_to_device,
        "device_to_host_s": phases.device_to_host,
        "memory_predicted_B": predicted.total_B if predicted is not None else None,
        "memory_peak_B": memory.peak_B if memory is not None else None,
        "memory_counter": memory.counter if memory is not None else None,
        "warnings": _lines(timing.warnings),
        "origin": f"{origin.program}: {origin.what}" if origin is not None else None,
        "starred": label.starred if label is not None else None,
        "tags": list(label.tags) if label is not None else None,
        "note": label.note if label is not None else None,
    }


def _lines(sentences: Sequence[str]) -> str | None:
    return "; ".join(sentences) or None
