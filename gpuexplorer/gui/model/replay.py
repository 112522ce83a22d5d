"""From what is shown to a document and back: a timeline rebuilt as it was when it was saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np

import gpuexplorer
from gpuexplorer.analysis.measured_traffic import measured
from gpuexplorer.core.errors import InputError
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui.model.knobs import Knobs
from gpuexplorer.gui.model.live import (
    STATE_SPAN_S,
    Live,
    Past,
    Pin,
    Run,
    from_file_words,
    phases_of,
)
from gpuexplorer.gui.model.session_archive import damaged, read_session
from gpuexplorer.gui.model.session_arrays import Arrays, arrays_of, sample_arrays
from gpuexplorer.gui.model.session_document import (
    PastPart,
    PinPart,
    RunPart,
    SessionContents,
    SessionDocument,
    View,
    record_of,
    run_part,
)
from gpuexplorer.gui.model.tally import Tally
from gpuexplorer.gui.model.trace import Drawing, Floats, sample_times_s
from gpuexplorer.workloads.workload import WorkloadSource

CHUNK = 100_000
"""Samples given to a trace at a time."""
READINGS_AT_ONCE = 500


class Shown(msgspec.Struct, frozen=True):
    """What is shown at a moment, taken so that later samples leave it alone."""

    knobs: Knobs
    view: View
    notes: str
    kernels: Mapping[str, WorkloadSource]
    current: tuple[RunRecord, str, float, Floats, Floats] | None
    """Record, label, when its trace ends, its medians and its rates; None without samples."""
    past: Sequence[Past]
    pins: Sequence[tuple[Pin, RunRecord]]


def take(
    live: Live, knobs: Knobs, view: View, notes: str, kernels: Mapping[str, WorkloadSource]
) -> Shown:
    """Return what is shown now; quick, for the thread that draws."""
    run = live.current
    current = None
    if run is not None and run.record is not None and run.record.samples and len(run.trace):
        rows = run.medians.rows(), run.rates.rows()
        current = run.record.snapshot(), run.label, run.trace.end_s, *rows
    return Shown(
        knobs=knobs,
        view=view,
        notes=notes,
        kernels=dict(kernels),
        current=current,
        past=tuple(live.past),
        pins=tuple((pin, pin.record.snapshot()) for pin in live.pins),
    )


def contents_of(shown: Shown, parts: Mapping[str, bytes]) -> SessionContents:
    """Return the document of what was shown, with other views' documents beside it."""
    runs: list[RunPart] = []
    arrays: Arrays = {}
    places: dict[str, int] = {}

    def place(record: RunRecord, label: str, end_s: float | None) -> int:
        if record.id in places:
            return places[record.id]
        number = places[record.id] = len(runs)
        columns = sample_arrays(record.batches)
        runs.append(run_part(record, label, _last_s(record) - (end_s or 0.0)))
        arrays.update({f"run{number}-{name}": column for name, column in columns.items()})
        return number

    current = None
    if shown.current is not None:
        record, label, end_s, medians, rates = shown.current
        current = place(record, label, end_s)
        arrays[f"run{current}-medians"] = medians
        arrays[f"run{current}-rates"] = rates
    pins = []
    for index, (pin, record) in enumerate(shown.pins):
        pins.append(
            PinPart(
                number=pin.number,
                label=pin.label,
                words=pin.words,
                median_s=pin.median_s,
                stretch=pin.drawing.stretch,
                run=place(record, pin.label, None),
            )
        )
        arrays.update(_drawing_arrays(pin.drawing, f"pin{index}"))
        arrays[f"pin{index}-samples"] = pin.samples_s
    past = []
    for index, one in enumerate(shown.past):
        past.append(
            PastPart(
                label=one.label,
                start_s=one.start_s,
                end_s=one.end_s,
                stretch=one.drawing.stretch,
                range_s=one.range_s,
                traffic=one.traffic,
            )
        )
        arrays.update(_drawing_arrays(one.drawing, f"past{index}"))
        arrays[f"past{index}-rates"] = one.rates
    document = SessionDocument(
        program=gpuexplorer.__version__,
        saved_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        notes=shown.notes,
        knobs=shown.knobs,
        view=shown.view,
        runs=runs,
        current=current,
        past=past,
        pins=pins,
        kernels=dict(shown.kernels),
        parts=list(parts),
    )
    return SessionContents(document, arrays, dict(parts))


def _last_s(record: RunRecord) -> float:
    """Return when the last sample of a record began, on the engine's clock."""
    for batch in reversed(record.batches):
        if len(batch.seconds):
            return float(sample_times_s(batch, 0)[-1])
    return 0.0


