"""What was measured is shown, written and kept, whatever fails afterwards, whoever reads it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpuexplorer.cli.run
from gpuexplorer.analysis.advice.situation import Situation
from gpuexplorer.cli import EXIT_BROKEN_PIPE, main
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.core.errors import InputError
from gpuexplorer.exchange.document import run_json
from gpuexplorer.history.store import Store
from tests.support.cli import run_cli
from tests.support.kernels import RIGHT_BODY, TWICE, VECTOR_MANIFEST, write_folder
from tests.support.results import made_result

HISTORY = "GPUEXPLORER_HISTORY_URL"
QUICK = ("matmul", "--size", "32", "--seconds", "0.05")
OUTPUTS = ("--json", "out.json", "--csv", "out.csv", "--plot", "out.png")


def told(stderr: str) -> list[str]:
    """Return what was said of the work; on a busy machine lines of progress stand between."""
    return [line for line in stderr.splitlines() if line.startswith(("gpuexplorer: ", "wrote "))]


def write_switched(root: Path) -> Path:
    """Write a workload with a tunable that switches something on: 0 is one of its values."""
    manifest = VECTOR_MANIFEST.format(name="switched").replace(
        "[[variants.plain.launch]]",
        "[variants.plain.tunables.UNROLL]\nvalues = [0, 1, -1]\n\n[[variants.plain.launch]]",
    )
    return write_folder(root / "switched", manifest, TWICE.format(body=RIGHT_BODY))


@pytest.mark.parametrize("value", ["0", "-1"])
def test_a_tunable_of_zero_ends_no_run(value: str, tmp_path: Path) -> None:
    done = run_cli(
        "run", "switched", "--kernels", write_switched(tmp_path), "--set", f"UNROLL={value}",
        "--seconds", "0.05", cwd=tmp_path, environment={HISTORY: str(tmp_path / "h.sqlite")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert told(done.stderr) == []
    assert f"UNROLL = {value}" in done.stdout and "verified" in done.stdout
    with Store.open_to_read(tmp_path / "h.sqlite") as store:
        assert store.count() == 1


def test_advice_and_a_chart_that_fail_take_nothing_else_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(*situation: Situation) -> None:
        raise RecursionError("a rule went wrong")

    monkeypatch.setattr(gpuexplorer.cli.run, "advise", fails)
    monkeypatch.setattr(gpuexplorer.cli.run, "_draw", fails)
    monkeypatch.setenv(HISTORY, str(tmp_path / "h.sqlite"))
    monkeypatch.chdir(tmp_path)
    assert main(["run", *QUICK, *OUTPUTS]) == 1
    out, said = capfd.readouterr()
    assert "verified" in out
    advice, chart, *written = told(said)
    assert "warning: there is no advice: internal error: RecursionError: a rule" in advice
    assert "error: internal error: RecursionError: a rule went wrong" in chart
    assert written == ["wrote out.json", "wrote out.csv"]
    assert sorted(os.listdir(tmp_path)) == ["h.sqlite", "out.csv", "out.json"]
    with Store.open_to_read(tmp_path / "h.sqlite") as store:
        assert store.count() == 1


def test_a_history_that_fails_takes_nothing_else_with_it(tmp_path: Path) -> None:
    (tmp_path / "h.sqlite").write_bytes(b"no database at all" * 100)
    done = run_cli(
        "run", *QUICK, *OUTPUTS, cwd=tmp_path, environment={HISTORY: str(tmp_path / "h.sqlite")}
    )
    assert done.returncode == 0
    assert "verified" in done.stdout
    warning, *written = told(done.stderr)
    assert warning.startswith("gpuexplorer: warning: the run is not kept: the history in ")
    assert written == ["wrote out.json", "wrote out.csv", "wrote out.png"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_file_that_cannot_be_written_takes_no_other_with_it(tmp_path: Path) -> None:
    done = run_cli(
        "run", *QUICK, "--json", "/dev/full", "--csv", "out.csv", "--plot", "out.png",
        cwd=tmp_path, environment={HISTORY: str(tmp_path / "h.sqlite")},
    )  # fmt: skip
    assert done.returncode == 2
    assert "verified" in done.stdout
    error, *written = told(done.stderr)
    assert error.startswith("gpuexplorer: error: cannot write /dev/full: the disk is full")
    assert written == ["wrote out.csv", "wrote out.png"]


def test_every_failure_is_said_and_the_first_one_decides(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    delivery = Delivery(json=str(tmp_path / "a.json"))
    written: list[Path] = []

    def refuse(path: Path) -> None:
        raise InputError(f"no room for {path.name}")

    assert delivery.besides("there is no word", lambda: 1 // 0) is None
    assert delivery.code == 0
    delivery.file(Path("a.csv"), refuse)
    delivery.file(Path("a.svg"), written.append)
    delivery.show(lambda: [][0])
    delivery.document(lambda: b"{}")
    delivery.say_written()
    assert delivery.code == 2
    assert written == [Path("a.svg")]
    said = told(capfd.readouterr().err)
    assert said[0].startswith("gpuexplorer: warning: there is no word: internal error: ZeroDiv")
    assert said[1] == "gpuexplorer: error: no room for a.csv"
    assert said[2].startswith("gpuexplorer: error: internal error: IndexError")
    assert said[3:] == ["wrote a.svg", f"wrote {tmp_path / 'a.json'}"]


@pytest.fixture
def nobody_reads() -> Iterator[int]:
    """A pipe whose reader is gone."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


