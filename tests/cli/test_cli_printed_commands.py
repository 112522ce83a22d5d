"""Every command that the command line prints works when it is pasted: folders, engine, history."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from gpuexplorer.cli.parser import parse
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE
from tests.support.cli import run_cli
from tests.support.kernels import write_article

SIZE = ("--size", "48", "--device", "cpu")
Done = subprocess.CompletedProcess[str]


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A folder whose name a shell would take apart."""
    root = tmp_path / "my kernels"
    write_article(root, "mine")
    return root


def printed(text: str, beginning: str) -> list[str]:
    """Return the words of the one command in some output that begins so, as a shell reads it."""
    (found,) = re.findall(rf"{beginning}(gpuexplorer .*)", " ".join(text.split()))
    words = shlex.split(found)
    assert words[0] == "gpuexplorer"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, "")  # which ``--history`` sets for the whole program
        parse(words[1:])
    return words[1:]


def test_a_run_of_ones_own_kernel_is_repeated_by_the_line_that_the_history_shows(
    kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "h.sqlite"))
    done = run_cli(
        "run", "mine", "--kernels", kernels.name, *SIZE, "--seconds", "0.05", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    (run_id,) = ids(run_cli("history", cwd=tmp_path))
    shown = run_cli("history", "show", run_id, cwd=tmp_path)
    words = printed(shown.stdout, "repeat it ")
    assert words[words.index("--kernels") + 1] == str(kernels / "mine")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    again = run_cli(*words, "--seconds", "0.05", cwd=elsewhere)
    assert again.returncode == 0, again.stderr
    fingerprints = [
        run_cli("history", "show", one, cwd=tmp_path).stdout.split("fingerprint")[1].split()[0]
        for one in ids(run_cli("history", cwd=tmp_path))
    ]
    assert len(fingerprints) == 2 and len(set(fingerprints)) == 1


def test_what_a_tuning_kept_is_run_by_the_line_that_it_says(kernels: Path, tmp_path: Path) -> None:
    history = tmp_path / "our history.sqlite"
    named = ("--kernels", kernels, "--history", history)
    asked = ("mine", *SIZE, *named, "--cache", "cold", "--threads", "1")
    none = run_cli("run", *asked, "--tuned", cwd=tmp_path)
    assert none.returncode == 2
    words = printed(none.stderr, "tune it first: ")
    tuned = run_cli(*words, "--block-x", "16", "--block-y", "16", cwd=tmp_path)
    assert tuned.returncode == 0, tuned.stderr
    words = printed(tuned.stderr, "run it with: ")
    assert {"--tuned", "--cache", "--threads", str(history), str(kernels / "mine")} <= set(words)
    done = run_cli(*words, "--seconds", "0.05", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "tuned on " in done.stderr and "it was tuned with" not in done.stderr


def test_commands_on_another_history_name_it(tmp_path: Path) -> None:
    history = tmp_path / "our history.sqlite"
    done = run_cli(
        "compare", "naive:8x8", "tiled:8x8", "--workload", "matmul", "--size", "16",
        "--rounds", "6", "--history", history, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    page = run_cli(*printed(done.stderr, "to make a page of it: "), cwd=tmp_path)
    assert page.returncode == 0, page.stderr
    assert (tmp_path / "comparison.html").exists()
    first, _ = ids(run_cli("history", "--history", history, cwd=tmp_path))
    gone = run_cli("history", "delete", first, "--history", history, cwd=tmp_path)
    back = run_cli(*printed(gone.stderr, "to bring it back: "), cwd=tmp_path)
    assert back.returncode == 0, back.stderr
    assert "brought back 1 run" in back.stderr
    export = run_cli("export", first, "a.json", "--history", history, cwd=tmp_path)
    assert export.returncode == 0, export.stderr


def ids(listed: Done) -> list[str]:
    """Return the ids in the list of runs."""
    assert listed.returncode == 0, listed.stderr
    return re.findall(r"^([0-9a-f]{10}) ", listed.stdout, re.MULTILINE)