def replay(contents: SessionContents, origin: str, first_ticket: int) -> Live:
    """Return the timeline of a document as it was shown; InputError when it does not hold together.

    ``origin`` is what the file is called, empty for one that the window before this one left; the
    runs take tickets from ``first_ticket`` on.
    """
    document = contents.document
    live = Live()
    records = [
        record_of(part, arrays_of(contents.arrays, f"run{index}"))
        for index, part in enumerate(document.runs)
    ]
    end_s = 0.0
    for index, part in enumerate(document.past):
        arrays = arrays_of(contents.arrays, f"past{index}")
        drawing = _drawing(arrays, part.stretch)
        if part.start_s < end_s - 1e-6 or not len(drawing.x):
            raise InputError("its earlier runs do not follow each other")
        end_s = part.end_s
        live.past.append(
            Past(
                ticket=first_ticket + len(records) + index,
                label=part.label,
                start_s=part.start_s,
                end_s=part.end_s,
                drawing=drawing,
                range_s=part.range_s,
                rates=np.array(arrays["rates"]),
                traffic=part.traffic,
            )
        )
    live.settle(end_s)
    for index, pin in enumerate(document.pins):
        arrays = arrays_of(contents.arrays, f"pin{index}")
        drawing = _drawing(arrays, pin.stretch)
        if not len(arrays["samples"]):
            raise InputError("a ghost has no samples")
        record = records[pin.run]
        live.pins.append(
            Pin(
                number=pin.number,
                ticket=first_ticket + pin.run,
                label=from_file_words(pin.label, record) if origin else pin.label,
                words=(
                    f"{pin.words}\nFrom {origin}, measured on {record.prepared.device.name}"
                    if origin
                    else pin.words
                ),
                median_s=pin.median_s,
                drawing=drawing,
                samples_s=np.array(arrays["samples"]),
                record=record,
            )
        )
    live.pinned_ever = max((pin.number for pin in live.pins), default=0)
    if document.current is not None:
        number = document.current
        shown = document.runs[number]
        arrays = arrays_of(contents.arrays, f"run{number}")
        _replay_run(live, shown, records[number], arrays, first_ticket + number, origin)
    return live


def open_session(
    path: Path, first_ticket: int, origin: str | None = None
) -> tuple[SessionContents, Live]:
    """Read a session file and return it with its timeline; InputError in one sentence.

    ``origin`` is as in ``replay``, None for the file's name.
    """
    contents = read_session(path)
    try:
        return contents, replay(contents, path.name if origin is None else origin, first_ticket)
    except (InputError, ValueError, ArithmeticError) as error:
        what = error.what if isinstance(error, InputError) else str(error)
        raise damaged(path, what) from None


def _drawing_arrays(drawing: Drawing, part: str) -> Arrays:
    arrays: Arrays = {f"{part}-drawing": np.stack([drawing.x, drawing.y], axis=1)}
    if len(drawing.launches):
        arrays[f"{part}-launches"] = drawing.launches
    return arrays


def _drawing(arrays: Arrays, stretch: int) -> Drawing:
    rows = arrays["drawing"]
    launches = np.array(arrays.get("launches", ()), np.int64)
    pairs, rest = divmod(len(rows), 2) if stretch > 1 else (0, 0)
    if (rows[:, 1] < 0).any() or rest or len(launches) not in (0, pairs):
        raise InputError("a drawing holds what cannot be drawn")
    return Drawing(rows[:, 0].copy(), rows[:, 1].copy(), stretch, launches=launches)


def _replay_run(
    live: Live,
    part: RunPart,
    record: RunRecord,
    arrays: Arrays,
    ticket: int,
    origin: str,
) -> None:
    if not {"medians", "rates"} <= set(arrays):
        raise InputError("its current run lacks what was drawn of it")
    run = Run(ticket, part.prepared.config, part.label, origin=origin, over=True)
    run.receiver.record = record
    (batch,) = record.batches
    engine_s = sample_times_s(batch, 0)
    times_s: Floats = np.maximum.accumulate(engine_s - part.shift_s)
    if times_s[0] < live.end_s - 1e-3 or times_s[-1] > 1e9:
        raise InputError("its current run begins before the earlier ones end")
    for start in range(0, len(times_s), CHUNK):
        stop = start + CHUNK
        run.trace.extend(times_s[start:stop], batch.durations_s[start:stop])
    for row in arrays["medians"].tolist():
        run.medians.add(*row)
    for row in arrays["rates"].tolist():
        run.rates.add(*row)
    tally = Tally(part.prepared.resolution_s, part.prepared.device.nominal_clock_Hz)
    tally.extend(batch, record.readings)
    run.summary = tally.summary()
    run.warnings = run.summary.warnings
    run.phases_s = phases_of([batch.phases])
    run.began_s = float(engine_s[0])
    run.state, dram = record.state(STATE_SPAN_S)
    run.counted = measured(record.counted(dram))
    live.show(run)
    for start in range(0, len(part.readings), READINGS_AT_ONCE):
        for reading in part.readings[start : start + READINGS_AT_ONCE]:
            live.readings.append(reading)
            live.device.read(reading.t_ns * 1e-9, reading)
        live.device.place(run.began_s, float(engine_s[-1]), part.shift_s)
