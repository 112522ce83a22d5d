"""Write runs as NVBench's JSON (file version 1.0.0), which its own reader and scripts compare.

NVBench keeps samples beside the JSON, in ``FILE-bin/N.bin``: little-endian float32, and clocks in
``FILE-freqs-bin/N.bin``. As it discards what was timed at a clock that was held down, these and the
figures are of the samples that a run's own figures are of. A summary of our own holds each run's
whole document, so that reading the file back here gives every sample bit for bit. Scripts of
NVBench look only for tags they know.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

import gpuexplorer
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.series.examine import is_most
from gpuexplorer.core.sharing import shared
from gpuexplorer.exchange.files import atomic_file, check_target
from gpuexplorer.exchange.imported import SkippedRun
from gpuexplorer.exchange.nvbench_samples import Float32, SampleFolders
from gpuexplorer.exchange.table import throttled_column

FILE_VERSION = {"major": 1, "minor": 0, "patch": 0, "string": "1.0.0"}
DOCUMENT_TAG = "gpuexplorer/run"
TIMES_TAG = "nv/json/bin:nv/cold/sample_times"
CLOCKS_TAG = "nv/json/freqs-bin:nv/cold/sample_freqs"
HIDDEN = "Hidden by default."


def write_nvbench(
    results: Sequence[RunResult], path: Path, skipped: Sequence[SkippedRun] = ()
) -> None:
    """Write runs as NVBench JSON with its sample files; InputError when that fails.

    ``skipped`` are configurations without a result, of the first run's workload. The sample files
    are in place before the JSON is; what stood there before goes last.
    """
    check_target(path)
    if not results:
        raise InputError(f"there are no runs to write to {path}")
    times, clocks = f"{path.name}-bin", f"{path.name}-freqs-bin"
    files: dict[str, list[Float32]] = {times: [], clocks: []}
    benchmarks: dict[str, list[dict[str, Any]]] = {}
    devices = _Devices()
    for result in results:
        states = benchmarks.setdefault(result.config.workload, [])
        states.append(_state(result, devices.number(result), files, times, clocks))
    first = results[0].config.workload
    for one in skipped:
        benchmarks[first].append(_skipped_state(one, devices.number(results[0])))
    document = {
        "meta": {
            "argv": [],
            "version": {
                "json": FILE_VERSION,
                "gpuexplorer": {"string": gpuexplorer.__version__},
            },
        },
        "devices": devices.entries,
        "benchmarks": [
            _benchmark(index, name, states)
            for index, (name, states) in enumerate(benchmarks.items())
        ],
    }
    data = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    with SampleFolders(path, files), atomic_file(path) as stream:
        stream.write(data)


class _Devices:
    """Numbers the devices of some runs."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self._numbers: dict[tuple[str, str], int] = {}

    def number(self, result: RunResult) -> int:
        device = result.device
        key = (device.id, device.hardware_id)
        if key not in self._numbers:
            self._numbers[key] = len(self.entries)
            self.entries.append(
                {
                    "id": len(self.entries),
                    "name": device.name,
                    "number_of_sms": device.compute_units,
                    "gpuexplorer_id": device.id,
                    "gpuexplorer_hardware_id": device.hardware_id,
                }
            )
        return self._numbers[key]


def _axes_of(result: RunResult) -> dict[str, int | str]:
    """Return a run's configuration as axes; equal ones are equal states for NVBench."""
    config = result.config
    axes: dict[str, int | str] = {"Variant": config.variant}
    axes |= config.size
    if config.block is not None:
        axes["Block"] = "x".join(map(str, config.block))
    axes |= {"Precision": config.precision}
    axes |= config.tunables
    axes["Cache"] = config.cache
    if result.origin is None:  # another program's file does not say what its inputs were
        axes["Fill"] = config.fill
    if config.threads is not None:
        axes["Threads"] = config.threads
    axes |= {name: str(value) for name, value in config.switches.items()}
    return {name: value for name, value in axes.items() if value != ""}


