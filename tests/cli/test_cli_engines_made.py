"""``gpuexplorer engines kinds|create|remove|clean``: environments that are made here."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE
from gpuexplorer.cli import EXIT_INTERRUPTED, main
from gpuexplorer.engine.checking import EngineReport
from gpuexplorer.engine.interpreters import CONFIG_VARIABLE, Interpreters
from gpuexplorer.environments.kinds import Kind
from gpuexplorer.environments.verify import Verified
from tests.support.wheels import small_wheel, write_sums

TINY = Kind(name="tiny", title="Tiny", teaches="Nothing.", requirements=("apple",))


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels for a kind that is known here; its engine is not started."""
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "data"))
    monkeypatch.setenv(CONFIG_VARIABLE, str(tmp_path / "settings"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr("gpuexplorer.cli.engines_managed.find_kind", lambda name: TINY)
    usable = Verified(engine=EngineReport(name="x", path="x"))
    monkeypatch.setattr("gpuexplorer.environments.create.verify", lambda *_: usable)
    folder = tmp_path / "wheels"
    small_wheel(folder, "apple", "1.0", size_B=100_000)
    write_sums(folder)
    return folder


def document(text: str) -> Any:
    return msgspec.json.decode(text.encode())


def test_an_environment_is_made_listed_and_removed(
    wheels: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ask = ("engines", "create", "tiny", "--from", str(wheels), "--python", sys.executable)
    assert main([*ask]) == 2
    said = capfd.readouterr()
    assert "apple" in said.out
    assert "add --yes to agree" in said.err
    assert main([*ask, "--dry-run"]) == 0
    assert "SHA256SUMS" in capfd.readouterr().out
    assert main([*ask, "--yes", "--json", "-"]) == 0
    said = capfd.readouterr()
    made = document(said.out)
    assert made["schema"] == "gpuexplorer/engine-created/1"
    assert made["environment"]["packages"] == {"apple": "1.0"}
    assert [p["vouched_by"] for p in made["plan"]["packages"]] == ["SHA256SUMS"]
    assert "'tiny' is ready" in said.err
    assert list(Interpreters().read().engines) == ["tiny"]
    assert main(["engines", "list", "--quick"]) == 0
    assert "made here: Tiny" in capfd.readouterr().out
    assert main(["engines", "remove", "tiny"]) == 0
    assert "removed 'tiny' and freed" in capfd.readouterr().err
    assert Interpreters().read().engines == {}


def test_ctrl_c_says_how_it_goes_on(
    wheels: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gpuexplorer.environments.create.install", interrupted)
    ask = ["engines", "create", "tiny", "--from", str(wheels), "--yes"]
    assert main(ask) == EXIT_INTERRUPTED
    assert "the same command goes on" in capfd.readouterr().err
    assert main(["engines", "list", "--quick"]) == 0
    assert "unfinished: it was cut off" in capfd.readouterr().out
    assert main(["engines", "clean"]) == 0
    assert "freed" in capfd.readouterr().err


def test_kinds_say_which_fit(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gpuexplorer.cli.engines_managed.find_driver", lambda: None)
    assert main(["engines", "kinds", "--json", "-"]) == 0
    kinds = {one["name"]: one["fits"] for one in document(capfd.readouterr().out)["kinds"]}
    assert kinds["cpu"]
    assert not kinds["cuda13"]
    assert main(["engines", "create", "cuda13", "--yes"]) == 3
    assert "needs an NVIDIA driver for CUDA 13, and there is no NVIDIA driver" in (
        capfd.readouterr().err
    )
