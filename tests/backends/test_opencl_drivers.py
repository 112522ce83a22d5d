"""OpenCL drivers: tried in a child that may die, remembered, and PoCL as the fallback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpuexplorer.backends import probe as probe_process
from gpuexplorer.backends.opencl import OpenCLBackend, drivers
from gpuexplorer.backends.opencl.drivers import (
    Driver,
    environment,
    installed_drivers,
    probe,
)
from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.core.device import Unavailable
from gpuexplorer.core.frozen import module_command
from gpuexplorer.core.opencl_choice import CHOICE_VARIABLE, chosen_by_user

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "cache"))


@pytest.fixture
def intel() -> Driver:
    return next(d for d in installed_drivers() if d.name == "intel")


def sabotage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Have every child Python run ``code`` first, as a driver that breaks while loading would."""
    folder = tmp_path / "broken"
    folder.mkdir()
    guard = "import sys\nif 'probe' in ' '.join(sys.orig_argv):\n    "
    (folder / "sitecustomize.py").write_text(guard + code + "\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_a_driver_that_works_is_described_and_remembered(
    intel: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = probe(intel, 1)
    assert [d.kind for d in answer.devices] == ["cpu"]
    assert answer.devices[0].language == "clc++"
    assert answer.error == ""

    def refuse(*_: object) -> None:
        raise AssertionError("a child was started again")

    monkeypatch.setattr(drivers, "_probe_in_child", refuse)
    assert probe(intel, 1) == answer
    assert not isinstance(OpenCLBackend(1).discover(), Unavailable)


def test_a_driver_that_aborts_its_process_is_unavailable_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sabotage(tmp_path, monkeypatch, "sys.stderr.write('ld: not found\\n'); import os; os.abort()")
    found = OpenCLBackend(1).discover()
    assert isinstance(found, Unavailable)
    assert "signal 6" in found.reason
    assert "ld: not found" in found.reason
    assert found.remedy


def test_a_driver_that_hangs_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, intel: Driver
) -> None:
    sabotage(tmp_path, monkeypatch, "import threading; threading.Event().wait()")
    monkeypatch.setattr(drivers, "PROBE_LIMIT_S", 0.5)
    answer = probe(intel, 1)
    assert answer.devices == ()
    assert "within" in answer.error


def test_a_bad_answer_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, intel: Driver
) -> None:
    sabotage(tmp_path, monkeypatch, "import os; os._exit(3)")
    assert "code 3" in probe(intel, 1).error
    monkeypatch.delenv("PYTHONPATH")
    assert probe(intel, 1).devices


def test_a_library_that_is_no_driver_is_an_answer_too(tmp_path: Path) -> None:
    library = tmp_path / "libnothing.so"
    library.write_bytes(b"nothing")
    answer = probe(Driver("system", library), 1)
    assert answer.devices == ()
    assert answer.error


def test_several_drivers_are_listed_in_a_folder_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, intel: Driver
) -> None:
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "gpu.icd").write_text("libgpu.so.1\n", encoding="utf-8")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(vendors))
    monkeypatch.delenv(CHOICE_VARIABLE, raising=False)
    found = installed_drivers()
    assert [d.name for d in found[:2]] == ["intel", "system"]
    made = Path(environment(found[:2], 3)["OCL_ICD_VENDORS"])
    texts = [p.read_text(encoding="utf-8").strip() for p in sorted(made.iterdir())]
    assert texts == [str(intel.path), "libgpu.so.1"]
    assert environment([intel], 3)["OCL_ICD_VENDORS"] == str(intel.path)
    assert environment([intel], 3)["DPCPP_CPU_NUM_CUS"] == "3"


def test_intels_runtime_works_in_a_folder_whose_name_has_a_blank(
    intel: Driver, tmp_path: Path
) -> None:
    folder = tmp_path / "my «programs»"
    folder.mkdir()
    for file in intel.path.parent.iterdir():
        if file.is_file() and file.name != intel.path.name:
            (folder / file.name).symlink_to(file)
    shutil.copyfile(intel.path, folder / intel.path.name)
    moved = Driver("intel", folder / intel.path.name)
    used = Path(environment([moved], 1)["OCL_ICD_VENDORS"])
    assert " " not in str(used) and used.is_file()
    answer = probe(moved, 1)
    assert [d.kind for d in answer.devices] == ["cpu"], answer.error
    assert Path(environment([moved], 1)["OCL_ICD_VENDORS"]) == used
    shutil.rmtree(folder)  # another one, later, takes the old copy away
    again = tmp_path / "another folder"
    again.mkdir()
    (again / intel.path.name).write_bytes(b"a newer one")
    newer = Path(environment([Driver("intel", again / intel.path.name)], 1)["OCL_ICD_VENDORS"])
    assert newer.read_bytes() == b"a newer one"
    assert not used.parent.exists()


