"""Read NVBench's JSON with its sample files: one run a state.

Samples stand in files beside the JSON (``--jsonbin``); without them a state has figures alone, and
its median or mean over all launches stands as one sample, which is said. A file that GPU Explorer
wrote holds whole documents, and these are taken.
"""

from __future__ import annotations

import base64
import binascii
import math
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import (
    DeviceSummary,
    Origin,
    RunResult,
    TelemetrySummary,
    Traffic,
)
from gpuexplorer.core.units import plural
from gpuexplorer.exchange.files import read_error
from gpuexplorer.exchange.guard import decode_any, look_over, not_readable
from gpuexplorer.exchange.imported import (
    Imported,
    SkippedRun,
    file_time,
    foreign_device,
    foreign_run,
)
from gpuexplorer.exchange.nvbench import DOCUMENT_TAG
from gpuexplorer.exchange.read_document import read_run
from gpuexplorer.exchange.sanity import MOST_SAMPLES, MOST_SECONDS, MOST_TEXT, check_run, is_whole

PROGRAM = "NVBench"
FORMAT = "NVBench's JSON"
MOST_VALUES = 4_000_000
MOST_TEXT_B = 128 << 20
"""A document of ours is one text of the file."""
MOST_DOCUMENT_B = 256 << 20

MEASURES = (
    ("cold", "gpu", "isolated launches timed with CUDA events"),
    ("cold", "cpu", "isolated launches timed on the host"),
    ("batch", "gpu", "batched launches timed with CUDA events"),
    ("cpu_only", "cpu", "timed on the host"),
)
"""What NVBench measures, the best first: its tag, whose clock, and how in words."""


def read_nvbench(data: bytes, path: Path) -> Imported:
    """Read a file of NVBench; InputError when it is not one or a figure in it cannot be."""
    look_over(data, path, most_values=MOST_VALUES, most_text_B=MOST_TEXT_B)
    return _Reader(decode_any(data, path, FORMAT), path).read()


