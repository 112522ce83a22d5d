"""Which Pythons an environment can be made with."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

import pytest

from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.environments import pythons
from gpuexplorer.environments.progress import Cancelled
from gpuexplorer.environments.pythons import FoundPython, best_python, find_pythons, look_at
from tests.support.pythons import make_python, pretend


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nothing be found but what the path names."""
    monkeypatch.setattr(pythons, "find_candidates", list)
    monkeypatch.setattr(pythons, "is_frozen", lambda: True)


def test_this_python_can_be_used(python: FoundPython) -> None:
    assert python.ok
    assert python.numbers == sys.version_info[:3]
    assert Path(python.path).exists()


def test_an_environment_stands_for_the_python_below_it(tmp_path: Path) -> None:
    inside = make_python(tmp_path / "env")
    found = look_at(str(tmp_path / "env"))
    assert found.ok
    assert not Path(found.path).is_relative_to(inside.parent)
    assert Path(found.path).samefile(sys._base_executable)  # type: ignore[attr-defined]


@pytest.mark.usefixtures("only")
def test_those_on_the_path_are_found_once_and_the_usable_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / name for name in ("broken", "one", "two")]
    pretend(folders[0], "echo 'I am a teapot'; exit 1").rename(folders[0] / "python3")
    for folder in folders[1:]:
        folder.mkdir()
        (folder / "python3").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders)))
    found = find_pythons()
    assert [one.ok for one in found] == [True, False]
    assert found[1].problem == f"{folders[0] / 'python3'} is no Python 3: I am a teapot"
    assert best_python(found) == found[0]


def test_what_cannot_be_used_says_why(tmp_path: Path) -> None:
    says = {
        "version": [3, 9, 2], "bits": 64, "base": "", "lacks": [], "implementation": "cpython",
    }  # fmt: skip
    told = f"echo 'GPUEXPLORER {json.dumps(says)}'"
    old = look_at(str(pretend(tmp_path / "old", told)))
    assert "needs 3.11 or newer" in f"{old.problem}"
    locked = look_at(str(pretend(tmp_path / "locked", "", executable=False)))
    assert "cannot be started" in f"{locked.problem}"
    with pytest.raises(InputError, match="there is no"):
        look_at(str(tmp_path / "nowhere" / "python"))
    with pytest.raises(CannotRunHere, match=r"install Python 3\.11 or newer"):
        best_python([old, locked])
    with pytest.raises(CannotRunHere, match="no Python here can make an environment"):
        best_python([])


def test_one_that_never_answers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pythons, "ANSWER_S", 0.3)
    stuck = look_at(str(pretend(tmp_path / "stuck", "exec sleep 600")))
    assert "did not answer" in f"{stuck.problem}"


@pytest.mark.usefixtures("only")
def test_looking_can_be_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(tmp_path / "stuck", "exec /bin/sleep 600").rename(tmp_path / "stuck" / "python3")
    monkeypatch.setenv("PATH", str(tmp_path / "stuck"))
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(Cancelled):
        find_pythons(cancel)


def test_the_newest_that_libraries_support_comes_first() -> None:
    def found(version: str, kind: str = "system", problem: str | None = None) -> FoundPython:
        return FoundPython(path=version, kind=kind, version=version, problem=problem)

    all_of_them = [
        found("3.15.0"), found("3.9.1", problem="too old"), found("3.11.2"),
        found("3.12.4", "conda"), found("3.12.3"),
    ]  # fmt: skip
    ordered = sorted(all_of_them, key=pythons._worth)
    assert [one.version for one in ordered] == ["3.12.3", "3.11.2", "3.12.4", "3.15.0", "3.9.1"]
