"""``gpuexplorer study`` as a user meets it, on the real engine."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any, Self

import pytest

from gpuexplorer.cli import main
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.store import Query, Store
from gpuexplorer.studies import decode, with_runs
from gpuexplorer.studies.precision import PrecisionStudy
from gpuexplorer.studies.speedup import SpeedupStudy
from tests.support.cli import cli_command, run_cli
from tests.support.killed import Growing, to_be_killed, wait_for
from tests.support.studies import StudyMachine, cpu, devices, gpu

QUICK = ("--rounds", "6", "--seconds", "0.06", "--samples", "60")


def test_two_devices_over_sizes_with_files_and_a_group_in_the_history(tmp_path: Path) -> None:
    names = ("h.sqlite", "s.json", "s.csv", "s.svg")
    history, file, table, plot = (tmp_path / name for name in names)
    done = run_cli(
        "study", "speedup", "matmul", "--devices", "opencl:0,numpy:cpu", "--size", "16:64:*2",
        *QUICK, "--json", file, "--csv", table, "--plot", plot, "--history", history,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    study = decode(file.read_text())
    assert isinstance(study, SpeedupStudy)
    assert (study.first.variant, study.second.variant) == ("naive", "numpy")
    assert [point.value for point in study.points] == [16, 32, 64]
    for point in study.points:
        assert point.first and point.second and point.second_with, point.skipped
        assert point.second_with.time_s > point.second.time_s  # copies take time
        assert point.speedup is not None and point.speedup.pairs == 6
        assert all(run.verified for run in study.runs)
    assert study.break_even is not None and study.break_even.words in done.stdout.replace("\n", " ")
    assert "numpy:cpu (numpy), with transfers" in plot.read_text() or "<svg" in plot.read_text()
    rows = list(csv.DictReader(table.open()))
    assert len(rows) == 9 and {row["transfers"] for row in rows} == {"True", "False"}
    with Store.open(history) as store:
        (group,) = store.groups("study")
        assert store.count(Query(group=group.id)) == 9
        again = with_runs(group.document, [])
        assert isinstance(again, SpeedupStudy) and again.points == study.points
    page = tmp_path / "study.html"
    done = run_cli(
        "report", group.id, page, cwd=tmp_path,
        environment={"GPUEXPLORER_HISTORY_URL": str(history)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Break-even" in page.read_text()


def test_precisions_of_a_kernel_of_ones_own(tmp_path: Path) -> None:
    done = run_cli(
        "study", "precision", "matmul", "--variant", "naive", "--size", "48", *QUICK,
        "--precision", "fp64,fp32,bf16,tf32", "--no-history", "--json", "lab.json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    study = decode((tmp_path / "lab.json").read_text())
    assert isinstance(study, PrecisionStudy)
    found = {p.precision: p for p in study.points if p.measured is not None}
    assert set(found) == {"fp64", "fp32", "bf16"}
    errors = {name: study.error(point) or 0.0 for name, point in found.items()}
    assert errors["fp64"] < 1e-14 < errors["fp32"] < 1e-5 < errors["bf16"]
    said = " ".join(done.stdout.split())
    assert "speed against accuracy" in said and "on the Pareto front" in said
    assert "Measured in 6 turns each" in said and "has no precision 'tf32'" in said


class Made:
    """Stands where the engines do; ``interrupt`` is the run in which Ctrl-C is heard."""

    devices = devices(cpu(), gpu())
    interrupt: int | None = None

    def __init__(self, *_: object) -> None:
        self._machine = StudyMachine(lambda config: 1e-4)
        self._runs = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def measure(self, *arguments: Any, **choices: Any) -> RunRecord:
        self._runs += 1
        if self._runs == self.interrupt:
            raise KeyboardInterrupt
        return self._machine.measure(*arguments, **choices)


def test_an_interrupt_keeps_the_sizes_that_were_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gpuexplorer.cli.study.Several", Made)
    monkeypatch.setattr(Made, "interrupt", 26)  # in the middle of the second size
    file = tmp_path / "part.json"
    code = main(
        ["study", "speedup", "matmul", "--size", "16:64:*2", "--rounds", "6", "--json", str(file),
         "--no-history"]
    )  # fmt: skip
    assert code == 130
    assert "stopped after 6 rounds" in capfd.readouterr().err
    study = decode(file.read_text())
    assert isinstance(study, SpeedupStudy) and study.stopped_by == "user"
    assert study.points[0].speedup is not None
    assert study.points[2].skipped["first"] == "it was stopped before"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("speedup", "matmul"), 3, "there is no GPU here"),
        (("speedup", "matmul", "--devices", "opencl:0"), 2, "name two"),
        (("speedup", "matmul", "--size", "N=1,2,M=3,4"), 2, "vary one size alone"),
        (("switches", "matmul", "--variant", "naive"), 2, "no switch to turn"),
        (("precision", "matmul", "--precision", "fp31"), 2, "no precision 'fp31'"),
        (("precision", "nothing"), 2, "nothing"),
        (("precision", "attention", "--varient", "torch"), 2, "did you mean '--variant'"),
        (("prezision", "matmul"), 2, "prezision"),
        (("scaling", "matmul", "--include-transfers"), 2, "unknown argument '--include-transfers'"),
        (("ladder", "matmul", "--include-transfers"), 2, "unknown argument '--include-transfers'"),
        (("speedup", "matmul", "--include-transfers"), 2, "unknown argument '--include-transfers'"),
        ((), 2, "STUDY"),
        (("precision", "matmul", "--plot", "x.gif"), 2, ".gif"),
    ],
)
def test_refusals_are_one_sentence(
    arguments: tuple[str, ...],
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("gpuexplorer.cli.study.Several", Made)
    monkeypatch.setattr(Made, "devices", devices(cpu()))
    assert main(["study", *arguments]) == code
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("gpuexplorer: error: ") and err.count("\n") == 1
    assert said in err


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
def test_a_study_that_is_killed_has_its_rounds_in_the_history(tmp_path: Path) -> None:
    history, told = tmp_path / "history.sqlite", tmp_path / "told.txt"
    words = (
        "scaling", "matmul", "--variants", "naive,tiled", "--size", "16", "--rounds", "100000",
        "--seconds", "3000", "--history", history,
    )  # fmt: skip
    growing = Growing(history, "study")
    with to_be_killed(cli_command("study", *words), told) as child:
        wait_for(growing, child, told)
    group, ids = growing.check()
    assert with_runs(group.document, []).rounds >= 1 and len(ids) == 2
    done = run_cli("report", group.id[:8], "page.html", "--history", history, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Times over sizes" in (tmp_path / "page.html").read_text()
