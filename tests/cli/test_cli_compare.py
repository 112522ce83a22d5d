"""``gpuexplorer compare`` as a user meets it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.charts.comparison import comparison_chart
from gpuexplorer.cli.compare import _exit_code as exit_code_of
from gpuexplorer.cli.compare import _wanted as wanted_of
from gpuexplorer.cli.parser import parse
from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.verdict import Verdict
from gpuexplorer.history.store import Query, Store
from gpuexplorer.search.contestants import command_words
from tests.support.cli import assert_one_sentence, cli_command, run_cli
from tests.support.exchange import made_comparison
from tests.support.killed import Growing, to_be_killed, wait_for
from tests.support.results import made_result

SMALL = ("--workload", "matmul", "--size", "64")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history with four made-up runs, the third starred."""
    path = tmp_path_factory.mktemp("history") / "runs.sqlite"
    runs = [
        made(1, 8e-3),
        made(2, 8.8e-3),
        made(3, 7.9e-3),
        made(4, 8e-3, size={"N": 64}, grid=(4, 4, 1), threads=1, device="opencl:0"),
    ]
    with Store.open(path) as store:
        store.add_all(runs)
        store.star(runs[2].id)
    return path


def made(number: int, median_s: float, **changes: Any) -> RunResult:
    return msgspec.structs.replace(
        made_result(median_s=median_s, **changes),
        id=f"{number:06x}{number:026x}",
        time_utc=f"2026-01-0{number}T12:00:00.000+00:00",
    )


def document(text: str) -> ComparisonResult:
    return msgspec.json.decode(text.encode(), type=ComparisonResult)


