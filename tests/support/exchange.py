"""Files of runs made by hand, whole and spoiled, for tests of what is imported."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.core.compared import ComparisonResult, Contestant, comparison_json
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sweep import SweepDocument, SweptRun, sweep_json
from gpuexplorer.exchange.document import run_json, runs_json
from gpuexplorer.exchange.formats import write_runs
from tests.support.results import made_config, made_result


def made_run(number: int = 0, samples: int = 12, **changes: Any) -> RunResult:
    """Return a run whose id and block are its number's."""
    block = (16, 1 << number % 5, 1)
    result = made_result(samples, 7.6e-3 * (1 + number / 10), **{"block": block, **changes})
    return msgspec.structs.replace(result, id=f"{number:032x}")


def made_sweep() -> SweepDocument:
    """Return a sweep of three blocks, the last of which cannot run."""
    runs = [made_run(i) for i in range(2)]
    swept = [SweptRun(values={"block": list(r.config.block or ())}, config=r.config, run=r)
             for r in runs]  # fmt: skip
    refused = made_config(block=(64, 64, 1))
    swept.append(SweptRun(values={"block": [64, 64, 1]}, config=refused, skipped="too large"))
    return SweepDocument(
        id="5" * 32, time_utc="2026-01-02T00:00:00+00:00", workload="matmul", title="Matmul",
        points=3, axes={"block": [[16, 1, 1], [16, 2, 1], [64, 64, 1]]}, runs=swept,
    )  # fmt: skip


def made_comparison() -> ComparisonResult:
    """Return a comparison of two runs."""
    first, second = made_run(0), made_run(1)
    return ComparisonResult(
        id="c" * 32, time_utc="2026-01-02T00:00:00+00:00", reference=0, interleaved=True,
        rounds=8, stopped_by="verdict", tolerance=0.005,
        contestants=[
            Contestant(label="16×1", run=first, turns_s=[1.0, 1.1]),
            Contestant(label="16×2", run=second, turns_s=[1.2, 1.3], ratio=1.1, ci95_low=1.08,
                       ci95_high=1.12, verdict="slower", warnings=("another driver",)),
        ],
    )  # fmt: skip


def nvbench_document(samples: list[float] | None = None) -> dict[str, Any]:
    """Return what NVBench writes of two states, one of them skipped."""

    def summary(tag: str, value: str, kind: str = "float64", name: str = "value") -> dict[str, Any]:
        return {"tag": tag, "data": [{"name": name, "type": kind, "value": value}]}

    summaries = [
        summary("nv/cold/sample_size", "499", "int64"),
        summary("nv/cold/time/cpu/mean", "0.0011"),
        summary("nv/cold/time/gpu/mean", "0.001"),
        summary("nv/cold/time/gpu/stdev/relative", "0.01"),
        summary("nv/cold/bw/global/bytes_per_second", "4.5e11"),
        summary("nv/cold/sm_clock_rate/mean", "1.6e9"),
        summary("nv/gmem/reads/A", "1048576", "int64"),
    ]
    if samples is not None:
        summaries.append(
            {
                "tag": "nv/json/bin:nv/cold/sample_times",
                "hint": "file/sample_times",
                "data": [
                    {"name": "filename", "type": "string", "value": "bench.json-bin/0.bin"},
                    {"name": "size", "type": "int64", "value": str(len(samples))},
                ],
            }
        )
    axes = [
        {"name": "BlockSize", "type": "int64", "value": "256"},
        {"name": "T", "type": "string", "value": "F32"},
        {"name": "Share", "type": "float64", "value": "0.5"},
    ]
    head = {"device": 0, "type_config_index": 0, "axis_values": axes}
    return {
        "meta": {
            "argv": [],
            "version": {"json": {"string": "1.0.0"}, "nvbench": {"string": "0.1.0"}},
        },
        "devices": [
            {
                "id": 0, "name": "Quadro GV100", "number_of_sms": 80,
                "global_memory_bus_bandwidth": 870400000000,
            }
        ],
        "benchmarks": [
            {
                "name": "copy", "index": 0, "devices": [0], "axes": None,
                "states": [
                    {**head, "name": "Device=0 a", "summaries": summaries, "is_skipped": False},
                    {**head, "name": "Device=0 b", "summaries": None, "is_skipped": True,
                     "skip_reason": "Not a conversion."},
                ],
            }
        ],
    }  # fmt: skip


def write_nvbench_files(folder: Path, samples: list[float] | None = None) -> Path:
    """Write ``bench.json`` as NVBench would, with its sample file where there are samples."""
    path = folder / "bench.json"
    path.write_text(json.dumps(nvbench_document(samples)), encoding="utf-8")
    if samples is not None:
        (folder / "bench.json-bin").mkdir(exist_ok=True)
        packed = struct.pack(f"<{len(samples)}f", *samples)
        (folder / "bench.json-bin" / "0.bin").write_bytes(packed)
    return path