class _Reader:
    """Turns the states of one file into runs."""

    def __init__(self, root: Any, path: Path) -> None:
        self._path, self._root = path, root
        self._time = file_time(path)
        self._version = text(at(root, "meta", "version", "nvbench", "string")) or None
        self._lone = self._hot = 0
        """States that hold figures and no samples; and those of which batches are not taken."""
        self._devices = {
            entry["id"]: entry
            for entry in self._list(at(root, "devices") or [], "devices")
            if isinstance(entry, dict) and isinstance(entry.get("id"), int)
        }

    def read(self) -> Imported:
        """Return all states."""
        runs: dict[str, RunResult] = {}
        skipped: list[SkippedRun] = []
        for bench in self._list(at(self._root, "benchmarks"), "benchmarks"):
            name = at(bench, "name")
            if not isinstance(name, str) or not 0 < len(name) <= 1000:
                raise self._wrong("a benchmark has no name")
            for state in self._list(at(bench, "states") or [], f"states of '{name[:60]}'"):
                if not isinstance(state, dict):
                    raise self._wrong(f"a state of '{name[:60]}' is not an object")
                found = self._state(name, state)
                if isinstance(found, SkippedRun):
                    skipped.append(found)
                else:
                    runs[found.id] = found
        return Imported(FORMAT, tuple(runs.values()), tuple(skipped), None, self._notes(len(runs)))

    def _notes(self, states: int) -> tuple[str, ...]:
        """Return what stands for more than it is, and what is not taken, a sentence each."""
        notes = []
        if self._lone:
            notes.append(
                f"{self._lone} of {states} states have no samples in files beside the JSON "
                "(NVBench writes them with --jsonbin): the median or mean of each stands as its "
                "only sample."
            )
        if self._hot:
            notes.append(
                plural(
                    self._hot,
                    "{number} of {all} states has figures of batched (hot) launches as well, which "
                    "are not taken: its run is of the isolated (cold) ones.",
                    "{number} of {all} states have figures of batched (hot) launches as well, "
                    "which are not taken: their runs are of the isolated (cold) ones.",
                    all=states,
                )
            )
        return tuple(notes)

    def _state(self, bench: str, state: dict[str, Any]) -> RunResult | SkippedRun:
        what = f"{bench} {text(state.get('name'))}".strip()[:1000]
        axes = dict(self._axes(state, what))
        if state.get("is_skipped") is True:
            reason = text(state.get("skip_reason"))[:MOST_TEXT] or "no reason is given"
            return SkippedRun({"benchmark": bench, **axes}, f"{PROGRAM}: {reason}")
        summaries = dict(self._summaries(state, what))
        if DOCUMENT_TAG in summaries:
            return self._ours(text(field(summaries[DOCUMENT_TAG], "value")))
        for measure, clock, method in MEASURES:
            base = f"nv/{measure}/time/{clock}"
            mean_s = self._number(summaries, f"{base}/mean", what)
            times = (
                self._times(summaries, measure, what)
                if clock == "gpu" or measure != "cold"
                else None
            )
            if mean_s is None and times is None:
                continue
            if measure == "cold":
                self._hot += any(tag.startswith("nv/batch/time/") for tag in summaries)
            return self._run(bench, what, axes, state, summaries, measure, base, method, times)
        return SkippedRun({"benchmark": bench, **axes}, f"{PROGRAM} holds no time for it")

    def _run(
        self,
        bench: str,
        what: str,
        axes: dict[str, Any],
        state: dict[str, Any],
        summaries: dict[str, dict[str, Any]],
        measure: str,
        base: str,
        method: str,
        times: list[float] | None,
    ) -> RunResult:
        warnings = []
        if times is None:
            times, said = self._lone_sample(summaries, measure, base, what)
            warnings.append(said)
            self._lone += 1
        device = self._device(state.get("device"))
        whole = {k: v for k, v in axes.items() if isinstance(v, int)}
        result = foreign_run(
            origin=Origin(
                program=PROGRAM,
                version=self._version,
                file=self._path.name,
                what=what,
                note="Its time is when the file was last written.",
            ),
            config=RunConfig(
                workload=bench,
                variant="",
                size=whole,
                precision="",
                device=device.id,
                cache="cold" if measure == "cold" else "hot",
                switches={k: v for k, v in axes.items() if k not in whole},
            ),
            samples_s=times,
            time_utc=self._time,
            device=device,
            method=f"{PROGRAM}, {method}",
            warnings=warnings,
            moved_B=self._moved_B(summaries, measure, base, times, what),
            traffic=self._traffic(summaries, what),
            telemetry=TelemetrySummary(
                sm_clock_Hz=self._number(summaries, f"nv/{measure}/sm_clock_rate/mean", what),
            ),
        )
        check_run(result, self._path)
        return result

    def _ours(self, packed_text: str) -> RunResult:
        """Return the run of a document of ours."""
        try:
            packed = base64.b64decode(packed_text, validate=True)
            unpacking = zlib.decompressobj()
            data = unpacking.decompress(packed, MOST_DOCUMENT_B)
            if unpacking.unconsumed_tail:
                raise self._wrong("a run in it is too large")
        except (binascii.Error, ValueError, zlib.error) as error:
            raise not_readable(self._path, "a run of GPU Explorer", error) from None
        look_over(data, self._path)
        return read_run(data, self._path)

    def _lone_sample(
        self, summaries: Mapping[str, dict[str, Any]], measure: str, base: str, what: str
    ) -> tuple[list[float], str]:
        """Return the one figure that stands for all launches, and a sentence that says so."""
        launches = field(summaries.get(f"nv/{measure}/sample_size", {}), "value")
        number = text(launches)[:20] if launches is not None else None
        for tag in ("median", "mean"):
            figure_s = self._number(summaries, f"{base}/{tag}", what)
            if figure_s is not None:
                return [figure_s], (
                    f"the one sample is the {tag} of the launches, which the file leaves out"
                    if number is None
                    else f"the one sample is the {tag} of {number} launches, which the file leaves "
                    "out"
                )
        raise self._wrong(f"'{what[:60]}' has no time")

    def _axes(self, state: dict[str, Any], what: str) -> Iterator[tuple[str, Any]]:
        for axis in self._list(state.get("axis_values") or [], f"axes of '{what[:60]}'"):
            name, value = at(axis, "name"), at(axis, "value")
            if not isinstance(name, str) or not 0 < len(name) <= 200:
                raise self._wrong(f"an axis of '{what[:60]}' has no name")
            if at(axis, "type") == "int64":
                number = whole(value)
                if number is None:
                    raise self._wrong(f"the axis '{name[:60]}' of '{what[:60]}' is no whole number")
                yield name, number
            elif at(axis, "type") == "float64":
                yield name, decimal(value)
            else:
                yield name, text(value)[:MOST_TEXT]

    def _summaries(self, state: dict[str, Any], what: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for summary in self._list(state.get("summaries") or [], f"summaries of '{what[:60]}'"):
            tag = at(summary, "tag")
            if not isinstance(tag, str):
                raise self._wrong(f"a summary of '{what[:60]}' has no tag")
            yield tag, summary

    def _number(self, summaries: Mapping[str, dict[str, Any]], tag: str, what: str) -> float | None:
        """Return a figure in SI units; None where there is none, or NVBench wrote null."""
        value = field(summaries.get(tag, {}), "value")
        if value is None:
            return None
        number = math.nan
        with suppress(ValueError, OverflowError):
            number = float(str(value))
        if not 0 <= number <= 1e18:
            raise self._wrong(f"{tag} of '{what[:60]}' is {str(value)[:40]}")
        return number

    def _moved_B(
        self,
        summaries: Mapping[str, dict[str, Any]],
        measure: str,
        base: str,
        times_s: Sequence[float],
        what: str,
    ) -> float | None:
        """Return the bytes that a launch moves; NVBench holds their rate over the mean alone.

        (Of isolated launches that is the mean by the GPU's clock.)
        """
        rate = self._number(summaries, f"nv/{measure}/bw/global/bytes_per_second", what)
        if rate is None or base == "nv/cold/time/cpu":
            return None
        mean_s = self._number(summaries, f"{base}/mean", what)
        return rate * (float(np.mean(times_s)) if mean_s is None else mean_s)

    def _traffic(self, summaries: Mapping[str, dict[str, Any]], what: str) -> list[Traffic]:
        """Return the bytes that the benchmark's author says one launch moves."""
        sums: dict[str, float] = {}
        for way in ("reads", "writes"):
            found = [
                self._number(summaries, tag, what) or 0.0
                for tag in summaries
                if tag.startswith(f"nv/gmem/{way}/")
            ]
            if found:
                sums[way] = sum(found)
        if not sums:
            return []
        return [
            Traffic(
                kind="compulsory",
                read_B=sums.get("reads"),
                write_B=sums.get("writes"),
                source="model",
            )
        ]

    def _device(self, number: Any) -> DeviceSummary:
        entry = self._devices.get(number) if is_whole(number) else None
        if entry is None:
            raise self._wrong(f"it names no device {str(number)[:20]}")
        name = text(entry.get("name"))[:500] or "unknown device"
        units, peak = entry.get("number_of_sms"), entry.get("global_memory_bus_bandwidth")
        is_number = is_whole(peak) or isinstance(peak, float)
        peak_B_per_s = float(peak) if is_number and peak and 0 < peak < 1e18 else None
        source = "the device's data, as NVBench writes them"
        return foreign_device(
            "nvbench",
            name,
            compute_units=units if is_whole(units) and 0 < units < 1 << 31 else None,
            peak_bandwidth_B_per_s=peak_B_per_s,
            peak_source=source if peak_B_per_s is not None else None,
        )

    def _times(
        self, summaries: Mapping[str, dict[str, Any]], measure: str, what: str
    ) -> list[float] | None:
        """Return the samples of a state from their file; None where there is none."""
        summary = summaries.get(f"nv/json/bin:nv/{measure}/sample_times")
        if summary is None:
            return None
        name, count = field(summary, "filename"), whole(field(summary, "size"))
        if not isinstance(name, str) or count is None or not 1 <= count <= MOST_SAMPLES:
            raise self._wrong(f"the sample file of '{what[:60]}' has no proper name and size")
        file = self._sample_file(name)
        if file is None:
            return None
        try:
            with file.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                wanted = 4 * count
                if size != wanted:
                    raise self._wrong(f"{file} has {size} bytes, and {count} samples take {wanted}")
                values = np.frombuffer(stream.read(wanted), dtype="<f4").astype(np.float64)
        except OSError as error:
            raise read_error(file, error) from None
        if len(values) != count or not bool(((values >= 0) & (values <= MOST_SECONDS)).all()):
            raise self._wrong(f"{file} holds a sample that is negative, endless or not a number")
        found: list[float] = values.tolist()
        return found

    def _sample_file(self, name: str) -> Path | None:
        """Return where a sample file lies: beside the JSON, as NVBench's reader looks for it.

        Older versions wrote the path as it was given on their command line, so the last two parts
        count. A name that leads elsewhere is never followed.
        """
        parts = [p for p in name.replace("\\", "/").split("/") if p]
        if not parts or "\0" in name or any(p in (".", "..") for p in parts[-2:]):
            raise self._wrong(f"the sample file's name '{name[:60]}' cannot be")
        file = self._path.parent.joinpath(*parts[-2:])
        with suppress(OSError):
            if file.is_file():
                return file
        return None

    def _list(self, value: Any, what: str) -> list[Any]:
        if not isinstance(value, list):
            raise self._wrong(f"its {what} are no list")
        return value

    def _wrong(self, what: str) -> InputError:
        return InputError(
            f"{self._path} cannot be read as {FORMAT}: {what}",
            remedy="write it again with NVBench's --jsonbin",
        )


# ---- values
# Values as NVBench's JSON holds them: numbers are text, and a figure is one of a list.


def at(value: Any, *names: str) -> Any:
    """Return what stands under some names, one in another; None where there is nothing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def field(summary: dict[str, Any], name: str) -> Any:
    """Return a value of a summary's data by name; None where there is none."""
    data = at(summary, "data")
    for entry in data if isinstance(data, list) else ():
        if at(entry, "name") == name:
            return at(entry, "value")
    return None


def text(value: Any) -> str:
    """Return a value as text; nothing for null."""
    return value if isinstance(value, str) else "" if value is None else str(value)


def decimal(value: Any) -> float | str:
    """Return an axis value as a number; as it stands when it is none."""
    with suppress(ValueError):
        number = float(text(value))
        if math.isfinite(number):
            return number
    return text(value)[:MOST_TEXT]


def whole(value: Any) -> int | None:
    """Return a whole number that NVBench wrote as text or number; None when it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and len(value) <= 20:
        with suppress(ValueError):
            value = int(value)
    return value if isinstance(value, int) and abs(value) < 2**63 else None