def _axis_values(axes: Mapping[str, int | str]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "type": "int64" if isinstance(value, int) else "string",
            "value": str(value),
        }
        for name, value in axes.items()
    ]


def _state_name(device: int, axes: Mapping[str, int | str]) -> str:
    return " ".join([f"Device={device}", *(f"{name}={value}" for name, value in axes.items())])


def _state(
    result: RunResult, device: int, files: dict[str, list[Float32]], times: str, clocks: str
) -> dict[str, Any]:
    axes = _axes_of(result)
    held = throttled_column(result)
    samples = np.asarray(result.samples_s, dtype=np.float64)
    used = slice(None) if held is None or is_most(int(held.sum()), len(held)) else ~held
    samples = samples[used]
    summaries = [*_figures(result, samples)]
    summaries.append(_file_summary(TIMES_TAG, "sample_times", times, files[times], samples))
    clocks_Hz = _clocks_Hz(result)
    if clocks_Hz is not None:
        summaries.append(
            _file_summary(CLOCKS_TAG, "sample_freqs", clocks, files[clocks], clocks_Hz[used])
        )
    summaries.append(
        _summary(
            DOCUMENT_TAG, "Document", "The run as GPU Explorer wrote it: JSON, zlib, base64",
            "", pack(shared(msgspec.json.encode(result), [result.environment])), hide=True,
        )
    )  # fmt: skip
    return {
        "name": _state_name(device, axes),
        "max_noise": result.timing.max_noise,
        "device": device,
        "type_config_index": 0,
        "axis_values": _axis_values(axes),
        "summaries": summaries,
        "is_skipped": False,
    }


def pack(document: bytes) -> str:
    """Return a document as text: zlib, then base64."""
    return base64.b64encode(zlib.compress(document, 6)).decode()


def _skipped_state(one: SkippedRun, device: int) -> dict[str, Any]:
    axes: dict[str, int | str] = {
        name: value if isinstance(value, int) and not isinstance(value, bool) else str(value)
        for name, value in one.values.items()
    }
    return {
        "name": _state_name(device, axes),
        "device": device,
        "type_config_index": 0,
        "axis_values": _axis_values(axes),
        "summaries": None,
        "is_skipped": True,
        "skip_reason": one.reason,
    }


def _benchmark(index: int, name: str, states: Sequence[dict[str, Any]]) -> dict[str, Any]:
    values: dict[str, dict[str, str]] = {}
    for state in states:
        for axis in state["axis_values"]:
            values.setdefault(axis["name"], {})[axis["value"]] = axis["type"]
    axes = []
    for axis_name, found in values.items():
        whole = set(found.values()) == {"int64"}
        axes.append(
            {
                "name": axis_name,
                "type": "int64" if whole else "string",
                "flags": "",
                "values": [
                    {
                        "input_string": value,
                        "description": "",
                        "value": int(value) if whole else value,
                    }
                    for value in found
                ],
            }
        )
    return {
        "name": name,
        "index": index,
        "devices": sorted({state["device"] for state in states}),
        "axes": axes or None,
        "states": list(states),
    }


