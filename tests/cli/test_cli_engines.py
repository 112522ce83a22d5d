"""``gpuexplorer engines``, and ``--python`` with its names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.core.compared import ComparisonResult
from tests.support.cli import assert_one_sentence, run_cli
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


def document(text: str) -> Any:
    return msgspec.json.decode(text.encode())


def test_an_engine_from_its_first_word_to_its_last(folder: Path, settings: Path) -> None:
    added = run_cli("engines", "add", "mine", "good", cwd=folder)
    assert added.returncode == 0, added.stderr
    python = folder / "good" / "bin" / "python"
    assert f"'mine' is {python}; use it with --python mine" in added.stderr
    version = ".".join(map(str, sys.version_info[:3]))
    assert f"Python {version}, answered in" in added.stdout
    assert "numpy:cpu" in added.stdout
    listed = run_cli("engines", "--json", cwd=folder)
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
    chosen = run_cli("engines", "default", "mine", cwd=folder)
    assert chosen.returncode == 0
    by_default = document(run_cli(*RUN, "--json", cwd=folder).stdout)
    assert by_default["environment"]["engine"] == "mine"
    said = document(run_cli(*RUN, "--python", "built-in", "--json", cwd=folder).stdout)
    assert said["environment"]["engine"] is None
    removed = run_cli("engines", "remove", "mine", cwd=folder)
    assert f"engines add mine {python}" in removed.stderr
    assert "the built-in engine is used now" in removed.stderr
    assert document(settings.read_text())["engines"] == {}
    assert python.exists()


def test_one_that_cannot_be_an_engine_gets_no_name(folder: Path, settings: Path) -> None:
    done = run_cli("engines", "add", "bare", "bare", cwd=folder)
    assert done.returncode == 3
    assert "lacks msgspec, numpy, platformdirs, psutil and simpleeval" in done.stdout
    assert "pip install 'msgspec>=0.19'" in done.stdout
    assert "'bare' was not added; --no-check takes it as it is" in done.stderr
    assert document(settings.read_text())["engines"] == {}
    done = run_cli("engines", "add", "bare", "bare", "--no-check", cwd=folder)
    assert done.returncode == 0
    assert list(document(settings.read_text())["engines"]) == ["bare"]
    run = run_cli(*RUN, "--python", "bare", cwd=folder)
    assert run.returncode == 3
    assert "lacks msgspec" in run.stderr.splitlines()[0]
    quick = document(run_cli("engines", "list", "--quick", "--json", cwd=folder).stdout)
    assert [(e["name"], e["ok"]) for e in quick["engines"]] == [("built-in", None), ("bare", None)]


def test_a_check_of_a_path(folder: Path) -> None:
    done = run_cli("engines", "check", "bare/bin/python", "--json", cwd=folder)
    assert done.returncode == 3
    (engine,) = document(done.stdout)["engines"]
    assert engine["name"] == engine["path"] == str(folder / "bare" / "bin" / "python")
    assert engine["ok"] is False
    assert engine["problem"]
    assert engine["remedy"]


def test_pythons_around_a_folder_are_found(folder: Path) -> None:
    done = run_cli("engines", "find", "--json", cwd=folder)
    found = {c["path"]: c["kind"] for c in document(done.stdout)["candidates"]}
    assert found[str(folder / "good" / "bin" / "python")] == "environment"
    assert found[str(folder / "bare" / "bin" / "python")] == "environment"
    table = run_cli("engines", "find", cwd=folder)
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
    arguments: tuple[str, ...], code: int, said: str, folder: Path
) -> None:
    assert said in assert_one_sentence(run_cli(*arguments, cwd=folder), code)


def test_a_broken_file_of_names_is_named(folder: Path, settings: Path) -> None:
    settings.parent.mkdir()
    settings.write_text("{")
    assert "engines.json" in assert_one_sentence(run_cli(*RUN, cwd=folder), 2)


def test_two_engines_are_compared(folder: Path) -> None:
    done = run_cli(
        "compare", "numpy,engine=built-in", "numpy,engine=good", "--workload", "matmul",
        "--size", "64", "--device", "numpy:cpu", "--threads", "1", "--rounds", "6",
        "--no-history", "--json", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = msgspec.json.decode(done.stdout.encode(), type=ComparisonResult)
    python = str(folder / "good" / "bin" / "python")
    assert [c.run.environment.engine for c in result.contestants] == [None, python]
    assert result.contestants[0].label == "numpy · built-in"
    assert result.contestants[1].label == "numpy · good"
