"""``gpuexplorer engines``, and ``--python`` with its names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.cli import main
from gpuexplorer.core.compared import ComparisonResult
from tests.support.cli import run_cli
from tests.support.pythons import make_python

RUN = ("run", "matmul", "--variant", "numpy", "--size", "32", "--device", "numpy:cpu",
       "--threads", "1", "--seconds", "0.05", "--no-history")  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment that can be an engine, and one that cannot."""
    made = tmp_path_factory.mktemp("engines")
    make_python(made / "good")
    make_python(made / "bare", packages=False)
    return made


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUEXPLORER_CONFIG_DIR", str(tmp_path / "settings"))
    return tmp_path / "settings" / "engines.json"


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Call = Callable[..., Done]


@pytest.fixture
def call(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Call:
    """Return what runs a command in the folder, in this very process: it only starts engines."""
    monkeypatch.chdir(folder)

    def run(*arguments: str) -> Done:
        capfd.readouterr()
        code = main(arguments)
        return Done(code, *capfd.readouterr())

    return run


def document(text: str) -> Any:
    return msgspec.json.decode(text.encode())


def test_an_engine_from_its_first_word_to_its_last(
    call: Call, folder: Path, settings: Path
) -> None:
    added = call("engines", "add", "mine", "good")
    assert added.returncode == 0, added.stderr
    python = folder / "good" / "bin" / "python"
    assert f"'mine' is {python}; use it with --engine mine" in added.stderr
    version = ".".join(map(str, sys.version_info[:3]))
    assert f"Python {version}, answered in" in added.stdout
    assert "numpy:cpu" in added.stdout
    listed = call("engines", "--json")
    found = document(listed.stdout)
    assert (found["schema"], found["default"]) == ("gpuexplorer/engine-list/1", "built-in")
    assert [(e["name"], e["ok"]) for e in found["engines"]] == [("built-in", True), ("mine", True)]
    mine = found["engines"][1]
    assert mine["path"] == str(python)
    assert mine["handshake_s"] > 0
    assert "numpy" in mine["packages"]
    assert {d["id"] for d in mine["devices"]["devices"]} >= {"numpy:cpu"}
    by_name = document(run_cli(*RUN, "--python", "mine", "--json", cwd=folder).stdout)
    assert by_name["environment"]["engine"] == "mine"
    chosen = call("engines", "default", "mine")
    assert chosen.returncode == 0
    by_default = document(call(*RUN, "--json").stdout)
    assert by_default["environment"]["engine"] == "mine"
    said = document(call(*RUN, "--python", "built-in", "--json").stdout)
    assert said["environment"]["engine"] is None
    removed = call("engines", "remove", "mine")
    assert f"engines add mine {python}" in removed.stderr
    assert "the built-in engine is used now" in removed.stderr
    assert document(settings.read_text())["engines"] == {}
    assert python.exists()


def test_one_that_cannot_be_an_engine_gets_no_name(call: Call, settings: Path) -> None:
    done = call("engines", "add", "bare", "bare")
    assert done.returncode == 3
    assert "lacks msgspec, numpy, platformdirs, psutil and simpleeval" in done.stdout
    assert "pip install 'msgspec>=0.19'" in done.stdout
    assert "'bare' was not added; --no-check takes it as it is" in done.stderr
    assert document(settings.read_text())["engines"] == {}
    done = call("engines", "add", "bare", "bare", "--no-check")
    assert done.returncode == 0
    assert list(document(settings.read_text())["engines"]) == ["bare"]
    run = call(*RUN, "--python", "bare")
    assert run.returncode == 3
    assert "lacks msgspec" in run.stderr.splitlines()[0]
    quick = document(call("engines", "list", "--quick", "--json").stdout)
    assert [(e["name"], e["ok"]) for e in quick["engines"]] == [("built-in", None), ("bare", None)]


def test_a_check_of_a_path(call: Call, folder: Path) -> None:
    done = call("engines", "check", "bare/bin/python", "--json")
    assert done.returncode == 3
    (engine,) = document(done.stdout)["engines"]
    assert engine["name"] == engine["path"] == str(folder / "bare" / "bin" / "python")
    assert engine["ok"] is False
    assert engine["problem"]
    assert engine["remedy"]


def test_pythons_around_a_folder_are_found(call: Call, folder: Path) -> None:
    done = call("engines", "find", "--json")
    found = {c["path"]: c["kind"] for c in document(done.stdout)["candidates"]}
    assert found[str(folder / "good" / "bin" / "python")] == "environment"
    assert found[str(folder / "bare" / "bin" / "python")] == "environment"
    table = call("engines", "find")
    assert "gpuexplorer engines add NAME PATH" in table.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("engines", "add", "a b", "good"), 2, "'a b' is no name for an engine"),
        (("engines", "add", "x", "nowhere/python"), 2, "there is no "),
        (("engines", "remove", "x"), 2, "no engine is called 'x'"),
        (("engines", "default", "x"), 2, "no engine is called 'x'"),
        (("compare", "numpy", "numpy,engine=x", "--workload", "matmul"), 2, "'x' is no engine"),
        ((*RUN, "--python", "x"), 3, "the engine cannot be started: 'x' is no engine"),
    ],
)
def test_a_wrong_word_is_one_sentence(
    arguments: tuple[str, ...], code: int, said: str, call: Call
) -> None:
    done = call(*arguments)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (code, "", 1)
    assert said in done.stderr


def test_a_broken_file_of_names_is_named(call: Call, settings: Path) -> None:
    settings.parent.mkdir()
    settings.write_text("{")
    done = call(*RUN)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "engines.json" in done.stderr


def test_two_engines_are_compared(call: Call) -> None:
    done = call(
        "compare", "numpy,engine=built-in", "numpy,engine=good", "--workload", "matmul",
        "--size", "64", "--device", "numpy:cpu", "--threads", "1", "--rounds", "2",
        "--no-history", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = msgspec.json.decode(done.stdout.encode(), type=ComparisonResult)
    assert [c.run.environment.engine for c in result.contestants] == [None, "good"]
    assert result.contestants[0].label == "numpy · built-in"
    assert result.contestants[1].label == "numpy · good"
