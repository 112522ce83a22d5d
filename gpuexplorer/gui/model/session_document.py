"""A session as a document: knobs, ghosts and the runs shown, as a session file holds them.

``gpuexplorer/session/1`` is ``session.json`` with arrays beside it. A run is kept as what was
received of it, not as its figures: opening the file works the figures out again, with the same
code that showed them first.
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.fields import Count, Seconds
from gpuexplorer.core.result import Phases, Traffic
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.sample_block import packed
from gpuexplorer.core.sharing import shared_environment
from gpuexplorer.core.telemetry import Counters
from gpuexplorer.engine.protocol import Prepared
from gpuexplorer.engine.record import MAX_READINGS, RunRecord
from gpuexplorer.gui.model.knobs import Knobs
from gpuexplorer.gui.model.live import MAX_PAST, MAX_PINS
from gpuexplorer.gui.model.part_file import check_config, check_texts, require
from gpuexplorer.gui.model.session_arrays import LATEST_NS, LONGEST_S, Arrays, one_batch
from gpuexplorer.workloads.loader import MAX_SOURCE_B, SOURCE_SUFFIXES
from gpuexplorer.workloads.programs import SUFFIX as PYTHON
from gpuexplorer.workloads.workload import MANIFEST_NAME, Workload, WorkloadSource

SESSION_SCHEMA = "gpuexplorer/session/1"
MAX_NOTES = 200_000
"""Characters of notes."""

_FILE_NAME = re.compile(r"[^\W_][\w .()+-]{0,99}")

FolderName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\Z")]
PartName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]{0,30}\Z")]
Stretch = Annotated[int, Meta(ge=1)]
"""Samples that one point of a drawing stands for."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What of the window was in front."""

    tab: str = "Live"
    span_s: Seconds = 0.0
    """The stretch of time shown; 0 is everything."""


class RunPart(msgspec.Struct, frozen=True, kw_only=True):
    """One run; its samples and thinned series stand in arrays beside it."""

    id: str
    time_utc: str
    stopped_by: str
    dropped: Count
    lost_until_ns: Count | None = None
    max_noise: Annotated[float, Meta(gt=0, le=1)]
    label: str
    shift_s: Annotated[float, Meta(gt=-1e10, lt=1e10)]
    """The engine's clock less the time axis of the plots, in seconds."""
    prepared: Prepared
    phases_s: Phases
    readings: Annotated[list[Reading], Meta(max_length=MAX_READINGS)]
    ceilings: Ceilings | None = None
    idle_power_W: float | None = None
    missing: dict[str, str] = {}
    counters: Counters | None = None


class PastPart(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier configuration, thinned as it was drawn."""

    label: str
    start_s: Seconds
    end_s: Seconds
    stretch: Stretch
    range_s: tuple[Seconds, Seconds, Seconds]
    traffic: dict[str, Traffic]


class PinPart(msgspec.Struct, frozen=True, kw_only=True):
    """A ghost; ``run`` counts the runs of the document."""

    number: Annotated[int, Meta(gt=0, lt=2**31)]
    label: str
    words: str
    median_s: Seconds
    stretch: Stretch
    run: Count


class SessionDocument(msgspec.Struct, frozen=True, kw_only=True):
    """``session.json``."""

    schema: str = SESSION_SCHEMA
    program: str
    """The version that wrote it."""
    saved_utc: str
    notes: Annotated[str, Meta(max_length=MAX_NOTES)] = ""
    knobs: Knobs
    view: View = View()
    runs: Annotated[list[RunPart], Meta(max_length=MAX_PINS + 1)] = []
    current: Count | None = None
    """Which of the runs was the current one."""
    past: Annotated[list[PastPart], Meta(max_length=MAX_PAST)] = []
    pins: Annotated[list[PinPart], Meta(max_length=MAX_PINS)] = []
    kernels: dict[FolderName, WorkloadSource] = {}
    """Manifests and sources of the workloads used, by name; they are shown, never run from here."""
    parts: list[PartName] = []
    """Documents of other views beside it, by name, such as ``sweep``."""


class SessionContents(msgspec.Struct):
    """A document with its arrays, and the other views' documents as JSON."""

    document: SessionDocument
    arrays: Arrays = msgspec.field(default_factory=dict)
    parts: dict[str, bytes] = msgspec.field(default_factory=dict)


def plain_source(workload: Workload) -> WorkloadSource:
    """Return a workload's manifest and sources without where they lie on this machine."""
    return msgspec.structs.replace(workload.source, origin=MANIFEST_NAME)


def run_part(record: RunRecord, label: str, shift_s: float) -> RunPart:
    """Return a run's part of the document."""
    return RunPart(
        id=record.id,
        time_utc=record.time_utc,
        stopped_by="user" if record.stopped_by == "running" else record.stopped_by,
        dropped=record.dropped,
        lost_until_ns=record.lost_until_ns,
        max_noise=record.max_noise,
        label=label,
        shift_s=shift_s,
        prepared=msgspec.structs.replace(
            record.prepared, environment=shared_environment(record.prepared.environment)
        ),
        phases_s=record.phases_s,
        readings=record.readings,
        ceilings=record.ceilings,
        idle_power_W=record.idle_power_W,
        missing=record.missing,
        counters=record.counters,
    )


def record_of(part: RunPart, arrays: Arrays) -> RunRecord:
    """Return a run as it was received; InputError when its arrays do not fit."""
    record = RunRecord(part.prepared, max_noise=part.max_noise)
    record.id, record.time_utc = part.id, part.time_utc
    record.add(packed([one_batch(arrays)]))
    for reading in part.readings:
        record.add_reading(reading)
    record.missing = dict(part.missing)
    record.dropped, record.lost_until_ns = part.dropped, part.lost_until_ns
    record.ceilings, record.idle_power_W = part.ceilings, part.idle_power_W
    record.counters = part.counters
    record.end(part.stopped_by, part.phases_s)
    return record


def check_document(document: SessionDocument) -> None:
    """Raise InputError for what no session can hold: texts, and references that lead nowhere."""
    check_texts(msgspec.structs.replace(document, kernels={}, notes=""))
    runs = range(len(document.runs))
    require(document.current is None or document.current in runs, "it names a run it has not")
    require(all(pin.run in runs for pin in document.pins), "a ghost names a run it has not")
    numbers = [pin.number for pin in document.pins]
    require(len(set(numbers)) == len(numbers), "two ghosts have one number")
    for past in document.past:
        low, middle, high = past.range_s
        require(past.start_s <= past.end_s, "an earlier run at an odd time")
        require(low <= middle <= high, "an odd earlier run")
    for run in document.runs:
        check_config(run.prepared.config)
        times = [reading.t_ns for reading in run.readings]
        require(all(0 <= t <= LATEST_NS for t in times), "a reading at an odd time")
        require(0 <= run.prepared.resolution_s < LONGEST_S, "a clock of an odd resolution")
        require(0 <= run.prepared.flops < 1e30, "an odd number of operations")
    for source in document.kernels.values():
        check_source(source)


def check_source(source: WorkloadSource) -> None:
    """Raise InputError for sources that are far too long, or have odd names."""
    texts = {MANIFEST_NAME: source.manifest, **source.files}
    require(all(len(t) <= MAX_SOURCE_B for t in texts.values()), "a source far too long")
    for file in source.files:
        known = file.endswith((*SOURCE_SUFFIXES, PYTHON))
        require(known and bool(_FILE_NAME.fullmatch(file)), "a source has an odd name")
