"""Whether an environment can be used, also where nothing of its kind can be run."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gpuexplorer.core.cuda_choice import Here
from gpuexplorer.core.cuda_driver import Driver, Gpu
from gpuexplorer.core.device import DeviceList, Unavailable
from gpuexplorer.engine.checking import EngineReport
from gpuexplorer.environments import kinds, verify
from gpuexplorer.environments.kinds import Kind
from gpuexplorer.environments.progress import Cancelled
from tests.support.pythons import make_python, put_package

KIND = Kind(name="cuda13", title="CUDA 13", teaches="-", cuda=13, backend="cuda")
MISSING = Unavailable(backend="cuda", reason="no NVIDIA driver is installed", remedy="install it")
NO_DRIVER = "raise ImportError('libcuda.so.1: cannot open shared object file')"


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An environment with nothing in it."""
    return make_python(tmp_path / "environment", packages=False)


@pytest.fixture(autouse=True)
def machine(python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without an NVIDIA driver, whose engine starts and has no GPU."""
    report = EngineReport(
        name="x", path=str(python), devices=DeviceList(devices=(), unavailable=(MISSING,))
    )
    monkeypatch.setattr(verify, "check_engine", lambda *_, **__: report)
    have_driver(monkeypatch, None)


def have_driver(monkeypatch: pytest.MonkeyPatch, driver: Driver | None) -> None:
    monkeypatch.setattr(verify, "find_driver", lambda cancel: driver)
    monkeypatch.setattr(kinds, "this_machine", lambda found: Here("linux", "x86_64", found))


def test_without_a_gpu_the_libraries_are_loaded_and_it_is_said_that_nothing_was_run(
    python: Path, tmp_path: Path
) -> None:
    put_package(tmp_path / "environment", "cupy", "14.2.0")
    put_package(tmp_path / "environment", "torch", "2.13.0")
    told: list[str] = []
    found = verify.verify("x", KIND, lambda done, total, words: told.append(words))
    assert (found.usable, found.passed) == (True, None)
    assert found.loaded == ("cupy", "torch")
    assert found.words == (
        "Its engine starts and cupy, torch load; nothing was run: CUDA 13 needs an NVIDIA driver "
        "580 or newer, and there is no NVIDIA driver with a GPU here."
    )
    assert "loading cupy" in told


def test_a_library_that_asks_for_the_drivers_own_is_no_broken_one(tmp_path: Path) -> None:
    put_package(tmp_path / "environment", "cupy", "14.2.0", NO_DRIVER)
    found = verify.verify("x", KIND)
    assert found.usable
    assert found.loaded == ()
    assert found.words.startswith("Its engine starts; nothing was run: CUDA 13 needs")


def test_a_broken_library_is_found_although_nothing_can_be_run(tmp_path: Path) -> None:
    put_package(tmp_path / "environment", "torch", "2.13.0", "raise OSError('libnccl is torn')")
    found = verify.verify("x", KIND)
    assert not found.usable
    assert found.words == "torch does not load in it: OSError: libnccl is torn"
    assert "make it again" in found.remedy


def test_where_a_gpu_could_run_it_a_missing_device_is_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    have_driver(monkeypatch, Driver((13, 0), (Gpu("NVIDIA H200", (9, 0)),), "580.1"))
    found = verify.verify("x", KIND)
    assert not found.usable
    assert found.words == "it has no cuda device: no NVIDIA driver is installed"


def test_loading_can_be_cancelled(tmp_path: Path) -> None:
    put_package(tmp_path / "environment", "cupy", "14.2.0", "import time; time.sleep(600)")
    cancel = threading.Event()

    def on_step(done: int, total: int, words: str) -> None:
        if words == "loading cupy":
            threading.Timer(0.5, cancel.set).start()

    with pytest.raises(Cancelled):
        verify.verify("x", KIND, on_step, cancel)