def _figures(result: RunResult, samples: npt.NDArray[np.float64]) -> Iterable[dict[str, Any]]:
    """Yield the summaries that NVBench computes of isolated launches, from the same samples.

    Of a document that does not say which samples are marked, the figures are its own.
    """
    timing, cache = result.timing, result.config.cache
    told = f"kernel execution time, {cache} caches, by {timing.method}"
    q1: float | None
    q3: float | None
    most: float | None
    if timing.marked_throttled and throttled_column(result) is None:
        least, median, mean, stdev = timing.min_s, timing.median_s, timing.mean_s, timing.stdev_s
        q1 = q3 = most = None
    else:
        q1, median, q3 = (float(v) for v in np.percentile(samples, (25, 50, 75)))
        least, most, mean = float(samples.min()), float(samples.max()), float(samples.mean())
        stdev = float(samples.std(ddof=1)) if len(samples) > 1 else None
    iqr = None if q1 is None or q3 is None else q3 - q1
    yield _summary(
        "nv/cold/sample_size", "Samples", "Number of samples", "sample_size",
        len(samples),
    )  # fmt: skip
    for tag, name, value, hidden in (
        ("mean", "GPU Time", mean, False),
        ("min", "Min", least, True),
        ("max", "Max", most, True),
        ("q1", "Q1", q1, True),
        ("median", "Median", median, False),
        ("q3", "Q3", q3, True),
        ("stdev/absolute", "Deviation", stdev, True),
        ("iqr/absolute", "IQR", iqr, True),
    ):
        yield _summary(
            f"nv/cold/time/gpu/{tag}", name, f"{name} of {told}", "duration", value, hide=hidden
        )
    for tag, name, part, whole in (
        ("stdev/relative", "Noise", stdev, mean),
        ("iqr/relative", "IQR share", iqr, median),
    ):
        share = part / whole if part is not None and whole > 0 else None
        yield _summary(
            f"nv/cold/time/gpu/{tag}", name, f"{name} of {told}", "percentage", share,
            hide=tag.startswith("iqr"),
        )  # fmt: skip
    rate, peak = result.throughput.bandwidth_B_per_s, result.device.peak_bandwidth_B_per_s
    if rate is not None:
        yield _summary(
            "nv/cold/bw/global/bytes_per_second", "GlobalMem BW",
            "Compulsory bytes over the median", "byte_rate", rate,
        )  # fmt: skip
        if peak:
            yield _summary(
                "nv/cold/bw/global/utilization", "BWUtil",
                f"Share of the peak: {result.device.peak_source or 'source not known'}",
                "percentage", rate / peak,
            )  # fmt: skip
    if result.telemetry.sm_clock_Hz is not None:
        yield _summary(
            "nv/cold/sm_clock_rate/mean", "Clock Rate", "Clock held", "frequency",
            result.telemetry.sm_clock_Hz, hide=True,
        )  # fmt: skip
    if result.batches:
        last = result.batches[-1]
        lasted_s = last.samples * last.launches_each * last.median_s
        took = last.start_s - result.batches[0].start_s + lasted_s
        yield _summary(
            "nv/cold/walltime", "Walltime", "Time from the first launch to the last", "duration",
            max(took, 0.0), hide=True,
        )  # fmt: skip


def _summary(
    tag: str,
    name: str,
    description: str,
    hint: str,
    value: float | int | str | None,
    *,
    hide: bool = False,
) -> dict[str, Any]:
    kind = {int: "int64", str: "string"}.get(type(value), "float64")
    text = value if value is None or isinstance(value, str) else repr(value)
    made: dict[str, Any] = {"tag": tag, "name": name, "description": description}
    if hint:
        made["hint"] = hint
    if hide:
        made["hide"] = HIDDEN
    return made | {"data": [{"name": "value", "type": kind, "value": text}]}


def _file_summary(
    tag: str, hint: str, folder: str, files: list[Float32], values: npt.NDArray[np.float64]
) -> dict[str, Any]:
    """Keep values for a sample file and return the summary that names it."""
    name = f"{folder}/{len(files)}.bin"
    files.append(values.astype("<f4"))
    return {
        "tag": tag,
        "name": "Sample file",
        "description": "Binary file of float32, as NVBench's jsonbin writes it",
        "hint": f"file/{hint}",
        "hide": HIDDEN,
        "data": [
            {"name": "filename", "type": "string", "value": name},
            {"name": "size", "type": "int64", "value": str(len(values))},
        ],
    }


def _clocks_Hz(result: RunResult) -> npt.NDArray[np.float64] | None:
    """Return the clock of each sample; None unless it is known for all of them."""
    clocks = [b.sm_clock_Hz for b in result.batches]
    counts = [b.samples for b in result.batches]
    if not clocks or None in clocks or sum(counts) != len(result.samples_s):
        return None
    return np.repeat(np.array(clocks, dtype=np.float64), counts)
