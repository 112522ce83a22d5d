"""Write the operators of one iteration as a Chrome trace, which Perfetto and chrome://tracing draw.

CPU threads are the tracks of one process, a GPU's streams those of a second. Times are
microseconds from the iteration's start.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

import gpuexplorer
from gpuexplorer.core.operators import OperatorProfile, family
from gpuexplorer.exchange.chrome_trace import Event
from gpuexplorer.exchange.files import atomic_file
from gpuexplorer.exchange.table import size_words

CPU, GPU = 1, 2


def write_operator_trace(profile: OperatorProfile, path: Path) -> None:
    """Write a profile's calls as one trace; InputError when the file cannot be written."""
    head = msgspec.json.encode(
        {
            "displayTimeUnit": "ms",
            "otherData": {"program": f"GPU Explorer {gpuexplorer.__version__}"},
        }
    )
    with atomic_file(path) as stream:
        stream.write(head[:-1] + b',\n"traceEvents":[\n')
        first = True
        for event in operator_events(profile):
            stream.write((b"" if first else b",\n") + msgspec.json.encode(event))
            first = False
        stream.write(b"\n]}\n")


def operator_events(profile: OperatorProfile) -> Iterator[Event]:
    """Yield the events of a profile; times in µs."""
    config = profile.config
    parts = (config.workload, config.variant, size_words(config), config.precision)
    words = " ".join(part for part in parts if part)
    processes = {CPU: f"{words}: calls", GPU: f"{words}: kernels on {profile.device.name}"}
    used = {GPU if track.kind == "gpu" else CPU for track in profile.tracks}
    for process in sorted(used):
        yield _meta(process, 0, "process_name", {"name": processes[process]})
        yield _meta(process, 0, "process_sort_index", {"sort_index": process})
    for number, track in enumerate(profile.tracks, start=1):
        process = GPU if track.kind == "gpu" else CPU
        yield _meta(process, number, "thread_name", {"name": track.title})
        yield _meta(process, number, "thread_sort_index", {"sort_index": number})
    told = {
        "time_utc": profile.time_utc,
        "config": msgspec.to_builtins(config),
        "method": profile.method,
        "calls": profile.calls_total,
        "calls drawn": len(profile.calls),
    }
    first = CPU if CPU in used else GPU
    yield {
        "ph": "i", "s": "p", "name": "iteration", "cat": "run", "pid": first, "tid": 1, "ts": 0,
        "args": told,
    }  # fmt: skip
    for call in profile.calls:
        track = profile.tracks[call.track]
        name = profile.names[call.name]
        yield {
            "ph": "X", "name": name, "cat": family(name),
            "pid": GPU if track.kind == "gpu" else CPU, "tid": call.track + 1,
            "ts": call.start_s * 1e6, "dur": call.duration_s * 1e6,
        }  # fmt: skip


def _meta(process: int, track: int, name: str, arguments: dict[str, object]) -> Event:
    return {"ph": "M", "name": name, "pid": process, "tid": track, "args": arguments}
