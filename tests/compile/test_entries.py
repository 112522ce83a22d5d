"""What runs of a file: a kernel, an instance of a template, a function of the host."""

from __future__ import annotations

import pytest

from gpuexplorer.compile.nvrtc import compile_kernels
from gpuexplorer.compile.rewriter import rewrite
from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.cuda_source import CudaSource
from gpuexplorer.workloads.instances import (
    plain_name,
    split_entry,
    template_parameters,
    with_instance,
)
from tests.support.own_kernels import TEMPLATES, WITH_CPU

FILES = {"sums.cu": TEMPLATES}


def test_an_entry_is_split_and_made_a_name() -> None:
    assert split_entry("k<unsigned int, (1 << 4), P<int, 2>>") == (
        "k", ("unsigned int", "(1 << 4)", "P<int, 2>"),
    )  # fmt: skip
    assert split_entry("n::k") == split_entry("k<>") == ("k", ())
    assert plain_name("k<float, 16>") == "k_float_16"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("float", "16"), "void k(const float* a, unsigned n) { a[0].T = float(16); }"),
        (("unsigned int", "1 + 1"), "void k(const unsigned* a, unsigned n) "
         "{ a[0].T = unsigned((1 + 1)); }"),
        (("double",), "void k(const double* a, unsigned n) { a[0].T = double((S::N)); }"),
    ],
)  # fmt: skip
def test_an_instance_has_its_arguments_in_place_of_the_names(
    arguments: tuple[str, ...], line: str
) -> None:
    source = CudaSource(
        "// T\ntemplate <typename T,\n          int N = S::N>\n"
        "__global__ void k(const T* a, unsigned n) { a[0].T = T(N); }\n"
    )
    text = with_instance(source, source.kernels["k"], arguments).text
    assert text.splitlines()[0] == "// T" and text.splitlines()[3] == f"__global__ {line}"
    assert len(text.splitlines()) == 4 and "template" not in text


def test_only_the_kernel_that_runs_is_rewritten() -> None:
    made = rewrite("sums.cu", FILES, entry="blockSum<float, 64>")
    assert list(made.kernels) == ["blockSum"]
    assert "float cache[64]" in made.source and "enum { BLOCK = 64 };" in made.source
    assert "debugDump" not in made.source and "asm" not in made.source
    place = made.origin.place("sums.cu", 6, 1)
    assert place is not None and place.text == "{"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("blockSum", "'blockSum' is a template of T, BLOCK; name an instance of it, such as "
         "'blockSum<float, 256>'"),
        ("product", "sums.cu has no kernel 'product'; it has blockSum, debugDump"),
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_meant_is_one_sentence(entry: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        rewrite("sums.cu", FILES, entry=entry)
    assert words in str(caught.value)
    with pytest.raises(InputError) as caught:
        compile_kernels("sums.cu", FILES, "sm_90", entries=[entry])
    assert words in str(caught.value)


def test_an_instance_compiles_for_a_gpu() -> None:
    entry = "blockSum<double, 64>"
    made = compile_kernels("sums.cu", FILES, "sm_90", entries=[entry]).kernels[entry]
    assert made.resources is not None and made.resources.static_shared_B == 512


def test_a_function_of_the_host_becomes_a_kernel_with_what_it_calls() -> None:
    files, entry = {"mm.cu": WITH_CPU}, "matrixMulCPU"
    made = rewrite("mm.cu", files, entry=entry)
    assert list(made.kernels) == [entry] and "allocate" not in made.source
    built = compile_kernels("mm.cu", files, "sm_90", entries=[entry, "matrixMul"])
    assert list(built.kernels) == [entry, "matrixMul"]


def test_the_parameters_of_a_template_are_read() -> None:
    source = CudaSource(TEMPLATES)
    found = template_parameters(source, source.kernels["blockSum"])
    assert [(p.name, p.is_type, p.default) for p in found] == [
        ("T", True, None),
        ("BLOCK", False, "256"),
    ]
    assert template_parameters(source, source.kernels["debugDump"]) == []
