"""The NVIDIA driver, as its own tool tells."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.environments import driver
from gpuexplorer.environments.driver import Driver, cuda_of, find_driver
from gpuexplorer.environments.kinds import find_kind, kinds_for
from tests.support.pythons import pretend

SAYS = """case "$1" in
  --query-gpu*) echo 'NVIDIA H200, {version}' ;;
  *) {heading} ;;
esac"""


def tool(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    pretend(folder, script).rename(folder / "nvidia-smi")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_the_tool_says_which_gpu_and_which_cuda(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heading = "echo '| NVIDIA-SMI 570.1   Driver Version: 570.1   CUDA Version: 12.8 |'"
    tool(tmp_path, monkeypatch, SAYS.format(version="570.1", heading=heading))
    found = find_driver()
    assert found == Driver(gpu="NVIDIA H200", version="570.1", cuda=(12, 8))
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


def test_a_drivers_branch_tells_its_cuda() -> None:
    assert [cuda_of(v) for v in ("590.1", "580.95", "579.9", "525.1", "470.2", "390.1", "?")] == [
        (13, 0), (13, 0), (12, 0), (12, 0), (11, 0), None, None,
    ]  # fmt: skip


def test_kinds_are_offered_for_the_driver() -> None:
    def names(cuda: tuple[int, int] | None) -> list[str]:
        found = None if cuda is None else Driver(gpu="a GPU", version="1", cuda=cuda)
        return [kind.name for kind in kinds_for(found)]

    for_the_cpu = ["cpu", "cpu-torch", "cpu-frameworks"]
    assert names(None) == names((11, 8)) == for_the_cpu
    assert names((12, 4)) == ["cuda12", "cuda12-torch", *for_the_cpu]
    assert names((13, 0))[:2] == ["cuda13", "cuda13-torch"]


def test_a_kind_has_requirements_and_a_lock_that_pins_them() -> None:
    kind = find_kind("cuda13")
    assert any(line.startswith("cupy-cuda13x") for line in kind.requirements)
    assert kind.lock is not None
    assert kind.lock.is_file()
    with pytest.raises(InputError, match="no kind of environment 'cuda9'; choose of cuda13"):
        find_kind("cuda9")
