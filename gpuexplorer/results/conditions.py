"""Under which conditions stored runs were measured, as columns of the table that compares them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from gpuexplorer.charts.words import when_words
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sheet import Cell, Column, Medium
from gpuexplorer.core.units import count, percent, quantity

VERSIONS = {
    "gpuexplorer": "GPU Explorer", "python": "Python", "numpy": "NumPy", "cupy": "CuPy",
    "pyopencl": "PyOpenCL", "torch": "PyTorch", "tensorflow": "TensorFlow", "keras": "Keras",
    "jax": "JAX", "cuda": "CUDA",
}  # fmt: skip
ALIKE = "as the others"
LAST = 4
"""When they give way: after what a comparison says in other words, too."""

Value = Callable[[RunResult], Any]

_COLUMNS: tuple[tuple[Column, Value, Callable[[Any], str]], ...] = (
    (
        Column("measured", fields={"time_utc": ""}, media=Medium(0)),
        lambda run: run.time_utc,
        when_words,
    ),
    (
        Column("threads", "threads", "CPU threads that its kernel used", fields={"threads": ""}),
        lambda run: run.config.threads,
        count,
    ),
    (
        Column("clock", "clock", "Median clock over the run", "Hz", fields={"sm_clock_Hz": ""}),
        lambda run: run.telemetry.sm_clock_Hz,
        lambda value: quantity(value, "Hz"),
    ),
    (
        Column("load", "device load", "Share of the device that was busy over the run: its own "
               "launches and all other programs together", fields={"load": ""}),
        lambda run: run.telemetry.load,
        percent,
    ),
    (
        Column("other_cores", "others", "Cores of the processor that other programs kept busy",
               fields={"other_cores": ""}),
        lambda run: run.telemetry.other_cores,
        lambda value: f"{value:.1f} cores",
    ),
    (
        Column("stolen", "host took", "Share of the time that the host of a virtual machine gave "
               "to others", fields={"stolen": ""}),
        lambda run: run.telemetry.stolen,
        percent,
    ),
    (
        Column("throttled", "throttled", "Launches whilst the clock was held down, of all it took",
               fields={"marked_throttled": ""}),
        lambda run: run.timing.marked_throttled or None,
        count,
    ),
    (
        Column("temperature", "temperature", "Median temperature over the run, °C",
               fields={"temperature_C": ""}),
        lambda run: run.telemetry.temperature_C,
        lambda value: f"{value:.0f} °C",
    ),
    (
        Column("power", "power", "Median power over the run", "W", fields={"power_W": ""}),
        lambda run: run.telemetry.power_W,
        lambda value: quantity(value, "W"),
    ),
)  # fmt: skip
_VERSIONS = Column(
    "versions", "versions", "Versions of the driver and of what takes part, where they differ",
    words=True, fields={"versions": ""},
)  # fmt: skip


def conditions(runs: Sequence[RunResult]) -> tuple[tuple[Column, ...], list[dict[str, Cell]]]:
    """Return columns for what is known of any of the runs, and the cells of each run."""
    columns: list[Column] = []
    cells: list[dict[str, Cell]] = [{} for _ in runs]
    for column, value_of, words in _COLUMNS:
        values = [value_of(run) for run in runs]
        if all(value is None for value in values):
            continue
        columns.append(replace(column, gives_way=LAST))
        for cell, value in zip(cells, values, strict=True):
            cell[column.name] = Cell("–" if value is None else words(value), value)
    columns.append(replace(_VERSIONS, gives_way=LAST))
    for cell, told in zip(cells, _differing_versions(runs), strict=True):
        cell[_VERSIONS.name] = Cell(told, told)
    return tuple(columns), cells


def _differing_versions(runs: Sequence[RunResult]) -> list[str]:
    """Return what of driver and libraries differs between the runs, as each of them has it."""
    known = [
        {"driver": run.device.driver or None}
        | {title: getattr(run.environment, name) for name, title in VERSIONS.items()}
        for run in runs
    ]
    differing = [title for title in known[0] if len({one[title] for one in known}) > 1]
    if not differing:
        return [ALIKE] * len(runs)
    return [", ".join(f"{title} {one[title] or 'none'}" for title in differing) for one in known]
