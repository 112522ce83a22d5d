"""NVBench's JSON: what its reader looks for is there, and what it writes is understood."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.exchange.formats import read_runs, write_runs
from gpuexplorer.exchange.imported import SkippedRun
from gpuexplorer.exchange.nvbench import write_nvbench
from gpuexplorer.exchange.nvbench_samples import SampleFolders
from tests.support.exchange import made_run, nvbench_document, write_nvbench_files
from tests.support.prepared import prepared


def figures(state: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a state's summaries by tag."""
    return {s["tag"]: {d["name"]: d["value"] for d in s["data"]} for s in state["summaries"]}


def with_clocks(run: RunResult) -> RunResult:
    batches = [msgspec.structs.replace(b, sm_clock_Hz=1.5e9) for b in run.batches]
    telemetry = msgspec.structs.replace(run.telemetry, sm_clock_Hz=1.5e9)
    return msgspec.structs.replace(run, batches=batches, telemetry=telemetry)


def test_a_file_has_what_the_reader_and_the_comparison_look_for(tmp_path: Path) -> None:
    runs = [with_clocks(made_run(i, samples=40)) for i in range(2)]
    write_runs(runs, tmp_path / "f.nvbench.json")
    document = json.loads((tmp_path / "f.nvbench.json").read_text())
    assert document["meta"]["version"]["json"]["string"] == "1.0.0"
    assert [(d["id"], d["name"]) for d in document["devices"]] == [(0, "Example CPU")]
    (bench,) = document["benchmarks"]
    assert bench["name"] == "matmul" and bench["devices"] == [0]
    axes = {axis["name"]: axis for axis in bench["axes"]}
    assert axes["N"]["type"] == "int64" and axes["Block"]["type"] == "string"
    assert [v["value"] for v in axes["Block"]["values"]] == ["16x1x1", "16x2x1"]
    for number, (run, state) in enumerate(zip(runs, bench["states"], strict=True)):
        assert state["name"].startswith("Device=0 Variant=naive N=512 Block=16x")
        assert state["is_skipped"] is False
        assert {a["name"] for a in state["axis_values"]} <= set(axes)
        found = figures(state)
        values = np.asarray(run.samples_s)
        assert float(found["nv/cold/time/gpu/mean"]["value"]) == values.mean()
        assert float(found["nv/cold/time/gpu/median"]["value"]) == np.median(values)
        assert float(found["nv/cold/sm_clock_rate/mean"]["value"]) == 1.5e9
        times = found["nv/json/bin:nv/cold/sample_times"]
        assert times == {"filename": f"f.nvbench.json-bin/{number}.bin", "size": "40"}
        stored = np.fromfile(tmp_path / times["filename"], dtype="<f4")
        assert (stored == values.astype(np.float32)).all()
        clocks = found["nv/json/freqs-bin:nv/cold/sample_freqs"]
        assert (np.fromfile(tmp_path / clocks["filename"], "<f4") == np.float32(1.5e9)).all()


def test_one_sample_has_no_noise_and_says_null(tmp_path: Path) -> None:
    write_runs([made_run(samples=1)], tmp_path / "f.nvbench.json")
    document = json.loads((tmp_path / "f.nvbench.json").read_text())
    found = figures(document["benchmarks"][0]["states"][0])
    assert found["nv/cold/time/gpu/stdev/relative"]["value"] is None


def throttled_run() -> RunResult:
    """Return a run of fifty samples, during the last twenty of which the clock was held down."""
    record = RunRecord(prepared())
    for number in range(10):
        slow = number >= 6
        times_s = np.full(5, 2e-3 if slow else 1e-3) + 1e-6 * number
        record.add(
            SampleBatch(
                seconds=times_s.astype("<f8").tobytes(),
                counts=(5,),
                starts_ns=(number * 10**7,),
                clocks_Hz=(0.9e9 if slow else 1.8e9,),
            )
        )
    record.end("time")
    return record.result()


