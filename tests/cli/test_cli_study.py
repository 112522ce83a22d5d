"""``gpuexplorer study`` as a user meets it, on the real engine."""

from __future__ import annotations

import csv
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.core.studies import PrecisionStudy, SpeedupStudy, Study, with_runs
from gpuexplorer.history.store import Query, Store
from tests.support.cli import assert_one_sentence, cli_command, cli_environment, run_cli

QUICK = ("--rounds", "6", "--seconds", "0.06", "--samples", "60")


def document(text: str) -> Study:
    return msgspec.json.decode(text.encode(), type=Study)  # type: ignore[arg-type]


def test_two_devices_over_sizes_with_files_and_a_group_in_the_history(tmp_path: Path) -> None:
    names = ("h.sqlite", "s.json", "s.csv", "s.svg")
    history, file, table, plot = (tmp_path / name for name in names)
    done = run_cli(
        "study", "speedup", "matmul", "--devices", "opencl:0,numpy:cpu", "--size", "16:64:*2",
        *QUICK, "--json", file, "--csv", table, "--plot", plot, "--history", history,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    study = document(file.read_text())
    assert isinstance(study, SpeedupStudy)
    assert (study.first.variant, study.second.variant) == ("naive", "numpy")
    assert [point.value for point in study.points] == [16, 32, 64]
    for point in study.points:
        assert point.first and point.second and point.second_with, point.skipped
        assert point.second_with.time_s > point.second.time_s  # copies take time
        assert point.speedup is not None and point.speedup.pairs == 6
        assert all(run.verified for run in study.runs)
    assert study.break_even is not None and study.break_even.words in done.stdout.replace("\n", " ")
    assert "numpy:cpu (numpy) with transfers" in plot.read_text() or "<svg" in plot.read_text()
    rows = list(csv.DictReader(table.open()))
    assert len(rows) == 9 and {row["transfers"] for row in rows} == {"True", "False"}
    with Store.open(history) as store:
        (group,) = store.groups("study")
        assert store.count(Query(group=group.id)) == 9
        again = with_runs(group.document, [])
        assert isinstance(again, SpeedupStudy) and again.points == study.points
    page = tmp_path / "study.html"
    done = run_cli("report", group.id, page, "--history", history, cwd=tmp_path)
    if done.returncode == 2:  # report takes the history from the environment
        done = run_cli(
            "report", group.id, page, cwd=tmp_path,
            environment={"GPUEXPLORER_HISTORY_URL": str(history)},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Break-even" in page.read_text()


def test_precisions_of_a_kernel_of_ones_own(tmp_path: Path) -> None:
    done = run_cli(
        "study", "precision", "matmul", "--variant", "naive", "--size", "48", *QUICK,
        "--no-history", "--json", "-", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    study = document(done.stdout)
    assert isinstance(study, PrecisionStudy)
    found = {p.precision: p for p in study.points if p.measured is not None}
    assert set(found) >= {"fp64", "fp32"}
    errors = {name: study.error(point) or 0.0 for name, point in found.items()}
    assert errors["fp64"] < 1e-14 < errors["fp32"] < 1e-5
    skipped = {p.precision: p.skipped for p in study.points if p.skipped}
    assert "bf16" in skipped and all(skipped.values())


def test_the_table_says_what_was_measured(tmp_path: Path) -> None:
    done = run_cli(
        "study", "precision", "matmul", "--variant", "numpy", "--size", "48", *QUICK,
        "--precision", "fp64,fp32", "--no-history", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "speed against accuracy" in done.stdout and "on the Pareto front" in done.stdout
    assert "Measured in 6 turns each" in done.stdout.replace("\n", " ")


def test_an_interrupt_keeps_the_sizes_that_were_done(tmp_path: Path) -> None:
    command = cli_command(
        "study", "speedup", "matmul", "--devices", "opencl:0,numpy:cpu", "--size", "16:512:+4",
        "--json", "part.json", "--no-history", "-v",
    )  # fmt: skip
    with subprocess.Popen(
        command, cwd=tmp_path, env=cli_environment(), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        said = ""
        for line in process.stderr:  # a plain line comes after five seconds
            said += line
            if line.startswith("One device against another: "):
                break
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said + rest
    assert "stopped after 12 rounds" in rest
    study = document((tmp_path / "part.json").read_text())
    assert isinstance(study, SpeedupStudy) and study.stopped_by == "user"
    assert study.points[0].speedup is not None
    assert study.points[-1].skipped["first"] == "it was stopped before"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("speedup", "matmul"), 3, "there is no GPU here"),
        (("speedup", "matmul", "--devices", "opencl:0"), 2, "name two"),
        (("speedup", "matmul", "--size", "N=1,2,M=3,4"), 2, "vary one size alone"),
        (("switches", "matmul", "--variant", "naive"), 2, "no switch to turn"),
        (("precision", "matmul", "--precision", "fp31"), 2, "no precision 'fp31'"),
        (("precision", "nothing"), 2, "nothing"),
        (("prezision", "matmul"), 2, "prezision"),
        ((), 2, "STUDY"),
        (("precision", "matmul", "--plot", "x.gif"), 2, ".gif"),
    ],
)
def test_refusals_are_one_sentence(
    arguments: tuple[str, ...], code: int, said: str, tmp_path: Path, has_gpu: bool
) -> None:
    if code == 3 and has_gpu:
        pytest.skip("there is a GPU here")
    done = run_cli("study", *arguments, cwd=tmp_path)
    assert said in assert_one_sentence(done, code)


@pytest.fixture(scope="module")
def has_gpu() -> bool:
    import gpuexplorer

    return any(device.kind == "gpu" for device in gpuexplorer.devices())
