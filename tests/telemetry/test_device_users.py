"""Who else uses a GPU, by a stand-in of NVML with real processes of this machine in it."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from collections.abc import Iterator

import pynvml
import pytest

from gpuexplorer.core.sample import DeviceUser
from gpuexplorer.telemetry import device_users
from gpuexplorer.telemetry.device_users import DeviceUsers
from gpuexplorer.telemetry.ladder import survey
from gpuexplorer.telemetry.nvml import NvmlSource
from tests.telemetry.stand_ins import Nvml, gpu

GiB = 1 << 30


@pytest.fixture
def other() -> Iterator[int]:
    """A process that is none of ours: its parent has ended."""
    script = (
        "import subprocess, sys; null = subprocess.DEVNULL; print(subprocess.Popen("
        "[sys.executable, '-c', 'import time; time.sleep(600)'], stdout=null, stderr=null).pid)"
    )
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    pid = int(made.stdout)
    yield pid
    os.kill(pid, 9)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_users, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(device_users, "has_own_numbers", lambda: False)


@pytest.fixture
def container(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes have numbers of their own here."""
    monkeypatch.setattr(device_users, "has_own_numbers", lambda: True)


@pytest.mark.skipif(os.name != "posix", reason="orphans are adopted on POSIX")
def test_others_are_named_and_ours_are_left_out(other: int) -> None:
    nvml = Nvml()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    nvml.processes = {
        os.getpid(): (GiB, 90), child.pid: (GiB, 5), other: (3 * GiB, 45), 2**22 + 7: (None, 0),
    }  # fmt: skip
    users = DeviceUsers(nvml, "gpu")
    try:
        found = users.read()
    finally:
        child.communicate(b"\n")
    assert found is not None
    assert found[0].program.startswith("python")
    assert found == (
        DeviceUser(
            pid=other, program=found[0].program, user=getpass.getuser(), memory_B=3.0 * GiB,
            load=0.45,
        ),
        DeviceUser(pid=2**22 + 7, program=f"process {2**22 + 7}", load=0.0),
    )  # fmt: skip
    assert [one.works for one in found] == [True, False]
    nvml.processes = {}
    assert users.read() == ()


@pytest.mark.parametrize(
    ("error", "load"),
    [(pynvml.NVML_ERROR_NOT_SUPPORTED, None), (pynvml.NVML_ERROR_NOT_FOUND, 0.0)],
)
def test_whose_work_is_not_told_counts_as_at_work(error: int, load: float | None) -> None:
    nvml = Nvml(nvmlDeviceGetProcessUtilization=error)
    nvml.processes = {2**22 + 7: (GiB, 0)}
    found = DeviceUsers(nvml, "gpu").read()
    assert found is not None
    assert [(one.load, one.works) for one in found] == [(load, load is None)]


@pytest.mark.parametrize("error", [pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_NOT_FOUND])
def test_windows_desktop_is_no_other_program_on_a_gpu(error: int) -> None:
    """There NVML lists every program with a window, and tells neither memory nor load of any."""
    desktop, computes = 2**22 + 7, 2**22 + 8
    nvml = Nvml(nvmlDeviceGetProcessUtilization=error)
    nvml.processes = {desktop: (None, 0), computes: (None, 0)}
    nvml.drawing = {desktop}
    found = DeviceUsers(nvml, "gpu").read()
    assert found is not None
    assert [one.pid for one in found] == [computes]
    nvml.failing["nvmlDeviceGetGraphicsRunningProcesses"] = pynvml.NVML_ERROR_NOT_SUPPORTED
    found = DeviceUsers(nvml, "gpu").read()
    assert found is not None
    assert {one.pid for one in found} == {desktop, computes}


def test_what_draws_and_tells_its_memory_or_its_load_is_named() -> None:
    nvml = Nvml()
    nvml.processes = {2**22 + 7: (None, 30), 2**22 + 8: (GiB, 0)}
    nvml.drawing = set(nvml.processes)
    found = DeviceUsers(nvml, "gpu").read()
    assert found is not None
    assert len(found) == 2
    nvml.failing["nvmlDeviceGetProcessUtilization"] = pynvml.NVML_ERROR_NOT_SUPPORTED
    found = DeviceUsers(nvml, "gpu").read()
    assert found is not None
    assert [one.memory_B for one in found] == [GiB]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has namespaces")
def test_a_number_from_outside_of_a_container_is_no_other_program(container: None) -> None:
    """It may be the engine's own."""
    nvml = Nvml()
    nvml.processes = {2**22 + 7: (GiB, 90)}
    reader = NvmlSource.find(nvml, gpu())
    assert isinstance(reader, NvmlSource)
    first, second = reader.read(), reader.read()
    assert first.users is None and second.users is None
    assert "outside of this container" in first.missing["users"]
    assert "users" not in second.missing, "it is said once"
    nvml.processes = {}
    assert reader.read().users == ()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has namespaces")
def test_where_ours_are_named_by_their_numbers_the_rest_are_others(container: None) -> None:
    nvml = Nvml()
    nvml.processes = {os.getpid(): (GiB, 90), 2**22 + 7: (GiB, 20)}
    found = DeviceUsers(nvml, "gpu").read()
    assert found is not None
    assert [one.pid for one in found] == [2**22 + 7]


def test_a_program_that_is_the_first_process_of_a_container_is_ours(
    container: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getppid", lambda: 1)
    nvml = Nvml()
    nvml.processes = {1: (GiB, 50), os.getpid(): (GiB, 40)}
    assert DeviceUsers(nvml, "gpu").read() == ()


@pytest.mark.skipif(os.name != "posix", reason="orphans are adopted on POSIX")
def test_an_engine_that_is_left_behind_does_not_take_all_for_ours(
    other: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getppid", lambda: 1)
    nvml = Nvml()
    nvml.processes = {other: (GiB, 50)}
    found = DeviceUsers(nvml, "gpu").read()
    assert found is not None
    assert [one.pid for one in found] == [other]


def test_where_nvml_does_not_tell_nothing_is_known() -> None:
    nvml = Nvml(nvmlDeviceGetComputeRunningProcesses=pynvml.NVML_ERROR_NO_PERMISSION)
    assert DeviceUsers(nvml, "gpu").read() is None


def test_a_driver_without_that_question_keeps_all_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The real function raises no NVMLError then, but an exception of its own."""
    nvml = Nvml()
    reader = NvmlSource.find(nvml, gpu())
    assert isinstance(reader, NvmlSource)

    def without(name: str) -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)

    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer", without)
    nvml._nvmlDeviceGetComputeRunningProcesses = pynvml.nvmlDeviceGetComputeRunningProcesses  # type: ignore[method-assign]
    reading = reader.read()
    assert reading.users is None
    assert reading.sm_clock_Hz == 1980e6 and reading.power_W == 412.5


def test_a_reading_and_a_survey_tell_them(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = Nvml()
    nvml.processes = {2**22 + 7: (GiB, 20)}
    monkeypatch.setattr(NvmlSource, "open", lambda device: NvmlSource.find(nvml, device))
    (state, _) = survey(gpu(), [NvmlSource])
    assert "users" in state.gives
    assert state.users is not None
    assert state.users[0].load == 0.2
