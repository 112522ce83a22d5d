"""NVRTC: what ships compiles for every architecture; the cubin's figures are ptxas' own."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from typing import NamedTuple

import pytest

from gpuexplorer.analysis.static import CompileRequest, KernelFigures
from gpuexplorer.compile import nvrtc
from gpuexplorer.compile.cubin import CubinError, read_cubin
from gpuexplorer.compile.nvrtc import Compiled, compile_kernels, signatures, target_for
from gpuexplorer.compile.program import Nvrtc
from gpuexplorer.compile.service import answer
from gpuexplorer.compile.targets import is_ptx
from gpuexplorer.core.errors import CannotRunHere, InputError, WorkFailed
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload
from tests.support.crossed import crossed

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
KNOWN = [f"sm_{number}" for number in Nvrtc.load().known]
SHIPPED = load()
HEAVY = """\
__global__ void __launch_bounds__(256) heavy(const real *A, real *B, int n)
{
    __shared__ accum tile[32][33];
    accum mine[64];
    for (int k = 0; k < 64; k++) mine[k] = (accum)A[k * n] * (accum)threadIdx.x;
    tile[threadIdx.x % 32][threadIdx.x / 32] = mine[n % 64];
    __syncthreads();
    B[threadIdx.x] = (real)tile[n % 32][n % 33];
}
template <int WIDTH> __global__ void wide(real *B) { B[threadIdx.x] = (real)(accum)WIDTH; }
"""


class Source(NamedTuple):
    """What a kernel's file is compiled with: the macros and entries of all variants in it."""

    workload: str
    source: str
    precision: str
    defines: dict[str, int]
    entries: set[str]
    least: str
    """The oldest architecture that it is offered for."""

    @property
    def words(self) -> str:
        """Its name among the tests."""
        return f"{self.workload}-{self.source}-{self.precision}"


