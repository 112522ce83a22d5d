"""A run's document as the store keeps it: the JSON as it came, its samples apart as arrays."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.charts.words import block_words, switch_words
from gpuexplorer.core.chunked import as_array, encode
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import DeviceSummary, Environment, RunResult
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.fingerprint import fingerprint
from gpuexplorer.history.unreadable import run_damaged

Floats = npt.NDArray[np.float64]

CHUNK_SAMPLES = 65_536
"""Samples of one stored array: 512 KiB before compression."""
SAMPLES_LEVEL = 1
"""Of zlib: the digits of times are noise, which harder work does not make smaller."""
DOCUMENT_LEVEL = 6
LITTLE_ENDIAN = np.dtype("<f8")
MAX_NAME = 300
"""Characters of a name in the list of runs; servers index no more than about 2,700 bytes."""
MAX_INT = 2**62
"""What fits any database's whole numbers."""
_WHOSE = re.compile(r"(?:^| )(machine|person):(\S*);(?= |$)")
_SPACED_EQUALS = re.compile(r"\s*=\s*")


# ---- samples


def pack_samples(samples_s: Floats) -> bytes:
    """Return samples as they are stored: little-endian float64, compressed; bit for bit."""
    return zlib.compress(np.ascontiguousarray(samples_s, LITTLE_ENDIAN).tobytes(), SAMPLES_LEVEL)


def unpack_samples(data: bytes) -> Floats:
    """Return the samples of one stored array; ValueError when it is damaged."""
    try:
        return np.frombuffer(zlib.decompress(data), LITTLE_ENDIAN).astype(np.float64, copy=False)
    except (zlib.error, TypeError) as error:  # or what is no bytes at all
        raise ValueError(str(error)) from None


def chunks(samples_s: Floats) -> Iterator[Floats]:
    """Yield samples in chunks of at most ``CHUNK_SAMPLES``."""
    for start in range(0, len(samples_s), CHUNK_SAMPLES):
        yield samples_s[start : start + CHUNK_SAMPLES]


# ---- documents


class Document(msgspec.Struct, frozen=True):
    """A run taken apart for the store."""

    result: RunResult
    """The run without its samples."""
    json: bytes
    """The document with an empty ``samples_s``; every other byte as it came."""
    samples_s: Floats


def take_apart(run: RunRecord | RunResult | bytes) -> Document:
    """Take a run, or its JSON, apart; InputError when it is not a run's document."""
    if isinstance(run, RunRecord):
        json, samples_s = _encode(run.figures()), run.samples_s()
    elif isinstance(run, RunResult):
        json = _encode(msgspec.structs.replace(run, samples_s=[]))
        samples_s = as_array(run.samples_s)
    else:
        json, samples_s = _split(run)
    return Document(decode(json), json, samples_s)


def _encode(run: RunResult) -> bytes:
    try:
        return msgspec.json.encode(run)
    except UnicodeEncodeError as error:
        raise InputError(f"this is not a run's document: {error}") from None


def _split(data: bytes) -> tuple[bytes, Floats]:
    try:
        fields = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        samples = msgspec.json.decode(fields["samples_s"], type=list[float])
        fields["samples_s"] = msgspec.Raw(b"[]")
        return msgspec.json.encode(fields), np.array(samples, LITTLE_ENDIAN)
    except (msgspec.DecodeError, KeyError, UnicodeDecodeError) as error:
        raise InputError(f"this is not a run's document: {error}") from None


def put_together(json: bytes, samples_s: Floats) -> bytes:
    """Return the whole document again."""
    fields = msgspec.json.decode(json, type=dict[str, msgspec.Raw])
    fields["samples_s"] = msgspec.Raw(encode(samples_s))
    return msgspec.json.encode(fields)


def decode(json: bytes) -> RunResult:
    """Return the run in a document; fields of a newer program are passed over."""
    try:
        return msgspec.json.decode(json, type=RunResult)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"this is not a run's document: {error}") from None


def decode_stored(run_id: str, json: bytes) -> RunResult:
    """Return the run in a stored document; StoreDamaged when it is none."""
    try:
        return decode(json)
    except InputError as error:
        raise run_damaged(run_id, error.what) from None


def pack_document(json: bytes) -> bytes:
    """Return a document as it is stored."""
    return zlib.compress(json, DOCUMENT_LEVEL)


