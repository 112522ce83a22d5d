"""No file that is given to others says where a user's kernels and engines lie."""

from __future__ import annotations

import base64
import gzip
import re
import zlib
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.core.compared import comparison_json
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sweep import sweep_json
from gpuexplorer.exchange.formats import read_runs, write_runs
from gpuexplorer.report.page import Report, report_page
from tests.support.exchange import made_comparison, made_run, made_sweep

PRIVATE = "/home/ada/secret"
KERNELS = f"{PRIVATE}/mine"


def own(run: RunResult) -> RunResult:
    """Return a run of a user's own kernels in an engine of theirs."""
    environment = msgspec.structs.replace(
        run.environment, kernels=KERNELS, engine=f"{PRIVATE}/envs/torch/bin/python"
    )
    return msgspec.structs.replace(run, environment=environment)


def unpacked(data: bytes) -> bytes:
    """Return a file's bytes with everything that stands packed in it beside them."""
    whole = data
    for packed in re.findall(rb"[A-Za-z0-9+/]{100,}={0,2}", data):
        for unpack in (zlib.decompress, gzip.decompress):
            try:
                whole += unpack(base64.b64decode(packed))
            except (ValueError, OSError, EOFError, zlib.error):
                continue
    return whole


@pytest.mark.parametrize(
    "name",
    ["run.json", "run.csv", "run.parquet", "run.nvbench.json", "run.trace.json"],
)
@pytest.mark.parametrize("many", [1, 2])
def test_runs_are_exported_without_places(name: str, many: int, tmp_path: Path) -> None:
    write_runs([own(made_run(i)) for i in range(many)], tmp_path / name)
    data = unpacked((tmp_path / name).read_bytes())
    assert PRIVATE.encode() not in data
    if name in ("run.json", "run.parquet", "run.nvbench.json"):
        found = read_runs(tmp_path / name).runs
        assert {(r.environment.kernels, r.environment.engine) for r in found} == {("mine", "torch")}


def test_a_page_repeats_a_run_by_the_folders_name() -> None:
    page = report_page(Report(runs=[own(made_run())]))
    assert PRIVATE not in page
    assert "--kernels mine --python torch" in page


def test_sweeps_and_comparisons_are_written_without_places() -> None:
    sweep = made_sweep()
    runs = [
        msgspec.structs.replace(one, run=own(one.run))
        if one.run is not None
        else msgspec.structs.replace(one, skipped=f"{KERNELS}/workload.toml: no block is 64x64")
        for one in sweep.runs
    ]
    data = sweep_json(msgspec.structs.replace(sweep, runs=runs))
    assert PRIVATE.encode() not in data and b"mine/workload.toml: no block" in data
    comparison = made_comparison()
    first, *others = comparison.contestants
    contestants = [msgspec.structs.replace(first, run=own(first.run)), *others]
    data = comparison_json(msgspec.structs.replace(comparison, contestants=contestants))
    assert PRIVATE.encode() not in data and b'"kernels":"mine"' in data
