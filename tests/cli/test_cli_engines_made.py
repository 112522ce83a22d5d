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
from gpuexplorer.core.cuda_choice import Here
from gpuexplorer.core.cuda_driver import Driver, Gpu
from gpuexplorer.engine.checking import EngineReport
from gpuexplorer.engine.interpreters import CONFIG_VARIABLE, Interpreters
from gpuexplorer.environments.kinds import Kind
from gpuexplorer.environments.verify import Verified
from tests.support.wheels import small_wheel, write_sums

TINY = Kind(name="tiny", title="Tiny", teaches="Nothing.", requirements=("apple",))
FOR_CUDA_13 = msgspec.structs.replace(TINY, cuda=13)
BLACKWELL = Driver((12, 8), (Gpu("RTX 5090", (12, 0)),), "570.1")


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
    assert "the same command continues" in capfd.readouterr().err
    assert main(["engines", "list", "--quick"]) == 0
    assert "unfinished: it was cut off" in capfd.readouterr().out
    assert main(["engines", "clean"]) == 0
    assert "freed" in capfd.readouterr().err


def have_driver(monkeypatch: pytest.MonkeyPatch, driver: Driver | None) -> None:
    """A machine for which there are CUDA's libraries, with this driver."""
    monkeypatch.setattr("gpuexplorer.cli.engines_managed.find_driver", lambda: driver)
    monkeypatch.setattr(
        "gpuexplorer.environments.kinds.this_machine",
        lambda driver, python=None: Here("linux", "x86_64", driver, python),
    )


def test_kinds_say_which_fit_and_why_not(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    have_driver(monkeypatch, None)
    assert main(["engines", "kinds", "--json", "-"]) == 0
    kinds = {one["name"]: one["fits"] for one in document(capfd.readouterr().out)["kinds"]}
    assert kinds["cpu"]
    assert not kinds["cuda13"]
    have_driver(monkeypatch, BLACKWELL)
    assert main(["engines", "kinds", "--json", "-"]) == 0
    found = document(capfd.readouterr().out)
    assert found["driver"] == {
        "gpu": "RTX 5090", "cuda": [12, 8], "version": "570.1",
        "gpus": [{"name": "RTX 5090", "capability": [12, 0]}],
    }  # fmt: skip
    troubles = {one["name"]: one["trouble"] for one in found["kinds"]}
    assert troubles["cuda12"] == ""
    assert "no kernels for RTX 5090" in troubles["cuda12-torch"]
    assert main(["engines", "kinds"]) == 0
    assert "CUDA 13 needs an NVIDIA driver 580 or newer, and this one runs CUDA 12.8" in (
        capfd.readouterr().out
    )


def test_a_kind_of_no_use_to_the_gpu_is_refused_unless_it_is_wanted_anyway(
    wheels: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    have_driver(monkeypatch, BLACKWELL)
    monkeypatch.setattr("gpuexplorer.cli.engines_managed.find_kind", lambda name: FOR_CUDA_13)
    ask = ["engines", "create", "tiny", "--from", str(wheels), "--yes"]
    assert main(ask) == 3
    said = capfd.readouterr().err
    assert "'tiny' is of no use here: CUDA 13 needs an NVIDIA driver 580 or newer" in said
    assert "choose of cuda12, cpu, cpu-torch, cpu-frameworks, or add --anyway" in said
    assert main([*ask, "--anyway"]) == 0
    assert "nothing can be run in 'tiny' here" in capfd.readouterr().err


def test_without_a_gpu_a_kind_for_one_is_made_when_it_is_asked_for_by_name(
    wheels: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    have_driver(monkeypatch, None)
    monkeypatch.setattr("gpuexplorer.cli.engines_managed.find_kind", lambda name: FOR_CUDA_13)
    assert main(["engines", "create", "tiny", "--from", str(wheels), "--yes"]) == 0
    said = capfd.readouterr().err
    assert "nothing can be run in 'tiny' here: CUDA 13 needs an NVIDIA driver 580 or newer" in said
    assert "'tiny' is ready" in said


def test_what_an_environment_does_without_is_said_before_and_after(
    wheels: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lacking = {"cupti-python": "there is no wheel of it for Windows"}
    monkeypatch.setattr("gpuexplorer.environments.plan.missing_of", lambda *_: lacking)
    said = "without cupti-python: there is no wheel of it for Windows"
    assert main(["engines", "create", "tiny", "--from", str(wheels), "--yes"]) == 0
    assert said in capfd.readouterr().out
    assert main(["engines", "list", "--quick"]) == 0
    assert said in capfd.readouterr().out
