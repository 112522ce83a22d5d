"""export, import and report as a user runs them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE as DATA_VARIABLE
from gpuexplorer.cli import main
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sweep import sweep_json
from gpuexplorer.exchange.document import run_json, runs_json
from gpuexplorer.exchange.formats import read_runs
from gpuexplorer.history.store import Store
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.search.space_sweep import SpaceSweep
from gpuexplorer.workloads.loader import load
from tests.search.engine import MadeEngine
from tests.support.cli import run_cli
from tests.support.exchange import cache_text, made_run, made_sweep
from tests.support.problems import device


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the history of the test apart."""
    folder = tmp_path / "data"
    monkeypatch.setenv(DATA_VARIABLE, str(folder))
    return folder


def stored(*runs: RunResult) -> None:
    with Store.open() as store:
        store.add_all(runs)
        store.note(runs[0].id, "=1+1")


@pytest.fixture(autouse=True)
def here(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run commands in the test's folder, in this process."""
    monkeypatch.chdir(tmp_path)


def test_a_stored_run_goes_to_every_format_and_comes_back(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = made_run(1), made_run(2, samples=40)
    stored(first, second)
    for name in ("run.json", "run.nvbench.json", "run.parquet", "run.trace.json", "page.html"):
        assert main(["export", first.id[:32], second.id, name]) == 0
        out, said = capfd.readouterr()
        assert f"wrote {name}" in said and out == ""
    for name in ("run.json", "run.nvbench.json", "run.parquet"):
        assert {r.id for r in read_runs(tmp_path / name).runs} == {first.id, second.id}
    assert main(["export", first.id, "t.csv", "--table", "runs"]) == 0
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert (row["run"], row["note"]) == (first.id, "'=1+1")
    assert main(["export", first.id, "odd.txt", "--format", "json"]) == 0
    assert read_runs(tmp_path / "odd.txt").runs == (first,)


def test_files_come_in_each_whole_or_not_at_all(data: Path, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(runs_json([made_run(1), made_run(2)]))
    (tmp_path / "b.json").write_text("{")
    (tmp_path / "c.json").write_text(cache_text())
    done = run_cli("import", "a.json", "b.json", "c.json", "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "gpuexplorer: error: b.json cannot be read as JSON" in done.stderr
    document = json.loads(done.stdout)
    assert [f["file"] for f in document["files"]] == ["a.json", "c.json"]
    assert [len(f["added"]) for f in document["files"]] == [2, 3]
    assert len(document["files"][1]["skipped"]) == 2
    done = run_cli("import", "a.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0 runs imported" in done.stdout
    assert "2 were in the history already" in done.stdout
    with Store.open() as store:
        assert store.count() == 5


def test_a_group_is_exported_and_reported_by_its_id(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_bytes(sweep_json(made_sweep()))
    assert main(["import", "sweep.json"]) == 0
    with Store.open() as store:
        (group,) = store.groups()
    assert main(["report", group.id[:10], "sweep.html"]) == 0
    page = (tmp_path / "sweep.html").read_text(encoding="utf-8")
    assert "too large: 1" in page and "<svg" in page and "There is no chart" not in page
    assert main(["export", group.id, "runs.json"]) == 0
    assert len(read_runs(tmp_path / "runs.json").runs) == 2


@pytest.mark.parametrize("command", ["report", "export"])
def test_a_beginning_that_several_have_is_refused_with_their_names(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first that was found was taken."""
    first, second, run = (f"abcdef012{n}{n * 22}" for n in "345")
    with Store.open() as store:
        store.add_group("sweep", {}, [made_run(1)], group=first)
        store.add_group("sweep", {}, [made_run(2)], group=second)
        store.add(msgspec.structs.replace(made_run(3), id=run))
    file = tmp_path / ("out.html" if command == "report" else "out.json")
    assert main([command, "abcdef012", str(file)]) == 2
    said = capsys.readouterr().err
    assert "more than one entry of the history begins with 'abcdef012'" in said
    named = [one for one in (first, second, run) if one[:10] in said]
    assert len(named) == 2 and not file.exists()
    for name in (first[:10], second[:10], run[:10]):
        assert main([command, name, str(file)]) == 0
        file.unlink()
    with Store.open() as store:
        store.add(msgspec.structs.replace(made_run(4), id=f"{first[:10]}9{'0' * 21}"))
    assert main([command, first[:10], str(file)]) == 2, "a group and a run begin so"
    assert main([command, first, str(file)]) == 0


def test_the_report_of_a_sweep_that_was_stopped_says_how_much_of_it_was_measured(
    tmp_path: Path,
) -> None:
    axes = (Axis("block.x", (1, 64, 8)), Axis("block.y", (1, 4, 64)))
    space = Space(RunRequest(workload="matmul", device="cpu"), axes)
    devices = DeviceList(devices=(device("opencl:0", threads=1),))
    with Store.open() as store:
        sweep = SpaceSweep(space, load()["matmul"], devices, Measuring(5), store=store)

        def launch_s(config: RunConfig) -> float:
            if sum(not cell.waiting for cell in sweep.cells) == 5:  # with the one that cannot run
                raise KeyboardInterrupt
            return 1e-3

        with pytest.raises(KeyboardInterrupt):
            sweep.run(MadeEngine(launch_s))
        (group,) = store.groups()
    assert main(["report", group.id, "sweep.html"]) == 0
    page = (tmp_path / "sweep.html").read_text(encoding="utf-8")
    assert "4 of 9 configurations were measured" in page
    assert "1 could not run or were skipped (hatched)" in page
    _, without = page.split("Without a result")
    assert "block 64×64 has 4096 threads" in without
    assert "block.x = 64, block.y = 64" in without


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("export", "nothing", "x.json"), "the history has no run 'nothing'", 2),
        (("export", "run.json", "x.txt"), "cannot tell a format from 'x.txt'", 2),
        (("export", "run.json", "-"), "an export goes to a file", 2),
        (("export", "run.json", "missing/x.json"), "no such folder", 2),
        (("export", "none.json", "x.json"), "there is no such file", 2),
        (("report", "run.json", "x.pdf"), "end it in .html", 2),
        (("report", "run.json", "missing/x.html"), "no such folder", 2),
        (("import", "none.json"), "there is no such file", 2),
        (("import", "table.csv"), "a table of samples as CSV", 2),
        (("import", "."), "it is a folder", 2),
    ],
)
def test_refusals_are_one_sentence_and_leave_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...], said: str, code: int
) -> None:
    (tmp_path / "run.json").write_bytes(run_json(made_run()))
    assert main(["export", "run.json", "table.csv"]) == 0
    before = {p.name for p in tmp_path.iterdir()} | {"data"}
    capfd.readouterr()
    assert main(list(words)) == code
    out, told = capfd.readouterr()
    assert told.count("\n") == 1 and told.startswith("gpuexplorer: error: ") and said in told
    assert out == ""
    assert {p.name for p in tmp_path.iterdir()} | {"data"} == before
