"""CSV and Parquet tables, and the trace: what stands in them, and what a spreadsheet does."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from gpuexplorer.charts.build import sample_times
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.exchange import chrome_trace
from gpuexplorer.exchange.csv_table import cell, write_run_csv
from gpuexplorer.exchange.formats import format_of, read_runs, write_runs
from gpuexplorer.exchange.table import RUN_COLUMNS, Label, run_row
from tests.support.exchange import made_run
from tests.support.prepared import prepared


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_table_of_runs_has_a_row_for_each_with_what_was_noted(tmp_path: Path) -> None:
    runs = [made_run(i) for i in range(2)]
    labels = {runs[1].id: Label(starred=True, tags=("a", "b"), note="the best, so far")}
    write_run_csv(runs, tmp_path / "runs.csv", labels)
    first, second = rows_of(tmp_path / "runs.csv")
    assert list(first) == list(RUN_COLUMNS)
    assert float(first["median_s"]) == runs[0].timing.median_s
    assert (first["block"], first["verified"], first["power_W"]) == ("16x1x1", "True", "")
    assert first["starred"] == "" and first["note"] == ""
    label = labels[runs[1].id]
    assert (second["starred"], second["note"]) == ("True", label.note)
    assert json.loads(second["tags"]) == list(label.tags)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tags_of_several_words_can_be_told_apart(tmp_path: Path, ending: str) -> None:
    runs, path = [made_run(i) for i in range(3)], tmp_path / f"runs.{ending}"
    tags = ("before the fix", "thesis, chapter 2", 'a "b"; c')
    labels = {runs[0].id: Label(tags=tags), runs[1].id: Label()}
    write_runs(runs, path, table="runs", labels=labels)
    if ending == "csv":
        found = [json.loads(row["tags"]) if row["tags"] else None for row in rows_of(path)]
    else:
        found = pytest.importorskip("pyarrow.parquet").read_table(path)["tags"].to_pylist()
    assert found == [list(tags), [], None]


def test_every_column_of_runs_has_its_type() -> None:
    for name, value in run_row(made_run(), Label()).items():
        assert value is None or isinstance(value, RUN_COLUMNS[name]), name


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_is_a_formula(tmp_path: Path, start: str) -> None:
    words = f"{start}cmd|' /C calc'!A1"
    written = "'" + words.replace("\r", "\n")
    run = made_run(0, variant=words)
    label = Label(note=words, tags=(words,))
    write_run_csv([run], tmp_path / "runs.csv", {run.id: label})
    write_runs([run], tmp_path / "samples.csv")
    (row,) = rows_of(tmp_path / "runs.csv")
    assert row["variant"] == row["note"] == written
    assert json.loads(row["tags"]) == [words]
    assert {row["variant"] for row in rows_of(tmp_path / "samples.csv")} == {written}
    assert cell(-1.5) == -1.5


def test_a_table_of_parquet_is_read_by_others(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    runs = [made_run(0, samples=20), made_run(1, samples=10)]
    write_runs(runs, tmp_path / "samples.parquet")
    table = parquet.read_table(tmp_path / "samples.parquet")
    assert table.column_names[:3] == ["run", "workload", "variant"]
    assert table["duration_s"].to_pylist() == runs[0].samples_s + runs[1].samples_s
    assert table["batch"].to_pylist()[:9] == [0] * 8 + [1]
    write_runs(runs, tmp_path / "runs.parquet", table="runs")
    table = parquet.read_table(tmp_path / "runs.parquet")
    assert table["samples_s"].to_pylist() == [run.samples_s for run in runs]
    assert table["power_W"].to_pylist() == [None, None]


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs([made_run()], tmp_path / "f.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CannotRunHere, match=r"gpuexplorer\[parquet\]"):
        write_runs([made_run()], tmp_path / "g.parquet")
    with pytest.raises(CannotRunHere, match=r"gpuexplorer\[parquet\]"):
        read_runs(tmp_path / "f.parquet")
    assert not (tmp_path / "g.parquet").exists()


def test_a_parquet_file_of_another_program_is_refused(tmp_path: Path) -> None:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    parquet.write_table(arrow.table({"a": [1, 2]}), tmp_path / "f.parquet")
    with pytest.raises(InputError, match="of another program"):
        read_runs(tmp_path / "f.parquet")


def test_a_table_that_lost_rows_is_refused(tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    write_runs([made_run(samples=20)], tmp_path / "f.parquet")
    table = parquet.read_table(tmp_path / "f.parquet")
    parquet.write_table(table.slice(0, 12), tmp_path / "cut.parquet")
    with pytest.raises(InputError, match="says 20 samples and holds 12"):
        read_runs(tmp_path / "cut.parquet")
    parquet.write_table(table.slice(3), tmp_path / "late.parquet")
    with pytest.raises(InputError, match="out of order or incomplete"):
        read_runs(tmp_path / "late.parquet")


def test_a_trace_has_processes_phases_batches_launches_and_counters(tmp_path: Path) -> None:
    run = made_run(0, samples=40)
    batches = [msgspec.structs.replace(b, sm_clock_Hz=1.5e9, power_W=99.0) for b in run.batches]
    run = msgspec.structs.replace(run, batches=batches)
    write_runs([run, made_run(1)], tmp_path / "f.trace.json")
    document = json.loads((tmp_path / "f.trace.json").read_text())
    events = [e for e in document["traceEvents"] if e["pid"] == 1]
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and "name" in e["args"]}
    assert names == {"matmul naive N=512 16×1×1 fp32 on Example CPU", "Phases", "Batches",
                     "Launches"}  # fmt: skip
    spans = [e for e in events if e["ph"] == "X"]
    phases = {e["name"]: e for e in spans if e["cat"] == "phases"}
    assert phases["allocate"]["dur"] == pytest.approx(run.phases_s.allocate * 1e6)  # type: ignore[operator]
    assert phases["host to device"]["ts"] == pytest.approx(phases["allocate"]["dur"])
    launches = [e for e in spans if e["cat"] == "launches"]
    assert [e["dur"] for e in launches] == pytest.approx([s * 1e6 for s in run.samples_s])
    begin = phases["kernel"]["ts"]
    assert launches[8]["ts"] - begin == pytest.approx(
        (batches[1].start_s - batches[0].start_s) * 1e6
    )
    assert sum(e["dur"] for e in spans if e["cat"] == "batches") == pytest.approx(
        sum(run.samples_s) * 1e6
    )
    assert phases["device to host"]["ts"] >= launches[-1]["ts"] + launches[-1]["dur"] - 1e-6
    counters = {e["name"]: e["args"] for e in events if e["ph"] == "C"}
    assert counters == {"SM clock (MHz)": {"MHz": 1500.0}, "power (W)": {"W": 99.0}}
    assert all(e["ts"] >= 0 for e in document["traceEvents"] if "ts" in e)
    assert {e["pid"] for e in document["traceEvents"]} == {1, 2}


def test_a_long_run_is_drawn_in_part_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome_trace, "MOST_LAUNCHES", 10)
    events = list(chrome_trace.trace_events(made_run(0, samples=40), 1))
    assert sum(e.get("cat") == "launches" for e in events) == 10
    (told,) = (e["args"] for e in events if e["ph"] == "i")
    assert (told["launches"], told["launches drawn"]) == (40, 10)


def test_samples_that_are_means_of_several_launches_last_as_long_as_those(tmp_path: Path) -> None:
    record = RunRecord(prepared())
    for number in range(2):
        record.add(
            SampleBatch(
                seconds=np.full(5, 4e-6).astype("<f8").tobytes(),
                counts=(5,),
                starts_ns=(number * 10**6,),
                launches=(40,),
            )
        )
    record.end("time")
    run = record.result()
    apart_s = 40 * 4e-6
    events = list(chrome_trace.trace_events(run, 1))
    (told,) = (e["args"] for e in events if e["ph"] == "i")
    assert (told["launches"], told["launches drawn"]) == (400, 400)
    launches = [e for e in events if e.get("cat") == "launches"]
    assert [e["dur"] for e in launches] == pytest.approx([apart_s * 1e6] * 10)
    assert launches[1]["ts"] - launches[0]["ts"] == pytest.approx(apart_s * 1e6)
    assert launches[5]["ts"] - launches[0]["ts"] == pytest.approx(1e3)
    assert {(e["name"], e["args"]["launches"]) for e in launches} == {("40 launches", 40)}
    batches = [e for e in events if e.get("cat") == "batches"]
    assert [e["dur"] for e in batches] == pytest.approx([5 * apart_s * 1e6] * 2)
    assert [e["args"]["launches"] for e in batches] == [200, 200]
    assert sample_times(run)[:6] == pytest.approx([*(apart_s * i for i in range(5)), 1e-3])
    write_runs([run], tmp_path / "f.nvbench.json")
    document = json.loads((tmp_path / "f.nvbench.json").read_text())
    (state,) = document["benchmarks"][0]["states"]
    (wall,) = (s for s in state["summaries"] if s["tag"] == "nv/cold/walltime")
    assert float(wall["data"][0]["value"]) == pytest.approx(1e-3 + 5 * apart_s)


def test_a_run_whose_batches_are_not_known_is_one_batch() -> None:
    run = msgspec.structs.replace(made_run(0, samples=5), batches=[])
    spans = [e for e in chrome_trace.trace_events(run, 1) if e.get("cat") == "batches"]
    assert [e["dur"] for e in spans] == pytest.approx([np.sum(run.samples_s) * 1e6])


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.json", "json"), ("a.nvbench.json", "nvbench"), ("A.TRACE.JSON", "trace"),
     ("a.pq", "parquet"), ("a.b.csv", "csv")],
)  # fmt: skip
def test_a_name_says_its_format(name: str, expected: str) -> None:
    assert format_of(Path(name)) == expected


def test_a_name_that_says_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot tell a format"):
        format_of(Path("a.txt"))
    with pytest.raises(InputError, match="there are no runs"):
        write_runs([], tmp_path / "a.json")
