"""Tables of many runs and samples: time that grows with their length, and little memory."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import msgspec

from gpuexplorer.exchange.csv_table import write_csv
from gpuexplorer.exchange.formats import read_runs, write_runs
from tests.support.exchange import made_run

SAMPLES = 100
MANY = 200_000


def least_s(path: Path, runs: int) -> float:
    """Return the least processor time of reading a table of samples of so many runs."""
    write_runs([made_run(number, SAMPLES) for number in range(runs)], path, "parquet")
    took = []
    for _ in range(2):
        began = time.process_time()
        assert len(read_runs(path).runs) == runs
        took.append(time.process_time() - began)
    return min(took)


def test_four_times_as_many_runs_take_about_four_times_as_long(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    few = least_s(path, 300)
    assert least_s(path, 1200) < 7 * few


def test_rows_of_several_runs_may_stand_among_each_other(tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    path = tmp_path / "runs.parquet"
    runs = [made_run(0, 3), made_run(1, 5), made_run(2, 1)]
    write_runs(runs, path, "parquet")
    table = parquet.read_table(path)
    parquet.write_table(table.take([3, 0, 4, 8, 1, 5, 6, 2, 7]), path)
    assert read_runs(path).runs == tuple(runs)


def test_the_rows_of_a_long_run_are_made_as_they_are_written(tmp_path: Path) -> None:
    run = made_run(0, MANY)
    batches = [msgspec.structs.replace(run.batches[0], samples=MANY // 10)] * 10
    run = msgspec.structs.replace(run, batches=batches)
    path = tmp_path / "run.csv"
    tracemalloc.start()
    try:
        write_csv([run], path)
        _, most_B = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_B < 35 * MANY
    rows = path.read_text(encoding="utf-8").splitlines()[1:]
    ends = [row.split(",")[-5:] for row in rows]
    assert [int(sample) for *_, sample, _, _ in ends] == list(range(MANY))
    assert [float(duration) for *_, duration, _ in ends] == run.samples_s
    assert [int(batch) for batch, *_ in ends] == [i // (MANY // 10) for i in range(MANY)]
