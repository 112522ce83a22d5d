"""What is compiled for a GPU that NVRTC knows, for a newer one, and for one that is too old."""

from __future__ import annotations

import re

import pytest

from gpuexplorer.analysis.static import CompileRequest
from gpuexplorer.compile import nvrtc
from gpuexplorer.compile.nvrtc import compile_kernels
from gpuexplorer.compile.program import Nvrtc
from gpuexplorer.compile.service import answer
from gpuexplorer.compile.targets import is_ptx, number, target_for
from gpuexplorer.core.errors import CannotRunHere, InputError

KNOWN = {
    (12, 6): (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90),
    (12, 9): (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121),
    (13, 0): (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121),
}
"""What nvrtcGetSupportedArchs says."""
ADD = "__global__ void add(float *A) { A[threadIdx.x] += 1.0f; }\n"


def test_this_nvrtc_knows_what_the_table_says() -> None:
    here = Nvrtc.load()
    assert here.known == KNOWN[here.version]


@pytest.mark.parametrize(
    ("version", "arch", "target"),
    [
        ((13, 0), "sm_75", "sm_75"),
        ((13, 0), "sm_90a", "sm_90a"),
        ((13, 0), "sm_120a", "sm_120a"),
        ((13, 0), "sm_130a", "compute_121"),  # newer than all
        ((13, 0), "sm_101a", "compute_100"),  # between two
        ((12, 6), "sm_100a", "compute_90"),
        ((12, 6), "sm_120a", "compute_90"),  # never compute_90a, which runs on 9.0 alone
        ((12, 6), "sm_61", "sm_61"),
        ((12, 9), "sm_120f", "sm_120f"),
        ((12, 9), "sm_88", "compute_87"),
    ],
)
def test_a_gpu_gets_its_own_code_or_ptx_of_the_newest_before_it(
    version: tuple[int, int], arch: str, target: str
) -> None:
    assert target_for(arch, KNOWN[version], version) == target
    assert is_ptx(target) == (number(arch) not in KNOWN[version])


@pytest.mark.parametrize(
    ("version", "arch", "words"),
    [
        (
            (13, 0),
            "sm_61",
            "NVRTC 13.0 compiles for sm_75 and newer, and this GPU is sm_61; use the",
        ),
        ((13, 0), "sm_70", r"use the CUDA 12 libraries: pip install 'gpuexplorer\[cuda12\]'$"),
        ((13, 0), "sm_37", "this GPU is sm_37; use another GPU$"),
        ((12, 9), "sm_37", "compiles for sm_50 and newer, and this GPU is sm_37; use another GPU$"),
    ],
)
def test_no_ptx_helps_a_gpu_that_is_too_old(
    version: tuple[int, int], arch: str, words: str
) -> None:
    with pytest.raises(CannotRunHere, match=words):
        target_for(arch, KNOWN[version], version)


@pytest.mark.parametrize("arch", ["native", "sm_", "compute_90", ""])
def test_what_is_no_architecture_is_refused(arch: str) -> None:
    with pytest.raises(InputError, match="is not an architecture"):
        target_for(arch, KNOWN[13, 0], (13, 0))


def test_ptx_is_what_a_driver_loads_and_what_only_it_knows_is_not_told() -> None:
    newest = max(Nvrtc.load().known)
    target = nvrtc.target_for("sm_999")
    assert target == f"compute_{newest}"
    compiled = compile_kernels("k.cu", {"k.cu": ADD}, target)
    assert compiled.target == target
    assert compiled.code.endswith(b"\0"), "cuModuleLoadData takes PTX to the first zero"
    text = compiled.code.decode()
    assert re.search(rf"^\.target sm_{newest}$", text, re.MULTILINE), "not of one chip alone"
    (kernel,) = compiled.kernels.values()
    assert f".entry {kernel.symbol}(" in text
    assert (kernel.resources, kernel.barriers, kernel.spill_store_B) == (None, None, None)


def test_ptx_and_cubin_of_one_source_are_kept_apart() -> None:
    newest = max(Nvrtc.load().known)
    for _ in range(2):  # the second time from the disk
        ptx = compile_kernels("k.cu", {"k.cu": ADD}, f"compute_{newest}")
        cubin = compile_kernels("k.cu", {"k.cu": ADD}, f"sm_{newest}")
        assert ptx.code.startswith(b"//") and cubin.code.startswith(b"\x7fELF")


def test_compiling_ptx_ahead_fills_the_cache_and_claims_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = f"compute_{max(Nvrtc.load().known)}"
    files = {"k.cu": ADD + "// compiled ahead\n"}
    assert answer([CompileRequest(source="k.cu", files=files, arch=target)]).figures == [[]]

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(Nvrtc, "build", refuse)
    assert set(compile_kernels("k.cu", files, target).kernels) == {"add"}


@pytest.mark.parametrize("arch", ["sm_999", "sm_130a", "sm_35", "sm_75a", "native"])
def test_analysis_of_an_unknown_architecture_is_refused_in_one_sentence(arch: str) -> None:
    refusal = answer([CompileRequest(source="k.cu", files={"k.cu": ADD}, arch=arch)]).refusal
    assert refusal is not None and refusal.exit_code == 2
    assert re.fullmatch(rf"NVRTC \d+\.\d does not compile for '{arch}'", refusal.what)
    assert "sm_75, sm_80" in refusal.remedy and "\n" not in refusal.remedy
