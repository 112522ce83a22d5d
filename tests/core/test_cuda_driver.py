"""What the driver's tool and its library tell, on machines that are not here."""

from __future__ import annotations

import ctypes
import json
from typing import Any

import pytest

from gpuexplorer.core import cuda_driver
from gpuexplorer.core.cuda_driver import (
    FIELDS,
    Driver,
    Gpu,
    cuda_of,
    find_driver,
    from_json,
    from_loaded,
    from_tool,
    to_json,
    version_in_heading,
)

HEADING = "| NVIDIA-SMI 570.1    Driver Version: 570.1    CUDA Version: 12.8 |"


class Tool:
    """Answers as a version of ``nvidia-smi`` does."""

    def __init__(self, listed: str, heading: str = HEADING, *, knows: str = FIELDS) -> None:
        self._listed, self._heading, self._knows = listed, heading, knows

    def __call__(self, arguments: list[str]) -> str | None:
        if not arguments:
            return self._heading
        return self._listed if arguments[0] == f"--query-gpu={self._knows}" else None


def test_every_gpu_is_told_with_its_capability() -> None:
    listed = "NVIDIA GeForce RTX 5090, 570.1, 12.0\nTesla V100, SXM2, 570.1, 7.0\n"
    assert from_tool(Tool(listed)) == Driver(
        (12, 8), (Gpu("NVIDIA GeForce RTX 5090", (12, 0)), Gpu("Tesla V100, SXM2", (7, 0))), "570.1"
    )


def test_a_tool_that_knows_no_capabilities_is_asked_without() -> None:
    tool = Tool("Tesla K80, 470.82.01\n", "", knows="name,driver_version")
    assert from_tool(tool) == Driver((11, 0), (Gpu("Tesla K80", None),), "470.82.01")
    assert from_tool(Tool("NVIDIA H200, 570.1, [N/A]\n")) == Driver(
        (12, 8), (Gpu("NVIDIA H200", None),), "570.1"
    )


@pytest.mark.parametrize("listed", ["", "No devices were found\n"])
def test_a_tool_that_sees_no_gpu_tells_none(listed: str) -> None:
    assert from_tool(Tool(listed)) is None


def test_a_drivers_branch_tells_its_cuda() -> None:
    versions = ("590.1", "580.95", "575.2", "570.1", "550.54", "535.104", "525.1", "470.2", "390.1")
    assert [cuda_of(version) for version in (*versions, "?")] == [
        (13, 1), (13, 0), (12, 9), (12, 8), (12, 4), (12, 2), (12, 0), (11, 0), None, None,
    ]  # fmt: skip


def test_the_heading_names_the_cuda_version() -> None:
    assert version_in_heading(HEADING) == (12, 8)
    assert version_in_heading("CUDA UMD Version: 13.1") == (13, 1)
    assert version_in_heading("CUDA Version: N/A") is None


# ---- the library


class Library:
    """A driver library with some GPUs."""

    def __init__(self, *gpus: Gpu, version: int = 12040, starts: int = 0) -> None:
        self.gpus, self.version, self.starts = gpus, version, starts

    def cuInit(self, flags: int) -> int:
        return self.starts

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = len(self.gpus)
        return 0

    def cuDriverGetVersion(self, version: Any) -> int:
        version._obj.value = self.version
        return 0

    def cuDeviceGet(self, device: Any, index: ctypes.c_int) -> int:
        device._obj.value = index.value
        return 0

    def cuDeviceGetName(self, name: Any, length: object, device: ctypes.c_int) -> int:
        name.value = self.gpus[device.value].name.encode()
        return 0

    def cuDeviceGetAttribute(self, value: Any, number: ctypes.c_int, device: ctypes.c_int) -> int:
        capability = self.gpus[device.value].capability
        if capability is None:
            return 1
        value._obj.value = capability[number.value - 75]
        return 0


def test_the_library_tells_gpus_and_capabilities() -> None:
    gpus = (Gpu("NVIDIA A100", (8, 0)), Gpu("Tesla V100", (7, 0)))
    assert from_loaded(Library(*gpus)) == Driver((12, 4), gpus)
    assert from_loaded(Library(Gpu("Tesla K80", None), version=13000)) == Driver(
        (13, 0), (Gpu("Tesla K80", None),)
    )


def test_a_library_without_a_gpu_or_that_does_not_start_tells_none() -> None:
    assert from_loaded(Library()) is None
    assert from_loaded(Library(Gpu("NVIDIA A100", (8, 0)), starts=100)) is None


def test_what_the_library_tells_comes_over_from_its_process() -> None:
    driver = Driver((13, 0), (Gpu("NVIDIA A100", (8, 0)), Gpu("GPU 1", None)), "580.1")
    assert from_json(f"a warning\n{to_json(driver)}\n") == driver
    assert to_json(None) == "null"
    for text in ("", "null", "Traceback", json.dumps({"cuda": [13]}), "[]"):
        assert from_json(text) is None


# ---- both


def test_the_library_fills_in_what_the_tool_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Driver((12, 8), (Gpu("RTX 5090", (12, 0)),))
    tools: list[str | None] = ["nvidia-smi"]
    monkeypatch.setattr(cuda_driver, "tool", lambda: tools[0])

    def listing(listed: str, fields: str = FIELDS) -> Any:
        tool = Tool(listed, knows=fields)
        return lambda command: tool(command[1:])

    told = listing("RTX 5090, 570.1, 12.0\n")
    assert find_driver(told, lambda: pytest.fail("there is nothing left to ask")) == Driver(
        (12, 8), (Gpu("RTX 5090", (12, 0)),), "570.1"
    )
    old = listing("RTX 5090, 570.1\n", "name,driver_version")
    assert find_driver(old, lambda: known) == Driver((12, 8), known.gpus, "570.1")
    assert find_driver(old, lambda: None) == Driver((12, 8), (Gpu("RTX 5090", None),), "570.1")
    tools[0] = None
    assert find_driver(old, lambda: known) == known
    assert find_driver(old, lambda: None) is None


def test_a_driver_in_words() -> None:
    gpus = (Gpu("Tesla V100"), Gpu("Tesla V100"), Gpu("RTX 5090"))
    assert Driver((13, 0), gpus, "580.1").words == "Tesla V100, RTX 5090, driver 580.1, CUDA 13.0"
    assert Driver((13, 0), gpus[:1]).words == "Tesla V100, CUDA 13.0"