def sources() -> list[Source]:
    """Return every source in every precision; with NVRTCs of other engines in one, by turns."""
    found: dict[tuple[str, str, str], tuple[dict[str, int], set[str], str]] = {}
    for workload in SHIPPED.values():
        for name, variant in workload.manifest.variants.items():
            if "opencl" in variant.requires:  # written for the CPU device alone
                continue
            for step in variant.launch:
                for precision in workload.precisions_of(name):
                    key = (workload.name, step.source, precision)
                    needed = [r for r in variant.requires if r.startswith("sm_")]
                    least = max([ARCHITECTURES[0], *needed], key=lambda sm: int(sm[3:]))
                    defines, entries, _ = found.setdefault(key, ({}, set(), least))
                    entries.add(step.entry)
                    defines.update(default_tunables(workload, name))
    every = [Source(*key, *rest) for key, rest in found.items()]
    if find_spec("PySide6") is not None:
        return every
    turn = "GPUEXPLORER_TEST_NVRTC" in os.environ
    return [one for number, one in enumerate(every) if (number + number // 3) % 3 == turn]


def default_tunables(workload: Workload, variant: str) -> dict[str, int]:
    tunables = workload.variant(variant).tunables
    return {
        name: 16 if t.formula is not None else t.values[0] if t.default is None else t.default
        for name, t in tunables.items()
    }


@pytest.mark.parametrize(
    ("shipped", "arch"), crossed(sources(), ARCHITECTURES, name=lambda one: one.words)
)
def test_analyze_agrees_with_ptxas_on_every_shipped_kernel_and_architecture(
    shipped: Source, arch: str
) -> None:
    workload, source, precision, defines, entries, least = shipped
    arch = max(arch, least, key=lambda sm: int(sm[3:]))
    target = target_for(arch)
    cubin = compile_kernels(
        source,
        SHIPPED[workload].source.files,
        target,
        precision=precision,
        defines=defines,
        entries=sorted(entries),
    )
    assert set(cubin.kernels) == entries
    if is_ptx(target):  # this NVRTC does not know it: the driver says what kernels take
        return
    request = CompileRequest(
        source=source,
        files=SHIPPED[workload].source.files,
        arch=arch,
        precision=precision,
        defines=defines,
        entries=tuple(sorted(entries)),
    )
    (figures,) = answer([request]).figures
    assert {f.name for f in figures} == entries
    for kernel in figures:
        assert 0 < kernel.registers_per_thread <= 255
        assert kernel.spill_store_B == 0, "a shipped kernel spills"
        assert_ptxas_said(cubin, kernel)


def assert_ptxas_said(cubin: Compiled, kernel: KernelFigures) -> None:
    """Compare figures, which come from the cubin, with what ptxas printed of the same kernel."""
    symbol = cubin.kernels[kernel.name].symbol
    log = cubin.log.partition(f"Function properties for {symbol}\n")[2]
    log = log.partition("Compiling entry function")[0]
    assert kernel.registers_per_thread == number(r"Used (\d+) registers", log)
    assert kernel.static_shared_B == number(r"(\d+) bytes smem", log)
    assert kernel.local_B == number(r"(\d+) bytes stack frame", log)
    assert kernel.spill_store_B == number(r"(\d+) bytes spill stores", log)
    assert kernel.spill_load_B == number(r"(\d+) bytes spill loads", log)
    assert kernel.barriers == number(r"used (\d+) barriers", log)
    assert "registers" in log


@pytest.mark.parametrize(("arch", "precision"), crossed(KNOWN, ["fp64", "fp32", "fp16"]))
def test_the_cubins_figures_are_what_ptxas_printed(arch: str, precision: str) -> None:
    entries = ("heavy", "wide<3>")
    files = {"k.cu": HEAVY}
    cubin = compile_kernels("k.cu", files, arch, precision=precision, entries=entries)
    request = CompileRequest(
        source="k.cu", files=files, arch=arch, precision=precision, entries=entries
    )
    for kernel in answer([request]).figures[0]:
        assert_ptxas_said(cubin, kernel)
    heavy, wide = (cubin.kernels[name].resources for name in entries)
    assert heavy is not None and wide is not None
    assert heavy.max_threads == 256
    assert wide.max_threads is None
    assert heavy.static_shared_B > 0


def number(pattern: str, log: str) -> int:
    found = re.search(pattern, log)
    return int(found[1]) if found else 0


def test_no_kernel_is_named_means_all_that_are_not_templates() -> None:
    assert set(compile_kernels("k.cu", {"k.cu": HEAVY}, "sm_90").kernels) == {"heavy"}
    assert [p.name for p in signatures("k.cu", {"k.cu": HEAVY})["heavy"].parameters] == [
        "A",
        "B",
        "n",
    ]


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_textbook_headers_and_the_folders_own_are_understood(precision: str) -> None:
    files = {
        "k.cu": '#include <stdio.h>\n#include <cuda_runtime.h>\n#include "h.cuh"\n'
        "__global__ void k(real *A, int64_t n) { A[n] = (real)same(INFINITY); }\n",
        "h.cuh": "#pragma once\n__device__ float same(float x) { return x; }\n",
    }
    assert set(compile_kernels("k.cu", files, "sm_80", precision=precision).kernels) == {"k"}


def test_the_compilers_message_names_the_users_file_and_line() -> None:
    files = {"k.cu": '#include <stdio.h>\n#include "h.cuh"\n__global__ void k() { oops; }\n'}
    files["h.cuh"] = "\n"
    with pytest.raises(WorkFailed, match=r"k\.cu:3: .*oops") as caught:
        compile_kernels("k.cu", files, "sm_90")
    assert caught.value.detail.splitlines()[0].startswith("k.cu(3): error")
    files["h.cuh"] = "\n\nint x = oops;"
    with pytest.raises(WorkFailed, match=r"h\.cuh:3: "):
        compile_kernels("k.cu", files, "sm_90")


def test_unknown_names_are_input_errors() -> None:
    with pytest.raises(InputError, match="no kernel 'other'"):
        compile_kernels("k.cu", {"k.cu": HEAVY}, "sm_90", entries=["other"])
    with pytest.raises(InputError, match="sm_12"):
        compile_kernels("k.cu", {"k.cu": HEAVY}, "sm_12")


def test_a_second_compile_is_read_from_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    first = compile_kernels("k.cu", {"k.cu": HEAVY}, "sm_90")

    def refuse(*_: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(nvrtc, "_compile", refuse)
    assert compile_kernels("k.cu", {"k.cu": HEAVY}, "sm_90") == first
    with pytest.raises(AssertionError, match="compiled again"):
        compile_kernels("k.cu", {"k.cu": HEAVY}, "sm_90", defines={"TILE": 8})


def test_without_nvrtc_there_is_a_reason_and_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(CannotRunHere, match="pip install"):
        compile_kernels("k.cu", {"k.cu": HEAVY + "// never compiled before\n"}, "sm_90")


@pytest.mark.parametrize("length", [0, 3, 40, 200, 900])
def test_a_damaged_cubin_is_refused(length: int) -> None:
    code = compile_kernels("k.cu", {"k.cu": HEAVY}, "sm_90").code
    with pytest.raises(CubinError):
        read_cubin(code[:length], "sm_90")
    with pytest.raises(CubinError):
        read_cubin(b"MZ" + code[2:], "sm_90")
    with pytest.raises(CubinError):
        read_cubin(code, "native")