def test_what_was_timed_at_a_clock_held_down_is_in_no_figure_of_a_file(tmp_path: Path) -> None:
    run = throttled_run()
    timing, values = run.timing, np.asarray(run.samples_s)[:30]
    assert timing.marked_throttled == 20
    write_runs([run], tmp_path / "f.nvbench.json")
    document = json.loads((tmp_path / "f.nvbench.json").read_text())
    found = figures(document["benchmarks"][0]["states"][0])
    gpu = {tag.removeprefix("nv/cold/time/gpu/"): f.get("value") for tag, f in found.items()}
    assert float(gpu["mean"]) == timing.mean_s == pytest.approx(values.mean())
    assert float(gpu["median"]) == timing.median_s
    assert float(gpu["max"]) == values.max()
    assert float(gpu["q3"]) == np.percentile(values, 75)
    assert float(gpu["stdev/relative"]) == pytest.approx(values.std(ddof=1) / values.mean())
    assert found["nv/cold/sample_size"]["value"] == "30"
    times = found["nv/json/bin:nv/cold/sample_times"]
    assert times["size"] == "30"
    stored = np.fromfile(tmp_path / times["filename"], dtype="<f4")
    assert (stored == values.astype(np.float32)).all()
    clocks = found["nv/json/freqs-bin:nv/cold/sample_freqs"]
    assert (np.fromfile(tmp_path / clocks["filename"], "<f4") == np.float32(1.8e9)).all()
    (whole,) = read_runs(tmp_path / "f.nvbench.json").runs
    assert whole == run, "the document has all samples, and says which are marked"


def test_an_older_document_that_does_not_say_which_samples_are_marked_keeps_its_figures(
    tmp_path: Path,
) -> None:
    run = throttled_run()
    batches = [msgspec.structs.replace(b, throttled=msgspec.UNSET) for b in run.batches]
    write_runs([msgspec.structs.replace(run, batches=batches)], tmp_path / "f.nvbench.json")
    document = json.loads((tmp_path / "f.nvbench.json").read_text())
    found = figures(document["benchmarks"][0]["states"][0])
    assert float(found["nv/cold/time/gpu/mean"]["value"]) == run.timing.mean_s
    assert float(found["nv/cold/time/gpu/median"]["value"]) == run.timing.median_s
    assert found["nv/cold/time/gpu/q3"]["value"] is None


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_of_samples_says_which_were_timed_at_a_clock_held_down(
    tmp_path: Path, ending: str
) -> None:
    path, run = tmp_path / f"f.{ending}", throttled_run()
    write_runs([run, made_run()], path)
    if ending == "csv":
        with path.open(encoding="utf-8", newline="") as stream:
            marks = [row["throttled"] for row in csv.DictReader(stream)]
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        marks = list(map(str, parquet.read_table(path)["throttled"].to_pylist()))
        assert read_runs(path).runs[0] == run
    assert marks == ["False"] * 30 + ["True"] * 20 + ["False"] * 12


def test_configurations_without_a_result_are_skipped_states(tmp_path: Path) -> None:
    skipped = [SkippedRun({"block": [64, 64, 1]}, "more threads than a block may have")]
    write_nvbench([made_run()], tmp_path / "f.json", skipped)
    found = read_runs(tmp_path / "f.json")
    assert len(found.runs) == 1
    (one,) = found.skipped
    assert one.reason == "NVBench: more threads than a block may have"
    assert one.values["block"] == "[64, 64, 1]"


def test_writing_again_replaces_the_samples_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    write_nvbench([made_run(i) for i in range(3)], path)
    write_nvbench([made_run(5)], path)
    assert sorted(os.listdir(tmp_path)) == ["f.json", "f.json-bin"]
    assert os.listdir(tmp_path / "f.json-bin") == ["0.bin"]
    assert read_runs(path).runs == (made_run(5),)


def test_a_failure_puts_back_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f.json"
    write_nvbench([made_run(i) for i in range(3)], path)
    before = path.read_bytes(), sorted(os.listdir(tmp_path / "f.json-bin"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="the disk is full"):
        write_nvbench([made_run(7)], path)
    assert sorted(os.listdir(tmp_path)) == ["f.json", "f.json-bin"]
    assert (path.read_bytes(), sorted(os.listdir(tmp_path / "f.json-bin"))) == before


def test_a_failure_leaves_folders_alone_that_it_had_not_come_to(tmp_path: Path) -> None:
    class Full(np.ndarray):
        def tobytes(self, *_: object) -> bytes:
            raise OSError(28, "No space left on device")

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.bin").write_bytes(b"before")
    values = np.zeros(3, np.float32)
    folders = SampleFolders(tmp_path / "f.json", {"a": [values.view(Full)], "b": [values]})
    with pytest.raises(InputError, match="the disk is full"), folders:
        raise AssertionError
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert all((tmp_path / name / "0.bin").read_bytes() == b"before" for name in "ab")


def test_hidden_folders_of_another_export_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f.json"
    write_nvbench([made_run(1)], path)
    for end in ("part", "old"):  # as one has that goes on beside it, or was killed
        (tmp_path / f".f.json-bin.{end}").mkdir()
        (tmp_path / f".f.json-bin.{end}" / "0.bin").write_bytes(b"another's")
    write_nvbench([made_run(2)], path)
    before = sorted(os.listdir(tmp_path)), (tmp_path / "f.json-bin" / "0.bin").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="the disk is full"):
        write_nvbench([made_run(3)], path)
    assert before == (
        sorted(os.listdir(tmp_path)), (tmp_path / "f.json-bin" / "0.bin").read_bytes()
    )  # fmt: skip
    for end in ("part", "old"):
        assert (tmp_path / f".f.json-bin.{end}" / "0.bin").read_bytes() == b"another's"


