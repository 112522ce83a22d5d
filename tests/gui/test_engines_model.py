"""What the engines' pages say, without a window: rows, plans, progress."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gpuexplorer.core.cuda_driver import Driver, Gpu
from gpuexplorer.core.device import DeviceInfo, DeviceList, Unavailable
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.engine.candidates import FoundInterpreter
from gpuexplorer.engine.checking import EngineReport
from gpuexplorer.engine.interpreters import BUILT_IN, Interpreters
from gpuexplorer.environments.kinds import Kind, Offer
from gpuexplorer.environments.managed import Managed
from gpuexplorer.environments.plan import EnvironmentPlan, Package, Source
from gpuexplorer.environments.progress import Phase, SetUpProgress
from gpuexplorer.environments.pythons import FoundPython
from gpuexplorer.gui.model.engine_details import details
from gpuexplorer.gui.model.engine_setup import (
    Around,
    Pace,
    plan_words,
    progress_words,
    sentence,
    space_words,
    terms_of,
)
from gpuexplorer.gui.model.engines import EngineRow, EnginesModel
from gpuexplorer.gui.model.frameworks import lacks_cuda
from tests.support.pythons import pretend

MB = 10**6
KIND = Kind(name="cuda13", title="CUDA 13 kernels", teaches="Runs kernels.", cuda=13)
PYTHON = FoundPython(path="/usr/bin/python3", kind="system", version="3.12.4")


def wheel(name: str, size_B: int | None, vouched_by: str = "lock") -> Package:
    return Package(
        name=name, version="1.0", file=f"{name}-1.0-py3-none-any.whl", url="https://x/y.whl",
        sha256="0" * 64, size_B=size_B, vouched_by=vouched_by,
    )  # fmt: skip


def plan(*packages: Package, have_B: int = 0, free_B: int = 10**10) -> EnvironmentPlan:
    return EnvironmentPlan(
        kind=KIND, python=PYTHON, source=Source(), packages=packages, folder=Path("/data/engines"),
        have_B=have_B, installed_B=500 * MB, free_B=free_B,
    )  # fmt: skip


def at(phase: Phase, done: int, total: int) -> SetUpProgress:
    return SetUpProgress(phase=phase, done_B=done, total_B=total, words="numpy 2.1.0")


# ---- a plan


def test_a_plan_says_what_is_fetched_what_it_takes_and_what_is_free() -> None:
    planned = plan(wheel("numpy", 20 * MB), wheel("cupy-cuda13x", 80 * MB), have_B=20 * MB)
    words = plan_words(planned)
    assert "Download 80.0 MB, 2 packages from the internet (20.0 MB are here already)" in words
    assert "about 500 MB" in words
    assert "10.0 GB are free in /data/engines" in words
    assert space_words(planned) == ""
    unknown = plan_words(plan(wheel("numpy", None)))
    assert "1 package from" in unknown
    assert "1 of unknown size" in unknown


def test_a_plan_says_what_it_does_without_and_why() -> None:
    left_out = {"cupti-python": "there is no wheel of it for Windows"}
    words = plan_words(msgspec.structs.replace(plan(wheel("numpy", MB)), left_out=left_out))
    assert "Without cupti-python: there is no wheel of it for Windows.\n" in words


def test_too_little_room_is_said_with_what_to_free() -> None:
    words = space_words(plan(wheel("numpy", 100 * MB), free_B=400 * MB))
    assert "600 MB are needed" in words
    assert "Free 200 MB" in words


def test_packages_under_their_makers_own_terms_are_named() -> None:
    names = ("nvidia-cuda-nvrtc", "nvidia-ml-py", "cupy-cuda13x", "intel_opencl_rt", "tbb", "numpy")
    found = terms_of([wheel(name, 1) for name in names])
    assert [(maker.name, theirs) for maker, theirs in found] == [
        ("NVIDIA", ["nvidia-cuda-nvrtc"]), ("Intel", ["intel_opencl_rt", "tbb"]),
    ]  # fmt: skip


# ---- progress


def test_the_rate_is_that_of_the_last_seconds_and_begins_anew_with_a_phase() -> None:
    pace = Pace()
    assert pace.rate_per_s(0.0) is None
    for second in range(11):
        pace.take(at("download", second * 10 * MB, 200 * MB), float(second))
    assert pace.rate_per_s(10.0) == pytest.approx(10 * MB)
    for second in range(11, 20):
        pace.take(at("download", (100 + (second - 10) * 2) * MB, 200 * MB), float(second))
    assert pace.rate_per_s(19.0) == pytest.approx(2 * MB)
    said = progress_words(at("download", 118 * MB, 200 * MB), pace.rate_per_s(19.0))
    assert said == "118 MB of 200 MB · 2.00 MB/s · about 41 s left"
    pace.take(at("install", 0, 200 * MB), 20.0)
    assert pace.rate_per_s(21.0) is None


def test_a_download_that_stands_still_gets_slower_and_slower() -> None:
    pace = Pace()
    pace.take(at("download", 0, 100 * MB), 0.0)
    pace.take(at("download", 50 * MB, 100 * MB), 1.0)
    soon, later = pace.rate_per_s(1.0), pace.rate_per_s(10.0)
    assert soon is not None and later is not None
    assert later < soon / 5


def test_progress_in_words() -> None:
    assert progress_words(at("verify", 12, 40), None) == "12 of 40 checks"
    assert progress_words(at("verify", 0, 0), None) == ""
    assert progress_words(at("install", 3 * MB, 30 * MB), 1e6) == "3.00 MB of 30.0 MB"
    assert progress_words(at("download", 3 * MB, 0), None) == "3.00 MB"


# ---- what this machine offers


def test_an_error_is_told_without_the_command_lines_options() -> None:
    error = WorkFailed("no wheels for it", remedy="choose another Python (--python) or kind")
    assert sentence(error) == "No wheels for it; choose another Python or kind."
    assert sentence(InputError("a_1.whl is not whole")) == "a_1.whl is not whole."


def test_the_driver_and_a_missing_python_are_told() -> None:
    driver = Driver((13, 0), (Gpu("NVIDIA H200", (9, 0)),), "580.95.05")
    too_old = msgspec.structs.replace(PYTHON, version="3.9.2", problem="it is Python 3.9.2")
    with_gpu = Around(driver, (Offer(kind=KIND),), (PYTHON,), {})
    assert "NVIDIA H200, driver 580.95.05" in with_gpu.driver_words
    assert with_gpu.no_python == ""
    without = Around(None, (Offer(kind=KIND, trouble="no driver"),), (too_old,), {})
    assert "No NVIDIA driver" in without.driver_words
    assert without.useful == without.useless == ()
    assert without.no_python


def test_a_driver_without_cupy_is_told_from_no_driver() -> None:
    def devices(reason: str) -> DeviceList:
        return DeviceList(unavailable=(Unavailable(backend="cuda", reason=reason, remedy="x"),))

    assert lacks_cuda(devices("CuPy is not installed"))
    assert not lacks_cuda(devices("no NVIDIA driver is installed"))
    assert not lacks_cuda(DeviceList())


# ---- rows


def test_rows_tell_where_engines_come_from(tmp_path: Path) -> None:
    model = EnginesModel(Interpreters(tmp_path / "engines.json"))
    own = pretend(tmp_path / "engines" / "cuda13" / "bin", ":")
    model.add(own, "cuda13")
    model.add(pretend(tmp_path / "mine" / "bin", ":"))
    ready = Managed(
        name="cuda13", kind="cuda13", title="CUDA 13 kernels", ready=True, python="3.12.4",
        path=str(tmp_path / "engines" / "cuda13"), packages={"numpy": "2.1.0"}, verdict="All good.",
    )  # fmt: skip
    begun = msgspec.structs.replace(ready, name="cpu", path="/e/cpu", ready=False, packages={})
    forgotten = msgspec.structs.replace(ready, name="old", path="/e/old")
    model.managed = [ready, begun, forgotten]
    model.sizes_B = {"cuda13": 5 * MB}
    model.found = [
        FoundInterpreter(path=str(own), kind="environment"),
        FoundInterpreter(path="/opt/conda/bin/python", kind="conda", python="3.11"),
    ]
    rows = model.rows("cuda13")
    assert [(row.title, row.origin) for row in rows] == [
        (BUILT_IN, "built-in"), ("cuda13", "managed"), ("mine", "added"), ("cpu", "unfinished"),
        ("old", "managed"), ("opt/conda", "found"),
    ]  # fmt: skip
    made, unfinished, found = rows[1], rows[3], rows[5]
    assert made.in_use and made.size_B == 5 * MB and made.python == "3.12.4"
    assert made.state == "CUDA 13 kernels"
    assert "It takes 5.00 MB on the disk" in details(made)
    assert "All good." in details(made) and "numpy 2.1.0" in details(made)
    assert "cut off" in unfinished.state and "cut off" in details(unfinished)
    assert found.origin_words == "found: conda" and found.python == "3.11"
    assert details(found).endswith("Where: /opt/conda/bin/python")


def test_a_row_says_what_an_engine_has() -> None:
    cpu = DeviceInfo(
        id="opencl:0", hardware_id="x", name="Some CPU", backend="opencl", kind="cpu",
        driver="PoCL 6.0", compute_units=4,
    )  # fmt: skip
    torch = msgspec.structs.replace(cpu, id="torch:cpu", backend="torch")
    report = EngineReport(
        name="x", path="/x", python="3.12.4", packages={"torch": "2.13.0", "numpy": "2.1.0"},
        devices=DeviceList(
            devices=(cpu, torch),
            unavailable=(Unavailable(backend="cuda", reason="no driver", remedy="get one"),),
        ),
    )  # fmt: skip
    row = EngineRow("x", "/x", False, False, report)
    assert row.frameworks == "torch 2.13.0"
    assert row.devices == "Some CPU (opencl, torch)"
    assert "no cuda device: no driver\n    → get one" in details(row)
    broken = EngineReport(name="x", path="/x", problem="it died", remedy="pet it", said=["ouch"])
    text = details(EngineRow("x", "/x", False, False, broken))
    assert text.startswith("It died.\n→ pet it\n\nIts last words:\nouch")
