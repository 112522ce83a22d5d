"""A frozen program starts itself for its own modules, and gives others the user's environment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpuexplorer.core import frozen
from gpuexplorer.core.bootstrap import FILE
from gpuexplorer.core.frozen import module_command


@pytest.fixture
def bundle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "_internal"
    folder.mkdir()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "_MEIPASS", str(folder), raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gpuexplorer"))
    return folder


def test_in_a_python_a_module_runs_in_that_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert not frozen.is_frozen()
    command = frozen.engine_command("--threads", "2", framed=True)
    assert command == [sys.executable, FILE, "--framed", "gpuexplorer.engine", "--threads", "2"]
    with pytest.raises(RuntimeError):
        frozen.bundle_folder()


def test_a_frozen_program_is_its_own_engine_and_command_line(bundle: Path) -> None:
    program = str(bundle.parent / "gpuexplorer")
    assert frozen.bundle_folder() == bundle
    assert frozen.engine_command("--threads", "2") == [program, "engine", "--threads", "2"]
    assert module_command("gpuexplorer", "report", "a") == [program, "report", "a"]
    assert module_command("gpuexplorer.charts", "-", "a.png") == [
        program, frozen.MODULE_WORD, "gpuexplorer.charts", "-", "a.png",
    ]  # fmt: skip


def test_another_python_is_lent_the_package_by_a_frozen_program_too(bundle: Path) -> None:
    command = module_command("gpuexplorer.engine", python="/usr/bin/python3", framed=True)
    assert command == ["/usr/bin/python3", "-B", FILE, "--framed", "gpuexplorer.engine"]


def test_on_windows_children_are_started_with_the_program_that_has_streams(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frozen, "ON_WINDOWS", True)
    assert frozen.program() == sys.executable
    with_console = bundle.parent / "gpuexplorer-cli.exe"
    with_console.touch()
    assert frozen.program() == str(with_console)


def test_a_program_of_others_gets_the_users_search_paths(bundle: Path) -> None:
    ours = {
        "LD_LIBRARY_PATH": str(bundle),
        "QT_PLUGIN_PATH": str(bundle / "PySide6" / "plugins"),
        "PYTHONPATH": "/frozen",
        "PYTHONPATH_ORIG": "/users/modules",
        "PYTHONHOME": "/users/python",
        "XDG_DATA_DIRS": "/frozen",
        "XDG_DATA_DIRS_ORIG": "",
        "_PYI_ARCHIVE_FILE": "/frozen/gpuexplorer",
        "HOME": "/home/me",
    }
    assert frozen.clean_environment(ours) == {
        "PYTHONPATH": "/users/modules",
        "PYTHONHOME": "/users/python",
        "HOME": "/home/me",
    }


def test_a_frozen_program_does_not_say_to_install_into_it(bundle: Path) -> None:
    assert "gpuexplorer engines create" in frozen.to_get("cupy", in_an_engine=True)
    assert "a Python package can have it: pip install 'x[y]'" in frozen.to_get(
        "x[y]", in_an_engine=False
    )


def test_in_a_python_pip_installs() -> None:
    assert frozen.to_get("x[y]", in_an_engine=True) == "pip install 'x[y]'"


def test_without_a_bundle_an_environment_stays_as_it_is() -> None:
    theirs = {"LD_LIBRARY_PATH": "/mine", "_PYI_ARCHIVE_FILE": "x", "QT_PLUGIN_PATH": "/mine"}
    assert frozen.clean_environment(theirs) == theirs
