"""The NVIDIA driver, as its own tool tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuexplorer.core.cuda_choice import Here
from gpuexplorer.core.cuda_driver import Driver, Gpu, to_json
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.frozen import module_command
from gpuexplorer.environments import driver, kinds
from gpuexplorer.environments.driver import find_driver
from gpuexplorer.environments.kinds import check_wheels, find_kind, fit_of, missing_of, offers
from tests.support.pythons import pretend

SAYS = """case "$1" in
  --query-gpu*) echo 'NVIDIA H200, {version}, 9.0' ;;
  *) {heading} ;;
esac"""


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose driver's library tells nothing, whatever this one has."""
    have_library_say(monkeypatch, "null")


def have_library_say(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    command = [sys.executable, "-c", f"print({said!r})"]
    monkeypatch.setattr(driver, "module_command", lambda module: command)


def tool(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    pretend(folder, script).rename(folder / "nvidia-smi")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_the_tool_says_which_gpu_and_which_cuda(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heading = "echo '| NVIDIA-SMI 570.1   Driver Version: 570.1   CUDA Version: 12.8 |'"
    tool(tmp_path, monkeypatch, SAYS.format(version="570.1", heading=heading))
    found = find_driver()
    assert found == Driver((12, 8), (Gpu("NVIDIA H200", (9, 0)),), "570.1")
    assert found.words == "NVIDIA H200, driver 570.1, CUDA 12.8"


def test_a_heading_without_cuda_leaves_the_drivers_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool(tmp_path, monkeypatch, SAYS.format(version="580.95.05", heading="exit 3"))
    found = find_driver()
    assert found is not None
    assert found.cuda == (13, 0)


@pytest.mark.parametrize("script", ["exit 9", "echo 'No devices were found'", "exec sleep 600"])
def test_without_a_working_driver_there_is_none(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "ANSWER_S", 0.3)
    tool(tmp_path, monkeypatch, script)
    assert find_driver() is None


def test_where_the_tool_is_missing_the_drivers_library_is_asked_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_driver() is None
    known = Driver((12, 4), (Gpu("NVIDIA A100", (8, 0)),))
    have_library_say(monkeypatch, to_json(known))
    assert find_driver() == known


def test_the_librarys_process_is_this_programs_own(tmp_path: Path) -> None:
    command = module_command(driver.LIBRARY)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.strip() == "null" or "gpus" in json.loads(said)


# ---- what is offered


def with_gpu(cuda: tuple[int, int], *capabilities: tuple[int, int]) -> Driver:
    return Driver(cuda, tuple(Gpu(f"GPU {n}", has) for n, has in enumerate(capabilities)), "1")


@pytest.fixture
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine for which there are CUDA's libraries, wherever the tests run."""
    monkeypatch.setattr(
        kinds, "this_machine", lambda driver, python=None: Here("linux", "x86_64", driver, python)
    )


@pytest.mark.usefixtures("linux")
def test_kinds_are_offered_for_the_driver_and_its_gpus() -> None:
    def names(driver: Driver | None) -> list[str]:
        return [offer.kind.name for offer in offers(driver) if not offer.trouble]

    for_the_cpu = ["cpu", "cpu-torch", "cpu-frameworks"]
    assert names(None) == names(with_gpu((11, 8), (7, 0))) == for_the_cpu
    assert names(with_gpu((12, 4), (8, 0))) == ["cuda12", "cuda12-torch", *for_the_cpu]
    assert names(with_gpu((13, 0), (8, 0))) == [
        "cuda13", "cuda13-torch", "cuda12", "cuda12-torch", *for_the_cpu,
    ]  # fmt: skip
    assert names(with_gpu((13, 0), (6, 1))) == ["cuda12", "cuda12-torch", *for_the_cpu]
    assert names(with_gpu((12, 8), (12, 0))) == ["cuda12", *for_the_cpu]


@pytest.mark.usefixtures("linux")
def test_a_kind_of_no_use_is_offered_last_with_its_reason() -> None:
    found = {offer.kind.name: offer for offer in offers(with_gpu((12, 8), (12, 0)))}
    assert list(found)[-3:] == ["cuda13", "cuda13-torch", "cuda12-torch"]
    assert "needs an NVIDIA driver 580 or newer" in found["cuda13"].trouble
    assert "has no kernels for GPU 0 (compute capability 12.0)" in found["cuda12-torch"].trouble
    assert not found["cuda12"].trouble


@pytest.mark.usefixtures("linux")
def test_kinds_that_serve_every_gpu_come_before_those_that_leave_one_out() -> None:
    found = [offer for offer in offers(with_gpu((13, 0), (7, 0), (8, 9))) if offer.kind.cuda]
    assert [offer.kind.name for offer in found] == [
        "cuda12", "cuda12-torch", "cuda13", "cuda13-torch",
    ]  # fmt: skip
    assert [bool(offer.left_out) for offer in found] == [False, False, True, True]
    assert "GPU 0 has 7.0: it is left out" in found[2].left_out


def test_cupti_is_left_out_of_a_kind_where_there_is_no_wheel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert missing_of(find_kind("cuda13"), (3, 12, 4)) == {
        "cupti-python": "there is no wheel of it for Windows"
    }
    assert missing_of(find_kind("cuda12"), (3, 12, 4)) == {}
    monkeypatch.setattr(sys, "platform", "linux")
    assert missing_of(find_kind("cuda13"), (3, 14, 0)) == {}
    assert list(missing_of(find_kind("cuda13-torch"), (3, 14, 0))) == ["cupti-python"]


def test_a_kind_without_wheels_for_a_python_or_a_system_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frameworks = find_kind("cpu-frameworks")
    check_wheels(frameworks, (3, 13, 2))
    with pytest.raises(InputError, match=r"with Python 3\.14.*choose a Python up to 3\.13"):
        check_wheels(frameworks, (3, 14, 0))
    mac = Here("darwin", "aarch64", None)
    monkeypatch.setattr(kinds, "this_machine", lambda *_: mac)
    with pytest.raises(InputError, match=r"'cuda13' cannot be made here: .* for macOS"):
        check_wheels(find_kind("cuda13"), (3, 12))
    assert fit_of(frameworks, None).trouble == ""


def test_a_kind_has_requirements_and_a_lock_that_pins_them() -> None:
    kind = find_kind("cuda13")
    assert any(line.startswith("cupy-cuda13x") for line in kind.requirements)
    assert kind.lock is not None
    assert kind.lock.is_file()
    with pytest.raises(InputError, match="no kind of environment 'cuda9'; choose of cuda13"):
        find_kind("cuda9")
