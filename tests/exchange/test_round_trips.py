"""What is written is read back the same, every sample bit for bit."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuexplorer.core.compared import comparison_json
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.statistics import summarize
from gpuexplorer.core.sweep import sweep_json
from gpuexplorer.exchange.formats import Table, read_runs, write_runs
from tests.support.exchange import made_comparison, made_run, made_sweep

TIMES = st.lists(
    st.floats(min_value=0.0, max_value=1e6, allow_nan=False, allow_subnormal=True),
    min_size=1, max_size=40,
)  # fmt: skip
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
FILES: list[tuple[str, Table]] = [
    ("runs.json", "samples"),
    ("runs.nvbench.json", "samples"),
    ("samples.parquet", "samples"),
    ("runs.parquet", "runs"),
]


def run_with(number: int, samples_s: list[float], words: str) -> RunResult:
    """Return a run with these samples, and words where a user's own may stand."""
    made = made_run(number, workload=words or "w", variant=words)
    summary = summarize(np.asarray(samples_s))
    timing = msgspec.structs.replace(
        made.timing, samples=len(samples_s), median_s=summary.median_s, mean_s=summary.mean_s,
        min_s=summary.min_s, p05_s=summary.p05_s, p95_s=summary.p95_s, stdev_s=summary.stdev_s,
        ci95_low_s=summary.ci95_low_s, ci95_high_s=summary.ci95_high_s, warnings=(words,),
    )  # fmt: skip
    return msgspec.structs.replace(made, samples_s=samples_s, timing=timing, batches=[])


def bits(result: RunResult) -> bytes:
    """Return the samples as bytes, so that 0.0 and -0.0 differ."""
    return np.asarray(result.samples_s, dtype="<f8").tobytes()


@pytest.mark.parametrize(("name", "table"), FILES)
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(TIMES, WORDS), min_size=1, max_size=3))
def test_runs_come_back_equal_and_bit_for_bit(
    name: str, table: Table, contents: list[tuple[list[float], str]]
) -> None:
    runs = [run_with(i, samples, words) for i, (samples, words) in enumerate(contents)]
    with tempfile.TemporaryDirectory() as folder:
        write_runs(runs, Path(folder) / name, table=table)
        found = read_runs(Path(folder) / name)
    by_id = {run.id: run for run in found.runs}
    assert len(by_id) == len(runs)
    for run in runs:
        assert by_id[run.id] == run
        assert bits(by_id[run.id]) == bits(run)


@pytest.mark.parametrize("name", ["run.json", "run.nvbench.json", "run.parquet"])
def test_a_run_with_batches_and_everything_else_comes_back(tmp_path: Path, name: str) -> None:
    run = made_run(1, samples=100)
    write_runs([run], tmp_path / name)
    assert read_runs(tmp_path / name).runs == (run,)


def test_a_sweep_gives_its_runs_and_why_others_are_missing(tmp_path: Path) -> None:
    sweep = made_sweep()
    (tmp_path / "sweep.json").write_bytes(sweep_json(sweep))
    found = read_runs(tmp_path / "sweep.json")
    assert list(found.runs) == sweep.measured
    assert [(s.values, s.reason) for s in found.skipped] == [({"block": [64, 64, 1]}, "too large")]
    assert found.axes == sweep.axes
    assert all(b'"values"' not in document for document in found.documents)


def test_a_comparison_gives_its_runs_and_keeps_its_verdicts(tmp_path: Path) -> None:
    comparison = made_comparison()
    (tmp_path / "c.json").write_bytes(comparison_json(comparison))
    found = read_runs(tmp_path / "c.json")
    assert list(found.runs) == [one.run for one in comparison.contestants]
    assert found.rest is not None
    assert [c["verdict"] for c in found.rest["contestants"]] == [None, "slower"]
    assert [c["run"] for c in found.rest["contestants"]] == [run.id for run in found.runs]


def test_a_contestant_that_is_no_run_is_refused(tmp_path: Path) -> None:
    document = msgspec.json.decode(comparison_json(made_comparison()))
    document["contestants"][0]["run"] = {"skipped": "x"}
    (tmp_path / "c.json").write_bytes(msgspec.json.encode(document))
    with pytest.raises(InputError, match="cannot be read as a run of GPU Explorer"):
        read_runs(tmp_path / "c.json")


def test_what_a_newer_program_says_of_a_run_is_kept(tmp_path: Path) -> None:
    write_runs([made_run()], tmp_path / "run.json")
    text = (tmp_path / "run.json").read_text().replace('"id"', '"colour": "red",\n  "id"', 1)
    (tmp_path / "run.json").write_text(text)
    (document,) = read_runs(tmp_path / "run.json").documents
    assert msgspec.json.decode(document)["colour"] == "red"
