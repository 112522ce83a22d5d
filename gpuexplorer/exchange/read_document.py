"""Read documents of our own: a run, several, a sweep, a comparison, a study."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.core.compared import COMPARISON_SCHEMA
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RUN_SCHEMA, RunResult
from gpuexplorer.core.studies import STUDY_SCHEMA
from gpuexplorer.core.sweep import SWEEP_SCHEMA
from gpuexplorer.exchange.document import RUNS_SCHEMA
from gpuexplorer.exchange.guard import decode_any, not_readable
from gpuexplorer.exchange.imported import Imported, SkippedRun
from gpuexplorer.exchange.sanity import check_run

NAMES = {
    RUN_SCHEMA: "a run",
    RUNS_SCHEMA: "runs",
    SWEEP_SCHEMA: "a sweep",
    COMPARISON_SCHEMA: "a comparison",
    STUDY_SCHEMA: "a study",
}
_MALFORMED = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_OF_A_SWEEP = ("values", "skipped")
"""What stands beside a run's own fields in a sweep."""


class _Entry(msgspec.Struct):
    skipped: str | None = None
    values: dict[str, Any] | None = None
    config: dict[str, Any] | None = None


class _Contestant(msgspec.Struct):
    run: msgspec.Raw


class _Head(msgspec.Struct):
    runs: list[msgspec.Raw] = []
    contestants: list[_Contestant] = []
    axes: dict[str, list[Any]] | None = None


def read_document(data: bytes, path: Path, schema: str) -> Imported:
    """Read a document of the given schema; InputError when it is another version or not one.

    The text was looked over. Each run is decoded by itself, and kept as it came, so that a newer
    program's fields are not lost.
    """
    _check_schema(schema, path)
    what = f"GPU Explorer's document of {NAMES[schema]}"
    if schema == RUN_SCHEMA:
        return Imported(what, (read_run(data, path),), documents=(data,))
    try:
        head = msgspec.json.decode(data, type=_Head)
    except _MALFORMED as error:
        raise not_readable(path, what, error) from None
    documents: list[bytes] = []
    skipped: list[SkippedRun] = []
    entries: list[_Entry] = []
    for raw in map(bytes, head.runs):
        try:
            entry = msgspec.json.decode(raw, type=_Entry)
        except _MALFORMED as error:
            raise not_readable(path, what, error) from None
        entries.append(entry)
        if entry.skipped is None:
            documents.append(_bare(raw))
        else:
            skipped.append(SkippedRun(entry.values or entry.config or {}, entry.skipped))
    documents += (bytes(contestant.run) for contestant in head.contestants)
    runs = tuple(read_run(document, path) for document in documents)
    if len({run.id for run in runs}) < len(runs):
        raise InputError(f"{path} holds a run twice", remedy="remove one of the two")
    rest = _rest(data, path, what, runs)
    if schema == SWEEP_SCHEMA:
        rest["runs"] = list(_places(entries, runs))
    return Imported(what, runs, tuple(skipped), head.axes, documents=tuple(documents), rest=rest)


def _places(entries: list[_Entry], runs: tuple[RunResult, ...]) -> Iterator[dict[str, Any]]:
    """Yield a sweep's entries with the runs' ids in their place."""
    found = iter(runs)
    for entry in entries:
        place: dict[str, Any] = {"values": entry.values or {}}
        if entry.skipped is None:
            yield place | {"run": next(found).id}
        else:
            yield place | {"config": entry.config, "skipped": entry.skipped}


def _check_schema(schema: str, path: Path) -> None:
    if schema in NAMES:
        return
    kind = re.fullmatch(r"(gpuexplorer/[a-z]+/)\d+", schema)
    if kind and any(name.startswith(kind[1]) for name in NAMES):
        raise InputError(
            f"{path} was written by another version of GPU Explorer ('{schema}')",
            remedy="open it with that version, or update this one",
        )
    raise InputError(
        f"{path} holds no runs: its schema is '{schema[:60]}'",
        remedy=f"give a document of {', '.join(NAMES.values())}",
    )


def read_run(data: bytes, path: Path) -> RunResult:
    """Decode and check one run; InputError in one sentence."""
    try:
        result = msgspec.json.decode(data, type=RunResult)
    except (*_MALFORMED, ValueError) as error:
        raise not_readable(path, "a run of GPU Explorer", error) from None
    check_run(result, path)
    return result


def _bare(raw: bytes) -> bytes:
    """Return a sweep's entry as a run's document alone."""
    if not any(f'"{name}"'.encode() in raw for name in _OF_A_SWEEP):
        return raw
    fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({k: v for k, v in fields.items() if k not in _OF_A_SWEEP})


def _rest(data: bytes, path: Path, what: str, runs: tuple[RunResult, ...]) -> dict[str, Any]:
    """Return a document without its runs; those of a comparison are there by their ids."""
    try:
        fields = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        contestants = msgspec.json.decode(
            fields.pop("contestants", msgspec.Raw(b"[]")), type=list[dict[str, msgspec.Raw]]
        )
    except _MALFORMED as error:
        raise not_readable(path, what, error) from None
    fields.pop("runs", None)
    rest = {name: decode_any(bytes(raw), path, what) for name, raw in fields.items()}
    if contestants:
        rest["contestants"] = [
            {k: run.id if k == "run" else decode_any(bytes(v), path, what) for k, v in c.items()}
            for c, run in zip(contestants, runs[-len(contestants) :], strict=True)
        ]
    return rest
