"""`make frameworks`: what it installs is pinned, said before, and installed once."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bootstrap
import pytest

from gpuexplorer.core.bootstrap import REQUIRED
from gpuexplorer.environments.kinds import find_kind

ROOT = Path(__file__).resolve().parents[2]


def pins(name: str) -> dict[str, str]:
    """Return a constraint file's packages with their versions."""
    lines = (ROOT / "packaging" / name).read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize(
    ("platform", "machine", "tensorflow"),
    [
        ("linux", "x86_64", "tensorflow-cpu"),
        ("linux", "aarch64", "tensorflow"),
        ("darwin", "arm64", "tensorflow"),
        ("win32", "AMD64", "tensorflow"),
    ],
)
def test_each_machine_gets_the_build_for_its_cpu(
    platform: str, machine: str, tensorflow: str
) -> None:
    wanted = bootstrap.framework_requirements(platform, machine)
    assert [name for name in wanted if "tensorflow" in name] == [tensorflow]
    assert {"keras", "jax"} <= set(wanted)


def test_everything_is_pinned_once_and_an_engine_finds_what_it_needs() -> None:
    common, frameworks = pins("constraints.txt"), pins("constraints-frameworks.txt")
    assert not set(common) & set(frameworks)
    for name in bootstrap.framework_requirements("linux", "x86_64"):
        assert name in common or name in frameworks
    assert frameworks["tensorflow"] == frameworks["tensorflow-cpu"]
    assert set(bootstrap.ENGINE_NEEDS) == set(REQUIRED)


class Installing:
    """Stands for pip and venv: remembers what was asked for."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, *, works: bool = True) -> None:
        self.asked: list[list[str]] = []
        self.works = works
        self.python = root / bootstrap.FRAMEWORKS / "bin" / "python"
        monkeypatch.setattr(bootstrap, "ROOT", root)
        monkeypatch.setattr(bootstrap, "python_of", lambda environment: self.python)
        monkeypatch.setattr(bootstrap, "ensure_environment", self.make)
        monkeypatch.setattr(bootstrap, "run_logged", self.run)

    def make(self, environment: Path) -> Path:
        self.python.parent.mkdir(parents=True, exist_ok=True)
        self.python.touch()
        return self.python

    def run(self, command: Sequence[str], log: Path, **_: Any) -> bool:
        log.write_text("no network\n", encoding="utf-8")
        self.asked.append([str(word) for word in command])
        return self.works


def test_it_is_built_once_with_its_size_said_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installing = Installing(tmp_path, monkeypatch)
    assert bootstrap.main(["frameworks"]) == 0
    torch, rest = installing.asked
    assert re.match(r"torch==[\d.]+", torch[-1])
    assert {"keras", "jax", "numpy", "msgspec"} <= set(rest)
    assert any(word.endswith("constraints-frameworks.txt") for word in rest)
    said = capsys.readouterr().out
    assert said.index("MB to download") < said.index("installing")
    assert f"--python {installing.python}" in said
    assert bootstrap.main(["frameworks"]) == 0
    assert len(installing.asked) == 2 and capsys.readouterr().out == ""


def test_one_that_failed_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installing = Installing(tmp_path, monkeypatch, works=False)
    assert bootstrap.main(["frameworks"]) == 1
    assert "could not install the frameworks" in capsys.readouterr().err
    asked = len(installing.asked)
    assert bootstrap.main(["frameworks"]) == 1
    assert len(installing.asked) > asked


def test_a_python_without_wheels_of_tensorflow_is_refused_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "version_info", (3, 14, 0))
    assert bootstrap.main(["frameworks"]) == 1
    assert "TensorFlow has no wheels for Python 3.14 yet" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert find_kind("cpu-frameworks").newest_python == bootstrap.FRAMEWORKS_PYTHON
