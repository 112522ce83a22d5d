"""Whether a run's document from a file can be true: types are checked when it is decoded, this is
the rest."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeGuard

import msgspec
import numpy as np

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import MOST_PRINTED, RUN_SCHEMA, RunResult
from gpuexplorer.core.sample import MOST_SECONDS as MOST_SECONDS

MOST_SAMPLES = 4_000_000
MOST_TEXT = 10_000
"""Characters of a single text of a run, but for what its kernels printed."""
_ID = re.compile(r"[0-9A-Za-z_-]{8,64}")


def check_run(result: RunResult, path: Path) -> None:
    """Raise InputError when a run cannot be what it says."""
    wrong = next(_wrong(result), None)
    if wrong is not None:
        raise InputError(
            f"{path}: the run {result.id} cannot be true: {wrong}"
            if _ID.fullmatch(result.id)
            else f"{path}: the run without a proper id cannot be true: {wrong}",
            remedy="export it again from the program that wrote it",
        )


def _wrong(result: RunResult) -> Iterator[str]:
    """Yield what is wrong, in words."""
    if result.schema != RUN_SCHEMA:
        yield f"its schema is '{result.schema[:60]}', and this version reads '{RUN_SCHEMA}'"
    if not _ID.fullmatch(result.id):
        yield "an id has 8 to 64 letters and digits"
    if not is_time(result.time_utc):
        yield f"'{result.time_utc[:40]}' is not a time with its zone"
    rest = msgspec.structs.replace(result, samples_s=[], batches=[], printed=None)
    yield from _wrong_values(msgspec.to_builtins(rest), "")  # first: no sentence holds such numbers
    yield from _wrong_text(result.printed or "", "printed", MOST_PRINTED)
    yield from _wrong_samples(result)
    yield from _wrong_config(result)


def _wrong_samples(result: RunResult) -> Iterator[str]:
    timing = result.timing
    if not 1 <= len(result.samples_s) <= MOST_SAMPLES:
        yield f"it has {len(result.samples_s)} samples, and a run has 1 to {MOST_SAMPLES}"
        return
    samples = np.asarray(result.samples_s)
    least, most = float(samples.min()), float(samples.max())
    if not (least >= 0 and most <= MOST_SECONDS):  # also when one is not a number
        yield "a sample is negative, endless or not a number"
    if timing.samples != len(samples):
        yield f"it says {timing.samples} samples and holds {len(samples)}"
    if not least <= timing.median_s <= most:
        yield "its median lies outside its samples"
    for name, value in _numbers(timing):
        if value < 0 or value > MOST_SECONDS * 1000:
            yield f"{name} is {value:g}"
    for batch in result.batches:
        if not 0 <= batch.samples <= MOST_SAMPLES or not math.isfinite(batch.start_s):
            yield "a batch holds an impossible number of samples"
        if not 1 <= batch.launches_each <= MOST_SAMPLES:
            yield "a batch holds samples of an impossible number of launches"
        if not 0 <= batch.median_s <= MOST_SECONDS:
            yield "a batch's median is negative or endless"
    for part in (result.phases_s, result.throughput, *result.traffic):
        for name, value in _numbers(part):
            if value < 0:
                yield f"{name} is negative"


def _numbers(part: Any) -> Iterator[tuple[str, float]]:
    for name, value in msgspec.structs.asdict(part).items():
        if isinstance(value, int | float):
            yield name, value


def _wrong_config(result: RunResult) -> Iterator[str]:
    config = result.config
    for axes in (config.block, config.grid):
        if axes is not None and min(axes) < 1:
            yield f"a block or grid of {axes}"
    if config.threads is not None and config.threads < 1:
        yield f"{config.threads} CPU threads"
    for names in (config.size, config.tunables, config.switches):
        if len(names) > 100:
            yield f"it has {len(names)} sizes, tunables or switches"


def _wrong_values(value: Any, place: str) -> Iterator[str]:
    """Yield every text that is too long and every number no file can hold."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _wrong_values(name, f"a name in {place or 'it'}")
            yield from _wrong_values(part, f"{place}.{name[:60]}".lstrip("."))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _wrong_values(part, place)
    elif isinstance(value, str):
        yield from _wrong_text(value, place, MOST_TEXT)
        if "\0" in value:
            yield f"{place} holds a zero byte"
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            yield f"{place} is too large a number"
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{place} is not a finite number"


def _wrong_text(value: str, place: str, most: int) -> Iterator[str]:
    if len(value) > most:
        yield f"{place} has {len(value)} letters"


def is_time(text: str) -> bool:
    """Return whether a text is a date and time with its zone, as runs say theirs."""
    try:
        return datetime.fromisoformat(text).utcoffset() is not None and len(text) <= 40
    except ValueError:
        return False


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether a value of a decoded document is a whole number of 64 bits, and not true or false."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
