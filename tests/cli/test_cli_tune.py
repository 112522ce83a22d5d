"""``gpuexplorer tune`` and ``run --tuned``: from a search to a run that uses what it found."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE
from gpuexplorer.cli import EXIT_INTERRUPTED, main
from gpuexplorer.cli.parser import parse
from gpuexplorer.cli.tune import _unfinished, budget_of
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.tuning import Budget, Tuning
from gpuexplorer.history.store import Query, Store
from tests.results.test_results_tuning import EVALUATIONS, TUNING, tried
from tests.support.cli import cli_command, cli_environment, run_cli
from tests.support.kernels import MATMUL_MANIFEST

SMALL = ("--size", "64", "--device", "cpu", "--block-x", "4,16", "--block-y", "1:16:*4")


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(folder))
    return folder


def test_what_is_tuned_is_what_run_tuned_uses(data_dir: Path, tmp_path: Path) -> None:
    tuned = run_cli("tune", "matmul", *SMALL, "--sampler", "grid", "--json", "t.json", cwd=tmp_path)
    assert tuned.returncode == 0, tuned.stderr
    document = msgspec.json.decode((tmp_path / "t.json").read_bytes(), type=Tuning)
    assert document.chosen is not None and document.chosen.block is not None
    assert len({e.config.key for e in document.evaluations}) == 6
    assert document.space.configurations == 6
    assert "Use " in tuned.stdout and "the fastest" in tuned.stdout
    assert "without tuning" in tuned.stdout.lower()
    assert "run matmul --variant naive --size N=64" in tuned.stderr and "--tuned" in tuned.stderr

    run = run_cli(
        "run", "matmul", "--size", "64", "--device", "cpu", "--tuned", "--seconds", "0.1",
        "--json", cwd=tmp_path,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    used = msgspec.json.decode(run.stdout.encode(), type=RunResult).config
    assert used.block == document.chosen.block
    assert "tuned on" in run.stderr

    with Store.open(data_dir / "history.sqlite") as store:
        (group,) = store.groups("tuning")
        assert group.finished
        assert store.count(Query(group=group.id)) == group.runs > 0
        assert store.count() == group.runs + 1

    elsewhere = run_cli(
        "run", "matmul", "--size", "65", "--device", "cpu", "--tuned", "--seconds", "0.1",
        cwd=tmp_path,
    )  # fmt: skip
    assert elsewhere.returncode == 2
    assert "nothing is tuned for matmul/naive with N=65" in elsewhere.stderr
    assert "gpuexplorer tune matmul --variant naive --size N=65" in elsewhere.stderr


def test_json_on_standard_output_is_alone_there(data_dir: Path, tmp_path: Path) -> None:
    done = run_cli(
        "tune", "matmul", "--variant", "tiled", *SMALL, "--set", "TILE=8,16", "--budget", "4",
        "--json", "--no-history", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = msgspec.json.decode(done.stdout.encode(), type=Tuning)
    assert document.sampler == "tpe"
    assert document.budget == Budget(evaluations=4)
    assert len({e.config.key for e in document.evaluations}) == 4
    assert all(e.config.tunables["TILE"] in (8, 16) for e in document.evaluations)
    assert not (data_dir / "history.sqlite").exists()


def test_a_kernel_that_is_wrong_for_some_blocks_is_tuned_among_the_others(
    data_dir: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    manifest = MATMUL_MANIFEST.format(name="mine")
    (folder / "workload.toml").write_text(manifest)
    (folder / "kernel.cu").write_text(
        "__global__ void matrixMul(float *A, float *B, float *C, int N) {\n"
        "  int row = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "  int col = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (row < N && col < N) { float sum = 0.0f;\n"
        "    for (int k = 0; k < N; k++) { sum += A[row * N + k] * B[k * N + col]; }\n"
        "    C[row * N + col] = blockDim.x == 16 ? sum : sum + 1.0f; } }\n"
    )
    done = run_cli(
        "tune", "mine", "--kernels", str(folder), *SMALL, "--sampler", "grid", "--json", "t.json",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = msgspec.json.decode((tmp_path / "t.json").read_bytes(), type=Tuning)
    assert document.count("failed") == 3
    assert document.chosen is not None and document.chosen.block is not None
    assert document.chosen.block[0] == 16
    assert "failed: 4×" in done.stdout and "is wrong" in done.stdout


def test_an_interrupted_tuning_says_what_it_knows_and_names_nothing(
    data_dir: Path, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        cli_command("tune", "matmul", "--size", "64", "--device", "cpu", "--budget", "10m",
                    "--json", "t.json", "-v"),
        cwd=tmp_path, env=cli_environment(), stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    store_file = data_dir / "history.sqlite"
    assert process.stderr is not None
    while True:  # the first runs are in the store a moment after they were made
        assert process.poll() is None, process.stderr.read()
        if store_file.exists():
            with Store.open(store_file) as store:
                if store.count():
                    break
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "stopped after" in err and "nothing is named" in err
    document = msgspec.json.decode((tmp_path / "t.json").read_bytes(), type=Tuning)
    assert document.chosen is None and document.evaluations
    assert document.stopped_by == "user"
    with Store.open(store_file) as store:
        assert store.groups("tuning")[0].finished


def test_configurations_are_counted_not_looks_and_one_that_broke_leads_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = tried(5, 256, None)
    tuning = msgspec.structs.replace(TUNING, evaluations=(*EVALUATIONS, broken))
    assert _unfinished(tuning, parse(["tune", "matmul"])) == EXIT_INTERRUPTED
    assert capsys.readouterr().err.strip() == (
        "gpuexplorer: stopped after 4 configurations; nothing is named; the fastest in the search "
        "was 64×1 with 3.00 ms, which no final confirmed"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("60s", Budget(seconds=60)),
        ("1.5m", Budget(seconds=90)),
        ("2h", Budget(seconds=7200)),
        ("200", Budget(evaluations=200)),
    ],
)
def test_a_budget_is_a_time_or_a_number(text: str, found: Budget) -> None:
    assert budget_of(parse(["tune", "matmul", "--budget", text])) == found


@pytest.mark.parametrize("text", ["0", "-5", "60 parsecs", "s", "25h", "1e3", ""])
def test_other_budgets_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--budget"):
        parse(["tune", "matmul", f"--budget={text}"])


def test_a_budget_of_its_own_for_everything_and_for_learning() -> None:
    assert budget_of(parse(["tune", "matmul"])) == Budget(seconds=60)
    assert budget_of(parse(["tune", "matmul", "--sampler", "grid"])) == Budget()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "matmul", "--tuned", "--block", "8x8"), "--tuned chooses the block"),
        (("run", "matmul", "--tuned", "--set", "TILE=8"), "--set is given as well"),
        (
            ("run", "matmul", "--variant", "numpy", "--device", "numpy", "--tuned"),
            "no kernel of its own",
        ),
        (("tune", "matmul", "--variant", "numpy", "--device", "numpy"), "nothing to tune"),
        (("tune", "matmul", "--sampler", "magic"), "no sampler 'magic'"),
        (("tune", "matmul", "--set", "TILE=4", "--no-history"), "no tunable 'TILE'"),
        (("tune", "matmul", "--block-x", "0,4"), "holds 0; use a whole number from 1 on"),
        (("tune", "matmul", "--set", "TILE"), "not of the form TILE=8,16"),
        (("tune", "nothing"), "no workload 'nothing'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    data_dir: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    words: str,
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert "Traceback" not in said.err and not said.out


def test_a_store_that_cannot_be_opened_is_a_warning(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = run_cli(
        "tune", "matmul", *SMALL, "--budget", "2", "--history", str(blocked / "h.sqlite"),
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "warning: the tuning is not kept" in done.stderr
    assert "Use " in done.stdout