def test_a_folder_that_is_not_nvbenchs_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "f.json-bin").mkdir()
    (tmp_path / "f.json-bin" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="is no folder of NVBench's samples"):
        write_nvbench([made_run()], tmp_path / "f.json")
    assert (tmp_path / "f.json-bin" / "thesis.tex").read_text() == "years of work"
    assert not (tmp_path / "f.json").exists()


def test_a_state_with_samples_becomes_a_run_that_knows_what_it_does_not_know(
    tmp_path: Path,
) -> None:
    samples = [float(np.float32(v)) for v in (1e-3, 1.1e-3, 0.9e-3, 1.05e-3)]
    found = read_runs(write_nvbench_files(tmp_path, samples))
    (run,) = found.runs
    assert run.samples_s == samples
    assert run.timing.median_s == np.median(samples)
    assert run.config.workload == "copy" and run.config.cache == "cold"
    assert run.config.size == {"BlockSize": 256}
    assert run.config.switches == {"T": "F32", "Share": 0.5}
    assert run.config.precision == "" and run.config.block is None
    assert run.verification is None and not run.verified
    assert run.timing.resolution_s is None
    assert run.environment.gpuexplorer is None
    assert run.device.name == "Quadro GV100" and run.device.compute_units == 80
    assert run.throughput.flop_per_s is None
    moved_B = 4.5e11 * 1e-3  # as NVBench says, over the mean
    assert run.throughput.bandwidth_B_per_s == pytest.approx(moved_B / np.median(samples))
    assert [t.read_B for t in run.traffic] == [1048576.0]
    assert run.telemetry.sm_clock_Hz == 1.6e9
    assert run.origin is not None and run.origin.program == "NVBench"
    assert [s.reason for s in found.skipped] == ["NVBench: Not a conversion."]
    assert found.notes == ()


def test_without_samples_the_mean_stands_alone_and_says_so(tmp_path: Path) -> None:
    found = read_runs(write_nvbench_files(tmp_path))
    (run,) = found.runs
    assert run.samples_s == [0.001]
    assert run.timing.ci95_low_s is None and run.timing.stdev_s is None
    assert "the mean of 499 launches" in run.timing.warnings[0]
    assert "1 of 1 states have no samples" in found.notes[0]


def with_batches(folder: Path, *, cold: bool) -> Path:
    """Write a file of NVBench with figures of batched launches, beside the isolated ones or not."""
    path = write_nvbench_files(folder)
    document = json.loads(path.read_text())
    state = document["benchmarks"][0]["states"][0]
    state["summaries"] = [s for s in state["summaries"] if cold or "/cold/" not in s["tag"]] + [
        {"tag": f"nv/batch/{tag}", "data": [{"name": "value", "type": kind, "value": value}]}
        for tag, kind, value in (
            ("sample_size", "int64", "12000"),
            ("time/gpu/mean", "float64", "0.0005"),
            ("bw/global/bytes_per_second", "float64", "9e11"),
        )
    ]
    path.write_text(json.dumps(document))
    return path


def test_batched_launches_that_are_not_taken_are_named(tmp_path: Path) -> None:
    found = read_runs(with_batches(tmp_path, cold=True))
    (run,) = found.runs
    assert run.config.cache == "cold" and run.timing.median_s == 1e-3
    assert run.throughput.bandwidth_B_per_s == 4.5e11, "the mean stands as the median"
    assert any("batched (hot) launches as well, which are not taken" in one for one in found.notes)