def test_a_far_slower_one_is_found_kept_and_ends_with_1(tmp_path: Path) -> None:
    history, file, plot = (tmp_path / name for name in ("h.sqlite", "c.json", "c.svg"))
    done = run_cli(
        "compare", "naive:16x16", "1x64", *SMALL, "--fail-if-slower", "5%", "--json", file,
        "--plot", plot, "--history", history, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "naive · block 1×64 is slower by more than 5 %" in done.stderr
    table = done.stdout.splitlines()
    assert any("reference" in line and "block 16×16" in line for line in table)
    assert any("slower" in line and "block 1×64" in line for line in table)
    assert "in turns; it was clear" in done.stdout
    result = document(file.read_text())
    assert result.schema == "gpuexplorer/comparison/1"
    assert result.interleaved and result.fail_if_slower == 0.05
    assert result.others[0].too_slow is True
    assert len(result.others[0].turns_s) == result.rounds >= 1
    assert "block 1×64" in plot.read_text()
    with Store.open(history) as store:
        rows = store.find(Query())
        (group,) = store.groups("comparison")
    assert {row.id for row in rows} == {one.run.id for one in result.contestants}
    assert group.runs == 2
    # the command that the window would copy asks for the same
    words = command_words([one.run.config for one in result.contestants])
    again = run_cli("compare", *words, "--rounds", "2", "--json", "--no-history", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    repeated = document(again.stdout)
    assert [c.run.config for c in repeated.contestants] == [
        c.run.config for c in result.contestants
    ]
    assert shlex.join(words).startswith("naive:16x16,N=64")


@pytest.mark.parametrize("verdict", ["can't tell", "same"])
def test_what_ends_a_comparison_with_1_is_said_in_words_that_do_not_deny_it(
    verdict: Verdict, capsys: pytest.CaptureFixture[str]
) -> None:
    """A limit below --same-within, or an interval across it, was told as "can't tell"."""
    made = made_comparison()
    reference, other, *_ = made.contestants
    slow = msgspec.structs.replace(
        other, ratio=1.005, ci95_low=1.003, ci95_high=1.008, verdict=verdict, too_slow=True
    )
    result = msgspec.structs.replace(
        made, reference=0, contestants=[reference, slow], fail_if_slower=0.002
    )
    assert exit_code_of(result) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert said.endswith("is slower by more than 0.2 %: 1.005× slower (1.003–1.008)")


def test_rounds_are_kept_and_too_few_tell_nothing(tmp_path: Path) -> None:
    done = run_cli(
        "compare", "16x16", "16x16,seed=1", *SMALL, "--rounds", "3", "--fail-if-slower", "900%",
        cwd=tmp_path,
    )  # fmt: skip
    assert "--fail-if-slower: '900%' is not a share" in assert_one_sentence(done, 2)
    done = run_cli(
        "compare", "16x16", "16x16,seed=1", *SMALL, "--rounds", "3", "--fail-if-slower", "50%",
        "--no-history", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "3 rounds in turns; as many as asked for" in done.stdout
    assert done.stdout.count("can't tell") == 1
    assert "cannot be told (too few rounds)" in done.stderr


def test_what_is_ten_times_apart_takes_one_turn(tmp_path: Path) -> None:
    done = run_cli(
        "compare", "16x16,N=32", "16x16,N=256", "--workload", "matmul", "--seconds", "60", "--json",
        "--no-history", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = document(done.stdout)
    assert result.others[0].verdict == "slower"
    assert (result.rounds, result.stopped_by) == (1, "verdict")


def test_stored_runs_as_they_are(tmp_path: Path, kept: Path) -> None:
    done = run_cli(
        "compare", "000001", "run=000002", "--stored", "--fail-if-slower", "5%",
        "--history", kept, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Not measured in turns, which is weaker evidence" in " ".join(done.stdout.split())
    assert "2026-01-02" in done.stdout  # one configuration, told apart by its dates
    assert "slower by more than 5 %: 1.10× slower" in done.stderr
    done = run_cli(
        "compare", "baseline", "000001", "--stored", "--json", "--history", kept, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    result = document(done.stdout)
    assert not result.interleaved
    assert result.contestants[0].stored_id == made(3, 1e-3).id
    chart = comparison_chart(result)
    assert any("Not measured in turns" in note for note in chart.notes)


def test_a_configuration_against_stored_times(tmp_path: Path, kept: Path) -> None:
    done = run_cli(
        "compare", "000004", "16x16", "--stored", "--seconds", "1", "--json", "--history", kept,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    old, new = document(done.stdout).contestants
    assert old.run.id == made(4, 1e-3).id and old.stored_id == old.run.id
    assert (new.run.config.size, new.run.config.threads) == ({"N": 64}, 1)
    assert new.verdict == "faster"  # the stored time is made up, and long
    assert new.stored_id is None
    assert any(words.startswith("Beside the reference: the device") for words in new.warnings)
    with Store.open(kept) as store:
        assert store.get(new.run.id).samples_s == new.run.samples_s


def test_a_stored_run_measured_again_says_what_changed(tmp_path: Path, kept: Path) -> None:
    done = run_cli(
        "compare", "000004", "8x8", "--rounds", "1", "--history", kept, "--no-history",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "8.05 ms when it was stored as 00000400" in done.stdout
    assert "Since it was stored: the device differs" in done.stdout


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ((), ("cold", 7, "opencl:0")),
        (("--cache", "hot"), ("hot", 7, "opencl:0")),
        (("--seed", "1", "--device", "auto"), ("cold", 1, "auto")),
    ],
)
def test_a_default_that_is_said_counts_beside_a_stored_run_that_has_another(
    said: tuple[str, ...],
    asked: tuple[str, int, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It counted as not said: ``--cache hot`` was measured cold."""
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(tmp_path / "history.db"))
    run = made(5, 8e-3, cache="cold", seed=7, device="opencl:0")
    with Store.open() as store:
        store.add(run)
    stored, new = wanted_of(parse(["compare", run.id, "tiled:16x16", *said]))
    assert stored.request.cache == "cold"
    assert (new.request.cache, new.request.seed, new.request.device) == asked


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("naive",), "a comparison takes two"),
        (("naive", "tiled"), "name it with --workload"),
        (("naive", "tyled", *SMALL), "did you mean 'tiled'"),
        (("naive:16x16", "naive:4096x4096", *SMALL), "4096"),
        (("naive", "tiled", *SMALL, "--stored"), "--stored is for stored runs"),
        (("naive", "tiled", *SMALL, "--rounds", "0"), "whole number from 1 on"),
        (("naive", "tiled", *SMALL, "--rounds", "8", "--seconds", "3"), "not allowed with"),
        (("ffffff", "naive"), "no run"),
        (("000004", "8x8", "--stored", "--rounds", "8"), "nothing is measured in turns; leave"),
        (
            ("000001", "000002", "--stored", "--seconds", "3", "--threads", "2"),
            "nothing is measured for --seconds and --threads; leave that out",
        ),
        (
            ("000001", "000002", "--cache", "hot", "--size", "64"),
            "stored runs are compared, which have their own --size and --cache; leave that out",
        ),
        (("naive", "tiled", *SMALL, "--plot", "c.txt"), "not a chart format"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    tmp_path: Path, kept: Path, words: tuple[str, ...], sentence: str
) -> None:
    done = run_cli("compare", *words, "--history", kept, cwd=tmp_path)
    assert sentence in assert_one_sentence(done, 2)


def test_without_a_starred_run_there_is_no_baseline(tmp_path: Path) -> None:
    history = tmp_path / "h.sqlite"
    with Store.open(history) as store:
        store.add(made(1, 1e-3))
    done = run_cli("compare", "baseline", "naive", "--history", history, cwd=tmp_path)
    assert "so there is no baseline" in assert_one_sentence(done, 2)


def test_a_wrong_kernel_names_itself(tmp_path: Path) -> None:
    done = run_cli("compare", "naive:16x16", "naive:3x700", *SMALL, cwd=tmp_path)
    assert done.returncode in (2, 3)
    assert "block 3×700" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
def test_a_comparison_that_is_killed_has_its_rounds_in_the_history(tmp_path: Path) -> None:
    history, told = tmp_path / "history.sqlite", tmp_path / "told.txt"
    words = ("naive:16x16", "naive:16x15", *SMALL, "--rounds", "1000000", "--history", history)
    command = cli_command("compare", *words)
    growing = Growing(history)
    with to_be_killed(command, told) as child:
        wait_for(growing, child, told)
    group, ids = growing.check()
    done = run_cli("report", group.id[:8], "page.html", "--history", history, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "Verdicts" in page and all(run_id[:8] in page for run_id in ids)
