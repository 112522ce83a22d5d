"""Read Kernel Tuner's cache files: JSON that it appends to, a line a configuration.

A cache is closed by two brackets only when a tuning ends by itself, and its last line is torn when
it was killed in the middle of one. Times are milliseconds there. A configuration that could not be
run holds the name of an error in place of a figure; older versions wrote a time of 1e20.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, TypeGuard

from gpuexplorer.core.config import Block, RunConfig
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import Origin, RunResult, TelemetrySummary
from gpuexplorer.exchange.guard import check_characters, look_over, not_readable
from gpuexplorer.exchange.imported import (
    Imported,
    SkippedRun,
    file_time,
    foreign_device,
    foreign_run,
)
from gpuexplorer.exchange.sanity import MOST_SECONDS, MOST_TEXT, check_run, is_time, is_whole

PROGRAM = "Kernel Tuner"
FORMAT = "Kernel Tuner's cache"
ERRORS = {
    "InvalidConfig": "the configuration breaks a constraint",
    "CompilationFailedConfig": "it did not compile",
    "RuntimeFailedConfig": "it failed while running",
    "ErrorConfig": "it failed",
}
BLOCK_NAMES = ("block_size_x", "block_size_y", "block_size_z")
MOST_VALUES = 4_000_000
NO_TIME_MS = 1e19
"""A time from here on stands for a failure in caches of older versions."""
TORN = "Its last line is torn, as a killed tuning leaves it, and was left out."

_SIGNS = re.compile(rb'"(?:tune_params_keys|tune_params)"\s*:')


def is_cache(data: bytes) -> bool:
    """Return whether a text looks like a cache, torn or not."""
    head = data[: 1 << 20]
    return b'"kernel_name"' in head and _SIGNS.search(head) is not None


def read_cache(data: bytes, path: Path) -> Imported:
    """Read a cache; InputError when it is not one or a figure in it cannot be."""
    look_over(data, path, most_values=MOST_VALUES)
    document, notes = _decode(data, path)
    device, kernel = document.get("device_name"), document.get("kernel_name")
    names, entries = document.get("tune_params_keys"), document.get("cache")
    if not (_is_name(device) and _is_name(kernel) and isinstance(entries, dict)):
        raise _not_a_cache(path, "it names no device, kernel or cache")
    if names is None and isinstance(document.get("tune_params"), dict):
        names = list(document["tune_params"])
    if not isinstance(names, list) or not all(map(_is_name, names)):
        raise _not_a_cache(path, "it does not name its parameters")
    reader = _Reader(path, str(device), str(kernel), names, _size(document.get("problem_size")))
    runs: list[RunResult] = []
    skipped: list[SkippedRun] = []
    for key, entry in entries.items():
        if not isinstance(entry, dict):
            raise _not_a_cache(path, f"the entry '{key[:60]}' is not an object")
        found = reader.read(key, entry)
        (skipped if isinstance(found, SkippedRun) else runs).append(found)  # type: ignore[arg-type]
    axes = {
        name: list(dict.fromkeys(_hashable(e[name]) for e in entries.values() if name in e))
        for name in names
    }
    unique = {run.id: run for run in runs}
    return Imported(FORMAT, tuple(unique.values()), tuple(skipped), axes, tuple(notes))


def _decode(data: bytes, path: Path) -> tuple[dict[str, Any], list[str]]:
    """Decode a cache, closing it and leaving out a torn last line where that is needed."""
    try:
        text = data.decode().strip()
    except UnicodeDecodeError as error:
        raise not_readable(path, FORMAT, error) from None
    whole = text.removesuffix(",")
    torn = text.rpartition("\n")[0].rstrip().removesuffix(",")
    first: Exception | None = None
    notes: list[str]
    for candidate, notes in ((text, []), (whole + "}}", []), (torn + "}}", [TORN])):
        try:
            document = json.loads(candidate, parse_constant=lambda _: None)
        except (ValueError, RecursionError) as error:
            first = first or error
            continue
        if not isinstance(document, dict):
            raise _not_a_cache(path, "it is not an object")
        check_characters(document, path)
        return document, notes
    assert first is not None
    raise not_readable(path, FORMAT, first)


class _Reader:
    """Turns entries of one cache into runs."""

    def __init__(
        self, path: Path, device: str, kernel: str, names: list[str], size: dict[str, int]
    ) -> None:
        self._path, self._kernel, self._names, self._size = path, kernel, names, size
        self._device = foreign_device("kernel_tuner", device)
        self._time = file_time(path)

    def read(self, key: str, entry: dict[str, Any]) -> RunResult | SkippedRun:
        """Return the run of one entry, or why there is none."""
        values = {name: entry[name] for name in self._names if name in entry}
        failed = next((v for v in entry.values() if isinstance(v, str) and v in ERRORS), None)
        if failed is not None:
            return SkippedRun(values, f"{PROGRAM}: {ERRORS[failed]}")
        mean_ms = entry.get("time")
        if mean_ms is None or (_is_number(mean_ms) and mean_ms >= NO_TIME_MS):
            return SkippedRun(values, f"{PROGRAM} holds no time for it")
        times_ms = entry.get("times")
        warnings: list[str] = []
        if not times_ms:
            times_ms = [mean_ms]
            warnings = ["the file holds the mean of the launches alone, which stands as one sample"]
        if not isinstance(times_ms, list):
            raise self._wrong(key, "its times are no list")
        for time_ms in (mean_ms, *times_ms):
            if not _is_number(time_ms) or not 0 <= time_ms / 1e3 <= MOST_SECONDS:
                raise self._wrong(key, f"a time of {str(time_ms)[:40]} ms cannot be")
        stamp = str(entry.get("timestamp", "")).replace(" ", "T", 1)
        timed = is_time(stamp)
        compile_ms = entry.get("compile_time")
        result = foreign_run(
            origin=Origin(
                program=PROGRAM,
                file=self._path.name,
                what=f"{self._kernel} {key}"[:1000],
                note="" if timed else "Its time is when the file was last written.",
            ),
            config=self._config(values),
            samples_s=[time_ms / 1e3 for time_ms in times_ms],
            time_utc=stamp if timed else self._time,
            device=self._device,
            method=f"{PROGRAM}'s observer",
            warnings=warnings,
            compile_s=compile_ms / 1e3 if _is_number(compile_ms) and compile_ms >= 0 else None,
            telemetry=_telemetry(entry),
        )
        check_run(result, self._path)
        return result

    def _config(self, values: dict[str, Any]) -> RunConfig:
        block = _block(values)
        shown = {k: v for k, v in values.items() if not (block and k in BLOCK_NAMES)}
        whole = {k: v for k, v in shown.items() if is_whole(v)}
        return RunConfig(
            workload=self._kernel,
            variant="",
            size=self._size,
            precision="",
            device=self._device.id,
            block=block,
            tunables=whole,
            switches={k: _plain(v) for k, v in shown.items() if k not in whole},
        )

    def _wrong(self, key: str, what: str) -> InputError:
        return InputError(
            f"{self._path}: the entry '{key[:60]}' cannot be read: {what}",
            remedy="remove that line from the cache",
        )


def _block(values: dict[str, Any]) -> Block | None:
    """Return the block, where it goes by the names that Kernel Tuner gives it by default."""
    axes = [values.get(name, 1) for name in BLOCK_NAMES]
    if not any(name in values for name in BLOCK_NAMES) or not all(map(is_whole, axes)):
        return None
    if not all(1 <= axis <= 1 << 31 for axis in axes):
        return None
    return axes[0], axes[1], axes[2]


def _size(size: Any) -> dict[str, int]:
    """Return the problem size along x, y, z; nothing where it is a function or an expression."""
    axes = size if isinstance(size, list) else [size]
    if not 1 <= len(axes) <= 3 or not all(map(is_whole, axes)):
        return {}
    return dict(zip("xyz", axes, strict=False))


def _telemetry(entry: dict[str, Any]) -> TelemetrySummary:
    """Return what Kernel Tuner's NVML observer adds to an entry: W, J and MHz."""
    power_W, energy_J, clock_MHz = (
        value if _is_number(value) and 0 <= value < 1e9 else None
        for value in (entry.get(n) for n in ("nvml_power", "nvml_energy", "core_freq"))
    )
    known = any(value is not None for value in (power_W, energy_J, clock_MHz))
    return TelemetrySummary(
        power_W=power_W,
        energy_per_launch_J=energy_J,
        sm_clock_Hz=clock_MHz * 1e6 if clock_MHz is not None else None,
        source=f"{PROGRAM}'s NVML observer" if known else None,
    )


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 1000


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and _finite(value)


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond any float
        return False


def _plain(value: Any) -> bool | int | float | str:
    if isinstance(value, bool) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)[:MOST_TEXT]


def _hashable(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else str(value)[:MOST_TEXT]


def _not_a_cache(path: Path, why: str) -> InputError:
    return InputError(f"{path} is not {FORMAT}: {why}", remedy="give the file named in cache=")