def unpack_document(data: bytes) -> bytes:
    """Return a stored document; ValueError when it is damaged."""
    try:
        return zlib.decompress(data)
    except (zlib.error, TypeError) as error:
        raise ValueError(str(error)) from None


# ---- what is searched and sorted


def columns_of(result: RunResult, samples: int) -> dict[str, Any]:
    """Return what the list of runs holds of a finished run."""
    timing, throughput = result.timing, result.throughput
    return {
        **head_columns(
            result.id, result.time_utc, result.config, result.device, result.environment
        ),
        "fingerprint": fingerprint(result.environment, result.device, result.config).digest,
        "median_s": timing.median_s,
        "relative_error": timing.relative_error,
        "flop_per_s": throughput.flop_per_s,
        "bandwidth_B_per_s": throughput.bandwidth_B_per_s,
        "samples": samples,
        "verified": result.verification.whole if result.verification is not None else None,
        "suspect": clean(timing.suspect) if timing.suspect is not None else None,
        "running": False,
        "stopped_by": clean(timing.stopped_by),
    }


def head_columns(
    run_id: str,
    time_utc: str,
    config: RunConfig,
    device: DeviceSummary | DeviceInfo,
    environment: Environment,
) -> dict[str, Any]:
    """Return what the list of runs holds of a run before it has figures."""
    if not run_id or len(run_id) > MAX_NAME:
        raise InputError(
            f"this is not a run's document: its id has {len(run_id)} characters",
            remedy=f"give it from 1 to {MAX_NAME}",
        )
    size_words = ", ".join(f"{symbol} = {value}" for symbol, value in config.size.items())
    block = block_words(config.block) if config.block else ""
    columns = {
        "id": clean(run_id),
        "time_utc": clean(time_utc),
        "time_s": seconds_of(time_utc),
        "workload": clean(config.workload)[:MAX_NAME],
        "variant": clean(config.variant)[:MAX_NAME],
        "size_words": clean(size_words),
        "size_order": _product(config.size.values()),
        "block_words": block,
        "block_order": _product(config.block) if config.block else None,
        "precision": clean(config.precision)[:MAX_NAME],
        "device": clean(config.device)[:MAX_NAME],
        "device_name": clean(device.name)[:MAX_NAME],
        "hardware_id": clean(device.hardware_id)[:MAX_NAME],
    }
    tunables = " ".join(f"{name}={value}" for name, value in config.tunables.items())
    switches = switch_words(config)
    said = (
        config.workload, config.variant, size_words, block, config.precision, config.device,
        device.name, tunables, config.cache if config.cache != "hot" else "", switches,
        switches.replace(" ", "_"), *whose_words(environment.machine, environment.person),
    )  # fmt: skip
    columns["switch_words"] = clean(switches)
    return columns | {"words": searched(clean(" ".join(filter(None, said)))).replace("\n", " ")}


def whose_words(
    machine: str | msgspec.UnsetType | None, person: str | msgspec.UnsetType | None
) -> list[str]:
    """Return by which words runs of a machine and a person are found, each to its end."""
    told = {"machine": machine, "person": person}
    return [
        searched("".join((name, ":", "_".join(clean(value).split()), ";")))
        for name, value in told.items()
        if isinstance(value, str)
    ]


def whose(words: object) -> tuple[str, str]:
    """Return machine and person out of a run's words, as they are searched; empty for nobody's."""
    said = words.partition("\n")[0] if isinstance(words, str) else ""
    found = dict(_WHOSE.findall(said))
    return found.get("machine", ""), found.get("person", "")


def _product(values: Any) -> float:
    product = 1.0
    for value in values:
        product *= float(max(0, min(value, MAX_INT)))
    return product


def searched(text: str) -> str:
    """Return text as it is searched: ``N = 512`` and ``n=512``, ``16×16`` and ``16x16`` are one."""
    return _SPACED_EQUALS.sub("=", text.casefold().replace("×", "x"))


def clean(text: str) -> str:
    """Return text that every database stores: no NUL, no half of a surrogate pair."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def seconds_of(time_utc: str) -> float:
    """Return a document's time as seconds since 1970; InputError when it is not a time."""
    try:
        moment = datetime.fromisoformat(time_utc)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise InputError(f"'{time_utc}' is not a time", remedy="write it as ISO 8601") from None
