"""The ceiling kernels are right on this CPU, and on GPUs stay in registers and really multiply."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpuexplorer.calibration
from gpuexplorer.analysis.static import CompileRequest
from gpuexplorer.calibration.plan import ceiling_workloads
from gpuexplorer.compile.nvrtc import compile_kernels
from gpuexplorer.compile.service import figures_of
from tests.support.cli import run_cli

FOLDER = Path(gpuexplorer.calibration.__file__).parent / "kernels"
ARCHITECTURES = ("sm_75", "sm_90", "sm_120")
CHAINS = (4, 8, 16)


def test_every_variant_is_right_here_at_awkward_sizes_too(tmp_path: Path) -> None:
    done = run_cli("check-kernels", FOLDER, "--device", "cpu", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("chains", CHAINS)
@pytest.mark.parametrize(
    ("source", "precision"),
    [("chains.cu", "fp64"), ("chains.cu", "fp32"), ("chains.cu", "fp16"), ("pairs.cu", "fp16")],
)
def test_chains_stay_in_registers(source: str, precision: str, chains: int, arch: str) -> None:
    workload = ceiling_workloads()["ceiling-fma"]
    request = CompileRequest(
        source=source, files=workload.source.files, arch=arch, precision=precision,
        defines={"CHAINS": chains}, entries=(source.removesuffix(".cu"),),
    )  # fmt: skip
    (kernel,) = figures_of(request)
    assert kernel.local_B == 0 and kernel.spill_store_B == 0
    assert kernel.registers_per_thread <= 128


@pytest.mark.parametrize(
    ("source", "precision", "instruction"),
    [
        ("chains.cu", "fp64", "fma.rn.f64"),
        ("chains.cu", "fp32", "fma.rn.f32"),
        ("pairs.cu", "fp16", "fma.rn.f16x2"),
    ],
)
def test_every_chain_has_its_multiply_add(source: str, precision: str, instruction: str) -> None:
    files = ceiling_workloads()["ceiling-fma"].source.files
    compiled = compile_kernels(
        source, files, "compute_90", precision=precision, defines={"CHAINS": 8}
    )
    lines = compiled.code.decode().splitlines()
    assert sum(instruction in line for line in lines) >= 8


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", ["ceiling-memory", "ceiling-read"])
def test_memory_kernels_compile_without_spills(name: str, arch: str) -> None:
    workload = ceiling_workloads()[name]
    for precision in workload.manifest.precisions:
        for source in workload.source.files:
            request = CompileRequest(
                source=source, files=workload.source.files, arch=arch, precision=precision,
                defines={}, entries=(),
            )  # fmt: skip
            for kernel in figures_of(request):
                assert kernel.local_B == 0 and kernel.spill_store_B == 0