def test_what_was_set_for_the_loader_is_not_taken_for_the_users_own(
    monkeypatch: pytest.MonkeyPatch, intel: Driver
) -> None:
    before = installed_drivers(), chosen_by_user()
    for name, value in environment([intel], 1).items():
        monkeypatch.setenv(name, value)
    assert (installed_drivers(), chosen_by_user()) == before
    monkeypatch.setenv("OCL_ICD_VENDORS", "/elsewhere")
    assert chosen_by_user() == {"OCL_ICD_VENDORS": "/elsewhere"}


def test_the_device_is_the_same_when_another_driver_is_listed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "broken.icd").write_text("libdoesnotexist.so.1\n", encoding="utf-8")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(vendors))
    found = OpenCLBackend(1).discover()
    assert not isinstance(found, Unavailable)
    assert [d.kind for d in found] == ["cpu"]


def test_the_probe_prints_one_line_of_json_and_refuses_other_words(intel: Driver) -> None:
    command = module_command("gpuexplorer.backends.probe")
    done = subprocess.run(
        [*command, "opencl"], cwd=ROOT, env={**os.environ, **intel.environment(1)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1])["devices"]
    wrong = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2


POCL = """
import json, sys
from itertools import islice
import tests.backends.opencl_support as support
from gpuexplorer.workloads.loader import load
found = {"driver": support.device().driver, "precisions": support.device().precisions, "ran": []}
kernels = [
    (workload, name)
    for workload in load().values()
    for name, variant in workload.manifest.variants.items()
    if variant.launch and all(support.device().has(r) for r in variant.requires)
]
for workload, name in islice(kernels, 0, None, int(sys.argv[1])):
    first = next(iter(workload.manifest.sizes))
    for size in (64, 45):
        support.verify(workload, variant=name, precision="fp32", size={first: size})
    found["ran"].append(f"{workload.name}/{name}")
try:
    support.ready_runner(support.made_workload("__global__ void made(int *A) {\\n  oops;\\n}"))
except Exception as error:
    found["message"] = str(error)
print(json.dumps(found))
"""


@pytest.mark.parametrize(
    "each", [pytest.param(8, id="every eighth"), pytest.param(1, id="all", marks=pytest.mark.long)]
)
def test_pocl_runs_the_kernels_of_the_plain_c_subset(
    each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not any(d.name == "pocl" for d in installed_drivers()):
        pytest.skip("PoCL is not installed; it is the fallback where Intel's runtime is")
    monkeypatch.setenv(CHOICE_VARIABLE, "pocl")
    done = subprocess.run(
        [sys.executable, "-c", POCL, str(each)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if probe_process.TOO_OLD in done.stderr:
        pytest.skip("PoCL's compiler does not know this processor, and says so")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["driver"].startswith("Portable Computing Language")
    assert "fp16" not in found["precisions"]
    assert len(found["ran"]) >= 30 // each
    assert each > 1 or {"matmul/naive", "matmul/tiled", "reduction/tree"} <= set(found["ran"])
    assert "made.cu:2: " in found["message"]


@pytest.mark.parametrize(
    ("log", "problem"),
    [
        ("clBuildProgram failed: X\n\nBuild on <d>:\n\nerror: unknown target CPU 'generic'\n",
         probe_process.TOO_OLD),
        ("clBuildProgram failed: X\n\nerror: no linker\nwarning: y", "no linker"),
        ("a test kernel gave a wrong result", "a test kernel gave a wrong result"),
        ("", "no reason given"),
    ],
)  # fmt: skip
def test_of_a_long_log_the_line_with_the_reason_is_told(log: str, problem: str) -> None:
    assert probe_process.problem_of(log) == problem


@pytest.mark.parametrize(
    ("extensions", "told", "system", "limited"),
    [
        ("cl_khr_fp64 cl_nv_device_attribute_query", 1, "linux", True),
        ("cl_khr_fp64 cl_nv_device_attribute_query", 0, "win32", False),
        ("cl_khr_fp64", None, "win32", True),
        ("cl_khr_fp64", None, "linux", False),
    ],
)
def test_a_gpu_whose_system_ends_long_kernels_is_told_apart(
    extensions: str, told: int | None, system: str, limited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Device:
        def __init__(self) -> None:
            self.extensions = extensions

        def get_info(self, what: int) -> int:
            assert what == cl.device_info.KERNEL_EXEC_TIMEOUT_NV and told is not None
            return told

    cl = pytest.importorskip("pyopencl")
    monkeypatch.setattr(sys, "platform", system)
    assert probe_process._has_time_limit(cl, Device()) is limited
