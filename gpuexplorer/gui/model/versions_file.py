"""Versions of sources that were edited, in a session file: their texts and what came of each."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gpuexplorer.core.chunked import encode as encode_json
from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.fields import Count, Name
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sharing import shared
from gpuexplorer.gui.model.part_file import MAX_TEXT, check_config, check_texts, decode, decode_part
from gpuexplorer.gui.model.session_document import check_source, plain_source
from gpuexplorer.search.versions import MOST, Version
from gpuexplorer.workloads.workload import Workload, WorkloadSource

SCHEMA = "gpuexplorer/versions/1"
MOST_SOURCES = 32


class Registers(msgspec.Struct, frozen=True):
    """What a kernel takes a thread on an architecture, as it was compiled."""

    arch: Annotated[str, msgspec.Meta(pattern=r"^sm_\d+[af]?\Z", max_length=20)]
    count: Count


class HeldVersions(msgspec.Struct, frozen=True):
    """The versions of one workload's source."""

    name: str
    versions: tuple[Version, ...]
    registers: tuple[Registers | None, ...]
    """Of each version, where it was compiled."""
    origin: str = ""
    """Where the workload lies on this machine; empty for what a file brought."""


class _Version(msgspec.Struct, kw_only=True):
    number: Annotated[int, msgspec.Meta(ge=1, le=10**6)]
    source: WorkloadSource
    time_utc: str
    run: RunResult | None = None
    error: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)] | None = None
    """Why it did not run."""
    before: Annotated[int, msgspec.Meta(ge=1, le=10**6)] | None = None
    comparison: Comparison | None = None
    registers: Registers | None = None


class _Source(msgspec.Struct, kw_only=True):
    name: Name
    versions: Annotated[list[_Version], msgspec.Meta(min_length=1, max_length=MOST)]


class _Document(msgspec.Struct, kw_only=True):
    schema: str = ""
    sources: Annotated[list[msgspec.Raw], msgspec.Meta(min_length=1, max_length=MOST_SOURCES)]


def encode(held: tuple[HeldVersions, ...]) -> bytes:
    """Return versions as JSON, without where anything lies on this machine."""
    sources = []
    by_name = {one.name: one for one in held}
    for one in list(by_name.values())[-MOST_SOURCES:]:
        rows = list(zip(one.versions, one.registers, strict=True))[-MOST:]
        runs = [version.run for version, _ in rows if version.run is not None]
        versions = [_stored(version, registers) for version, registers in rows]
        data = encode_json(_Source(name=one.name, versions=versions))
        sources.append(msgspec.Raw(shared(data, [run.environment for run in runs])))
    return msgspec.json.encode(_Document(schema=SCHEMA, sources=sources))


def _stored(version: Version, registers: Registers | None) -> _Version:
    run = version.run
    if run is not None:  # its samples are in the history
        run = msgspec.structs.replace(run, samples_s=[], printed=None)
    return _Version(
        number=version.number,
        source=plain_source(version.workload),
        time_utc=version.time_utc,
        run=run,
        error=None if version.error is None else str(version.error)[:MAX_TEXT],
        before=version.before,
        comparison=version.comparison,
        registers=registers,
    )


def decode_versions(data: bytes, origin: str) -> tuple[HeldVersions, ...]:
    """Return the versions that the file ``origin`` holds; InputError for what cannot be.

    Those that this window's predecessor left, which has no name, are the user's own.
    """
    document = decode_part(data, _Document, SCHEMA, "the versions")
    sources = [decode(bytes(raw), _Source, "a source's versions") for raw in document.sources]
    found = [_held(source, foreign=bool(origin)) for source in sources]
    if len({one.name for one in found}) < len(found):
        raise InputError("a source has its versions twice")
    return tuple(found)


def _held(source: _Source, *, foreign: bool) -> HeldVersions:
    numbers = [one.number for one in source.versions]
    if sorted(set(numbers)) != numbers:
        raise InputError("the versions are not in their order")
    return HeldVersions(
        name=source.name,
        versions=tuple(_version(one, source.name, foreign=foreign) for one in source.versions),
        registers=tuple(one.registers for one in source.versions),
    )


def _version(one: _Version, name: str, *, foreign: bool) -> Version:
    check_source(one.source)
    check_texts([one.time_utc, one.run])  # sources, and what compilers say of them, are quoted
    if (one.run is None) == (one.error is None):
        raise InputError("a version neither ran nor failed")
    if one.run is not None:
        check_config(one.run.config)
    if one.before is not None and one.before >= one.number:
        raise InputError("a version was measured beside a later one")
    workload = Workload(one.source)
    if workload.name != name:
        raise InputError("a version is of another workload")
    error = None if one.error is None else WorkFailed(one.error)
    return Version(
        one.number, workload, one.time_utc, one.run, error,
        before=one.before, comparison=one.comparison, foreign=foreign,
    )  # fmt: skip
