"""Kernels with a fault: what is said, and that only their own process is lost."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import gpuexplorer

ROOT = Path(gpuexplorer.__file__).resolve().parents[1]
MANIFEST = """\
format = 1
name = "fault"
title = "Fault"
summary = "A kernel with a fault."
[sizes.N]
max = 1048576
default = 1024
[precisions]
fp32 = { tolerance = 1e-6 }
[arrays]
x = { shape = ["N"], role = "in" }
y = { shape = ["N"], role = "out" }
[work]
flops = "N"
read_bytes = "N * itemsize"
write_bytes = "N * itemsize"
[reference]
outputs = { y = "x" }
[variants.only]
title = "Only"
teaches = "Nothing."
[[variants.only.launch]]
source = "fault.cu"
entry = "fault"
block = [128]
grid = ["ceil_div(N, block_x)"]
args = ["x", "y", "N"]
"""
HEAD = """\
__global__ void fault(const float *x, float *y, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
"""
SCRIPT = """\
import sys
from pathlib import Path
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.workloads import loader
from gpuexplorer.workloads.choose import complete

class Quiet:
    def stage(self, name, deadline_s): print("stage", name, flush=True)
    def prepared(self, ready): pass
    def samples(self, batch): pass
    def memory(self, use): pass

laboratory = Laboratory(threads=1)
workload = loader.pick(loader.load([Path(sys.argv[1])]), sys.argv[2])
config = complete(RunRequest(workload=workload.name, device="cuda"), workload,
                  laboratory.devices())
try:
    laboratory.run(workload, config, Quiet(), lambda: False, seconds=0.1, max_noise=None,
                   allow_s=100.0)
    print("ok", flush=True)
except ExplorerError as error:
    print(type(error).__name__, error, flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "fault"
    made.mkdir()
    (made / "workload.toml").write_text(MANIFEST)
    return made


def write_kernel(folder: Path, body: str) -> None:
    (folder / "fault.cu").write_text(HEAD + body + "\n}\n")


def run_fault(folder: Path) -> str:
    """Run the faulty workload in a process of its own; return the last line it printed."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder.parent), "fault"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()[-1]


def test_a_right_kernel_passes(folder: Path) -> None:
    write_kernel(folder, "    if (i < N) y[i] = x[i];")
    assert run_fault(folder) == "ok"


def test_a_write_just_behind_an_array_is_found(folder: Path) -> None:
    write_kernel(folder, "    if (i < N) y[i] = x[i];\n    if (i == 0) y[N + 3] = 1.0f;")
    said = run_fault(folder)
    assert said.startswith("WrongResult")
    assert "12 bytes behind the end of 'y'" in said


def test_a_wrong_result_is_refused(folder: Path) -> None:
    write_kernel(folder, "    if (i < N) y[i] = x[i] + 1.0f;")
    assert run_fault(folder).startswith("WrongResult")


def test_an_illegal_address_is_one_sentence(folder: Path) -> None:
    write_kernel(folder, "    if (i < N) y[i + (1LL << 40)] = x[i];")
    said = run_fault(folder)
    assert said.startswith("DeviceLost")
    assert "outside its arrays" in said


def test_a_misaligned_access_is_one_sentence(folder: Path) -> None:
    write_kernel(folder, "    if (i < N) *(float *)((char *)y + 1) = x[i];")
    said = run_fault(folder)
    assert said.startswith("DeviceLost")
    assert "aligned" in said


def test_a_kernel_that_does_not_compile_names_file_and_line(folder: Path) -> None:
    write_kernel(folder, "    y[i] = nothing;")
    said = run_fault(folder)
    assert said.startswith("WorkFailed")
    assert "fault.cu:4" in said


def test_an_endless_kernel_ends_with_its_process_and_the_gpu_works_on(folder: Path) -> None:
    write_kernel(folder, "    volatile float *p = y;\n    while (p[0] != 12345.0f) { }")
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder.parent), "fault"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.split() in (["stage", "predict"], ["stage", "verify"]):
            break
    assert process.poll() is None
    killed = time.monotonic()
    process.kill()
    process.wait(timeout=30)
    write_kernel(folder, "    if (i < N) y[i] = x[i];")
    assert run_fault(folder) == "ok"
    print(f"killed to verified again: {time.monotonic() - killed:.2f} s")
    assert time.monotonic() - killed < 30
