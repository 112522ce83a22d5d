"""The environment of an engine's process: its own Python's, never this program's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuexplorer.engine.surroundings import environment_for, own_environment
from tests.support.pythons import make_conda, make_python


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This program as it looks in an activated environment."""
    folder = tmp_path / "ours"
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setenv("VIRTUAL_ENV", str(folder))
    monkeypatch.setenv("PYTHONPATH", "/ours/modules")
    monkeypatch.setenv("PYTHONHOME", "/ours/home")
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder / "bin"), "/usr/bin", "/bin"]))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.delenv("LD_LIBRARY_PATH_ORIG", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    return folder


def test_ours_does_not_leak_into_a_virtual_environment(ours: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    (theirs / "bin").mkdir(parents=True)
    (theirs / "pyvenv.cfg").write_text("home = /usr/bin\n")
    environment = environment_for(theirs / "bin" / "python")
    assert "PYTHONPATH" not in environment
    assert "PYTHONHOME" not in environment
    assert environment["VIRTUAL_ENV"] == str(theirs)
    assert environment["PATH"].split(os.pathsep) == [str(theirs / "bin"), "/usr/bin", "/bin"]


def test_ours_does_not_leak_into_a_systems_python(ours: Path) -> None:
    environment = environment_for(Path("/usr/bin/python3"))
    assert "VIRTUAL_ENV" not in environment
    assert environment["PATH"].split(os.pathsep) == ["/usr/bin", "/bin"]


def test_a_conda_environment_gets_what_activating_it_sets(
    ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "base"
    monkeypatch.setenv("CONDA_PREFIX", str(base))
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "base")
    monkeypatch.setenv("LD_LIBRARY_PATH", os.pathsep.join([str(base / "lib"), "/opt/cuda/lib"]))
    python = make_conda(
        tmp_path / "envs" / "deep", Path(sys.executable), {"XLA_FLAGS": "--a", "X": "***unset***"}
    )
    environment = environment_for(python)
    prefix = python.parent.parent
    assert environment["CONDA_PREFIX"] == str(prefix)
    assert environment["CONDA_DEFAULT_ENV"] == "deep"
    assert environment["XLA_FLAGS"] == "--a"
    assert "X" not in environment
    assert "VIRTUAL_ENV" not in environment
    assert environment["PATH"].split(os.pathsep)[0] == str(prefix / "bin")
    assert environment["LD_LIBRARY_PATH"].split(os.pathsep) == [
        "/opt/cuda/lib",
        str(prefix / "lib"),
    ]


def test_an_activated_conda_environment_is_left_as_it_is(
    ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = make_conda(tmp_path / "deep", Path(sys.executable), {"NOTED": "later"})
    monkeypatch.setenv("CONDA_PREFIX", str(python.parent.parent))
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "my-name")
    environment = environment_for(python)
    assert environment["CONDA_DEFAULT_ENV"] == "my-name"
    assert "NOTED" not in environment


@pytest.mark.parametrize("broken", ["", "[]", '{"env_vars": 3}', "\xff"])
def test_a_broken_note_of_conda_is_no_reason_to_fail(
    broken: str, ours: Path, tmp_path: Path
) -> None:
    python = make_conda(tmp_path / "deep", Path(sys.executable))
    (tmp_path / "deep" / "conda-meta" / "state").write_text(broken, encoding="latin-1")
    assert environment_for(python)["CONDA_PREFIX"] == str(tmp_path / "deep")


def test_a_frozen_program_lends_its_libraries_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/frozen")
    monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", "/users/own")
    assert own_environment()["LD_LIBRARY_PATH"] == "/frozen"  # not frozen: as it is
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert own_environment()["LD_LIBRARY_PATH"] == "/users/own"
    assert "LD_LIBRARY_PATH_ORIG" not in own_environment()
    monkeypatch.delenv("LD_LIBRARY_PATH_ORIG")
    assert "LD_LIBRARY_PATH" not in own_environment()


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python without packages, made while this program's environment is as it is."""
    return make_python(tmp_path_factory.mktemp("bare") / "env", packages=False)


def test_a_child_sees_its_own_environment_alone(bare: Path, ours: Path) -> None:
    python = bare
    done = subprocess.run(
        [python, "-c", "import json, sys; print(json.dumps([sys.prefix, sys.path]))"],
        env=environment_for(python), capture_output=True, text=True, check=True,
    )  # fmt: skip
    prefix, path = json.loads(done.stdout)
    assert Path(prefix) == python.parent.parent
    assert "/ours/modules" not in path
