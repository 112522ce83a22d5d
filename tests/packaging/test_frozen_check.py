"""A frozen program that is not whole, or does not work, is never packed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from builder import frozen_check
from builder.errors import BuildError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small checkout."""
    checkout = tmp_path / "checkout"
    for name in ("gpuexplorer/core/bootstrap.py", "kernels/a/workload.toml", "resources/x.svg"):
        path = checkout / name
        path.parent.mkdir(parents=True)
        path.touch()
    return checkout


@pytest.fixture
def folder(tmp_path: Path, root: Path) -> Path:
    """A frozen program of it."""
    made = tmp_path / "made"
    package = made / "_internal" / "gpuexplorer"
    shutil.copytree(root / "gpuexplorer", package)
    for data in ("kernels", "resources"):
        shutil.copytree(root / data, package / "_data" / data)
    write(made / "gpuexplorer", "exit 0")
    return made


def write(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_a_whole_folder_has_no_problems(folder: Path, root: Path) -> None:
    assert frozen_check.problems(folder, root) == []


def test_what_is_missing_is_named(folder: Path, root: Path) -> None:
    package = folder / "_internal" / "gpuexplorer"
    (package / "core" / "bootstrap.py").unlink()
    (package / "_data" / "kernels" / "a" / "workload.toml").unlink()
    (folder / "_internal" / "libx.so").symlink_to("libx.so.1")
    said = "; ".join(frozen_check.problems(folder, root))
    assert "bootstrap.py is missing" in said
    assert "workload.toml is missing" in said
    assert "libx.so leads nowhere" in said
    (folder / "gpuexplorer").unlink()
    assert frozen_check.problems(folder, root) == ["there is no gpuexplorer"]


def test_what_is_too_much_is_named(folder: Path, root: Path) -> None:
    (folder / "_internal" / "torch").mkdir()
    (folder / "_internal" / "gpuexplorer" / "__pycache__").mkdir()
    said = "; ".join(frozen_check.problems(folder, root))
    assert "torch is in it" in said
    assert "__pycache__ is left over" in said


WORKS = """
[ "$HOME" = "$PWD" ] || exit 9
[ -z "$LD_LIBRARY_PATH$PYTHONPATH" ] || exit 8
case "$1" in
  --version) echo gpuexplorer 1.2 ;;
  run) printf '%%PDF-1.4' > chart.pdf ;;
esac
"""


def test_a_program_is_tried_out_in_an_empty_environment(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/of/the/builder")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/of/the/builder")
    write(folder / "gpuexplorer", WORKS)
    log = tmp_path / "log"
    frozen_check.try_out(folder, "1.2", log)
    assert "$ gpuexplorer selftest --quick" in log.read_text()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo gpuexplorer 1.1", "says 'gpuexplorer 1.1'"),
        ('[ "$1" = selftest ] && { echo 3 wrong; exit 1; }\n' + WORKS, "(?s)selftest.*3 wrong"),
        ('[ "$1" = run ] && exit 0\n' + WORKS, "drew no chart"),
        ("echo 'x.py:1: UserWarning: no y' >&2\n" + WORKS, "warns at .*no y"),
    ],
)
def test_a_program_that_does_not_work_is_an_error(
    folder: Path, tmp_path: Path, script: str, message: str
) -> None:
    write(folder / "gpuexplorer", script)
    with pytest.raises(BuildError, match=message):
        frozen_check.try_out(folder, "1.2", tmp_path / "log")