def cache_text(*, closed: bool = True) -> str:
    """Return a Kernel Tuner cache of five configurations as it is appended to, line by line."""
    head = {
        "device_name": "NVIDIA RTX A6000",
        "kernel_name": "matmul_kernel",
        "problem_size": [512, 512],
        "tune_params_keys": ["block_size_x", "block_size_y", "tile", "layout"],
        "tune_params": {"block_size_x": [16, 32], "block_size_y": [1, 2], "tile": [4, 8],
                        "layout": ["row"]},
        "objective": "time",
        "cache": {},
    }  # fmt: skip
    text = json.dumps(head, indent="")[:-3]
    common = {
        "compile_time": 340.25, "verification_time": 0, "benchmark_time": 1.05,
        "strategy_time": 0, "framework_time": 0.9,
        "timestamp": "2024-07-01 12:30:05.123456+00:00",
    }  # fmt: skip
    lines = []
    for x, y, tile, outcome in (
        (16, 1, 4, [0.5, 0.52, 0.51]),
        (16, 2, 4, [0.25, 0.26, 0.24]),
        (32, 1, 4, "InvalidConfig"),
        (32, 2, 4, "CompilationFailedConfig"),
        (32, 2, 8, [0.125, 0.13, 0.12]),
    ):
        entry: dict[str, Any] = {
            "block_size_x": x, "block_size_y": y, "tile": tile, "layout": "row",
        }  # fmt: skip
        if isinstance(outcome, str):
            entry |= {"time": outcome, "__error__": outcome}
        else:
            entry |= {"time": float(np.mean(outcome)), "times": outcome, "nvml_power": 210.5}
        key = f"{x},{y},{tile},row"
        lines.append("\n" + json.dumps({key: entry | common})[1:-1] + ",")
    text += "".join(lines)
    return text[:-1] + "}\n}" if closed else text


# ---- spoiled files

WEIRD: tuple[Any, ...] = (
    None, True, False, 0, -1, -0.0, 1e308, -1e308, 5e-324, 10**40, -(10**40), 2**63, 2**31, "",
    "x", "NaN", "Infinity", "-1", "1e999", "\0", "\ud800".encode("utf-16", "surrogatepass").hex(),
    "=1+1", "<script>alert(1)</script>", "../../../etc/passwd", "é" * 300, [], {}, [[]],
    [None], {"a": {"a": 1}}, [1, "a"], 10_000_000_000, "10000000000", {"skipped": "x"},
)  # fmt: skip
RAW: tuple[bytes, ...] = (
    b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"1" * 400, b"0x10", b"01", b".5",
    b"[" * 600, b'{"a":' * 600, b'"' + b"y" * 2_000_000 + b'"', b"\xff\xfe", b"\x00", b"\\u0000",
    b'"\\ud800"', b"[" + b"[]," * 2000 + b"[]]", b"[" + b"0," * 5000 + b"0]", b"null", b"true",
    b'{"id":1,"id":2}', b"-", b"--1", b"//", b"'", b",,", b"}}", b"]]",
)  # fmt: skip


def spoil_json(data: bytes, random_: random.Random) -> bytes:
    """Return JSON text with one to three things changed: in its values, or in its bytes."""
    for _ in range(random_.randint(1, 3)):
        if random_.random() < 0.6:
            data = _spoil_value(data, random_)
        else:
            data = spoil_bytes(data, random_)
    return data


def _spoil_value(data: bytes, random_: random.Random) -> bytes:
    """Replace, remove, rename or double one value of a document."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return spoil_bytes(data, random_)
    places = list(_places(document))
    if not places:
        return spoil_bytes(data, random_)
    holder, key = random_.choice(places)
    action = random_.randrange(6)
    mark = "\u0001spoiled\u0001"
    if action <= 2:
        holder[key] = random_.choice(WEIRD)
    elif action == 3:
        holder[key] = mark
    elif isinstance(holder, dict):
        if action == 4:
            del holder[key]
        else:
            holder[str(random_.choice(list(holder)))] = holder[key]
    elif action == 4:
        holder.insert(key, holder[key])
    else:
        del holder[key]
    text = json.dumps(document).encode()
    return text.replace(json.dumps(mark).encode(), random_.choice(RAW))


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in list(items):
        yield value, key
        if isinstance(part, dict | list):
            yield from _places(part)


def spoil_bytes(data: bytes, random_: random.Random) -> bytes:
    """Return bytes of which some are changed, moved, doubled or missing."""
    made = bytearray(data)
    at = random_.randrange(len(made) + 1)
    length = random_.choice((1, 1, 2, 8, 64, 1024))
    action = random_.randrange(7)
    if action == 0:
        for _ in range(random_.randint(1, 8)):
            if made:
                made[random_.randrange(len(made))] = random_.randrange(256)
    elif action == 1:
        del made[at : at + length]
    elif action == 2:
        del made[at:]
    elif action == 3:
        made[at:at] = made[at : at + length]
    elif action == 4:
        made[at:at] = random_.choice(RAW)
    elif action == 5 and made:
        place = random_.randrange(len(made))
        made[place] ^= 1 << random_.randrange(8)
    else:
        other = random_.randrange(len(made) + 1)
        made[at:at] = made[other : other + length]
    return bytes(made)


Spoil = Callable[[bytes, random.Random], bytes]


def sample_files(folder: Path) -> dict[str, tuple[Path, Spoil]]:
    """Write one file of each kind that is imported; return it with what spoils it, by name."""
    runs = [made_run(i) for i in range(3)]
    texts = {
        "run": run_json(runs[0]),
        "runs": runs_json(runs),
        "sweep": sweep_json(made_sweep()),
        "comparison": comparison_json(made_comparison()),
        "kernel-tuner": cache_text().encode(),
        "kernel-tuner-open": cache_text(closed=False).encode(),
    }
    made: dict[str, tuple[Path, Spoil]] = {}
    for name, data in texts.items():
        path = folder / f"{name}.json"
        path.write_bytes(data)
        made[name] = (path, spoil_json)
    made["nvbench"] = (write_nvbench_files(folder, [1e-3, 2e-3, 1.5e-3]), spoil_json)
    write_runs(runs[:1], folder / "ours.nvbench.json")
    made["nvbench-ours"] = (folder / "ours.nvbench.json", spoil_json)
    for table in ("samples", "runs"):
        path = folder / f"{table}.parquet"
        write_runs(runs, path, table=table)
        made[f"parquet-{table}"] = (path, spoil_bytes)
    return made