STUDY = ("--rounds", "6", "--seconds", "0.03", "--samples", "12")


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (("run", *QUICK, *OUTPUTS), "out.json out.csv out.png"),
        (("sweep", "matmul", "--size", "16,32", "--samples", "3", *OUTPUTS),
         "out.json out.csv out.png"),
        (("compare", "naive:8x8", "tiled:8x8", "--workload", "matmul", "--size", "16",
          "--rounds", "6", "--json", "out.json", "--plot", "out.svg"), "out.json out.svg"),
        (("study", "speedup", "matmul", "--devices", "cpu,numpy:cpu", "--size", "16,32", *STUDY,
          *OUTPUTS), "out.json out.csv out.png"),
        (("tune", "matmul", "--size", "16", "--budget", "3", "--json", "out.json"), "out.json"),
        (("check-kernels", "switched", "--json", "out.json"), "out.json"),
        (("analyze", "matmul", "--arch", "sm_90", "--json", "out.json", "--plot", "out.svg"),
         "out.json out.svg"),
        (("import", "run.json", "run.json", "--json", "out.json"), "out.json"),
        (("history", "--json", "out.json"), "out.json"),
        (("workloads", "--json", "out.json"), "out.json"),
        (("devices", "--json", "out.json"), "out.json"),
        (("doctor", "--json", "out.json"), "out.json"),
        (("engines", "--json", "out.json"), "out.json"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)  # fmt: skip
def test_files_are_written_although_nobody_reads_what_is_printed(
    arguments: tuple[str, ...], files: str, tmp_path: Path, nobody_reads: int
) -> None:
    write_switched(tmp_path)
    (tmp_path / "run.json").write_bytes(run_json(made_result()))
    unbuffered = {"PYTHONUNBUFFERED": "1"} if arguments[0] in ("run", "workloads") else {}
    done = run_cli(
        *arguments, cwd=tmp_path, stdout=nobody_reads,
        environment={HISTORY: str(tmp_path / "h.sqlite"), **unbuffered},
    )  # fmt: skip
    assert done.returncode == EXIT_BROKEN_PIPE, done.stderr
    assert "Traceback" not in done.stderr and "error" not in done.stderr
    for name in files.split():
        assert (tmp_path / name).stat().st_size > 50, name


def test_nobody_reading_any_stream_is_no_failure_of_the_work(
    tmp_path: Path, nobody_reads: int
) -> None:
    done = run_cli(
        "run", *QUICK, *OUTPUTS, cwd=tmp_path, stdout=nobody_reads, stderr=nobody_reads,
        environment={HISTORY: str(tmp_path / "h.sqlite")},
    )  # fmt: skip
    assert done.returncode == EXIT_BROKEN_PIPE
    assert {"out.json", "out.csv", "out.png", "h.sqlite"} <= set(os.listdir(tmp_path))


def test_work_that_failed_says_so_although_nobody_reads(tmp_path: Path, nobody_reads: int) -> None:
    done = run_cli("run", "nothing", cwd=tmp_path, stdout=nobody_reads)
    assert done.returncode == 2
    assert "no workload 'nothing'" in done.stderr