def test_batched_launches_are_taken_where_there_are_no_others(tmp_path: Path) -> None:
    found = read_runs(with_batches(tmp_path, cold=False))
    (run,) = found.runs
    assert run.config.cache == "hot" and run.samples_s == [5e-4]
    assert run.timing.method == "NVBench, batched launches timed with CUDA events"
    assert "the mean of 12000 launches" in run.timing.warnings[0]
    assert run.throughput.bandwidth_B_per_s == pytest.approx(9e11)
    assert run.telemetry.sm_clock_Hz is None
    assert len(found.notes) == 1


def test_the_same_file_gives_the_same_ids_and_another_device_others(tmp_path: Path) -> None:
    (first,) = read_runs(write_nvbench_files(tmp_path, [1e-3, 2e-3])).runs
    (again,) = read_runs(write_nvbench_files(tmp_path, [1e-3, 2e-3])).runs
    assert first.id == again.id
    document = nvbench_document()
    document["devices"][0]["name"] = "Another"
    (tmp_path / "bench.json").write_text(json.dumps(document))
    (other,) = read_runs(tmp_path / "bench.json").runs
    assert other.id != first.id


def test_a_sample_file_is_only_looked_for_beside_the_json(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(b"\0" * 8)
    (tmp_path / "here").mkdir()
    for name in ("../secret.bin", "/etc/../secret.bin", "..", "a\0b"):
        document = nvbench_document([1.0, 2.0])
        document["benchmarks"][0]["states"][0]["summaries"][-1]["data"][0]["value"] = name
        path = tmp_path / "here" / "f.json"
        path.write_text(json.dumps(document))
        with pytest.raises(InputError, match=r"name .* cannot be"):
            read_runs(path)
    old = nvbench_document([1.0, 2.0])  # older versions wrote the path from where they were started
    old["benchmarks"][0]["states"][0]["summaries"][-1]["data"][0]["value"] = "out\\f.json-bin/0.bin"
    (tmp_path / "here" / "f.json-bin").mkdir()
    (tmp_path / "here" / "f.json-bin" / "0.bin").write_bytes(np.array([1, 2], "<f4").tobytes())
    (tmp_path / "here" / "f.json").write_text(json.dumps(old))
    assert read_runs(tmp_path / "here" / "f.json").runs[0].samples_s == [1.0, 2.0]


@pytest.mark.parametrize(
    ("size", "content", "words"),
    [
        ("10000000000", b"\0" * 8, "no proper name and size"),
        ("3", b"\0" * 8, "has 8 bytes, and 3 samples take 12"),
        ("2", np.array([1.0, np.nan], "<f4").tobytes(), "not a number"),
        ("2", np.array([1.0, -1.0], "<f4").tobytes(), "negative"),
        ("2", np.array([1.0, np.inf], "<f4").tobytes(), "endless"),
        ("x", b"\0" * 8, "no proper name and size"),
    ],
)
def test_a_sample_file_that_does_not_hold_what_is_claimed(
    tmp_path: Path, size: str, content: bytes, words: str
) -> None:
    document = nvbench_document([1.0, 2.0])
    document["benchmarks"][0]["states"][0]["summaries"][-1]["data"][1]["value"] = size
    (tmp_path / "bench.json").write_text(json.dumps(document))
    (tmp_path / "bench.json-bin").mkdir()
    (tmp_path / "bench.json-bin" / "0.bin").write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_runs(tmp_path / "bench.json")


@pytest.mark.parametrize("value", ["-0.001", "inf", "nan", "fast", {"a": 1}, True])
def test_a_time_that_cannot_be_is_refused(tmp_path: Path, value: object) -> None:
    document = nvbench_document()
    document["benchmarks"][0]["states"][0]["summaries"][2]["data"][0]["value"] = value
    (tmp_path / "f.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="nv/cold/time/gpu/mean of 'copy Device=0 a' is"):
        read_runs(tmp_path / "f.json")


@pytest.mark.parametrize("value", [True, -1, 10**400, "fast", None])
def test_what_is_no_bandwidth_of_a_device_stays_unknown(tmp_path: Path, value: object) -> None:
    document = nvbench_document()
    document["devices"][0] |= {"global_memory_bus_bandwidth": value, "number_of_sms": value}
    (tmp_path / "f.json").write_text(json.dumps(document))
    device = read_runs(tmp_path / "f.json").runs[0].device
    assert device.peak_bandwidth_B_per_s is None and device.compute_units is None
