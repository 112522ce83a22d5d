"""What a compiled kernel takes for its parameters: sizes from cubin and PTX, kinds from names."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.compile.arguments import declared_dtype
from gpuexplorer.compile.cubin import CubinError, parameter_sizes
from gpuexplorer.compile.nvrtc import compile_kernels, target_for
from gpuexplorer.compile.parameters import CompiledParameter, kinds_of, sizes_in_ptx
from gpuexplorer.compile.program import Nvrtc

KNOWN = [f"sm_{number}" for number in Nvrtc.load().known]
SOURCE = """\
typedef unsigned long long u64;
using flag_t = bool;
enum Mode { OFF, ON };
struct Body { float mass; double place; char name; };
template <typename T> struct Box { T held; };
namespace own { typedef short count_t; struct Deep { int x[7]; }; }
struct Large { char bytes[4000]; };
extern "C" __global__ void k(
    const float *A, u64 n, long l, const unsigned int u, flag_t f, own::count_t s, signed char c,
    float x, double d, int2 pair, Body body, Mode mode, Box<Box<int>> box, own::Deep deep,
    unsigned char *const *pp, int (*rows)[3]) { }
template <typename T, int N> __global__ void t(T *A, T x, Box<T> box) { }
__global__ void large(const float *A, Large large, int n) { }
__global__ void none() { }
"""
LONG_B = struct.calcsize("@l")
"""NVRTC follows the host: 8 under Linux, 4 under Windows."""
EXPECTED = [
    (8, "pointer"), (8, "unsigned"), (LONG_B, "signed"), (4, "unsigned"), (1, "bool"),
    (2, "signed"), (1, "signed"), (4, "float"), (8, "float"), (8, "other"), (24, "other"),
    (4, "other"), (4, "other"), (28, "other"), (8, "pointer"), (8, "pointer"),
]  # fmt: skip
ENTRIES = ["k", "t<double, 3>", "t<int, 1>", "large", "none"]


def of(target: str) -> dict[str, list[tuple[int, str | None]]]:
    compiled = compile_kernels("k.cu", {"k.cu": SOURCE}, target, entries=ENTRIES, probed=ENTRIES)
    return {n: [(p.size_B, p.kind) for p in k.parameters] for n, k in compiled.kernels.items()}


@pytest.mark.parametrize("arch", KNOWN)
def test_sizes_and_kinds_on_every_architecture(arch: str) -> None:
    found = of(arch)
    assert found["k"] == EXPECTED
    assert found["t<double, 3>"] == [(8, "pointer"), (8, "float"), (8, "other")]
    assert found["t<int, 1>"] == [(8, "pointer"), (4, "signed"), (4, "other")]
    assert found["large"] == [(8, "pointer"), (4000, "other"), (4, "signed")]
    assert found["none"] == []


def test_ptx_tells_the_same() -> None:
    assert of(target_for("sm_999")) == of(KNOWN[0])


def test_parameters_of_more_than_4_KiB() -> None:
    if Nvrtc.load().version < (12, 1):
        pytest.skip("kernels take 4 KiB at the most")
    source = SOURCE.replace("bytes[4000]", "bytes[5000]")
    for target in (KNOWN[-1], target_for("sm_999")):
        compiled = compile_kernels("k.cu", {"k.cu": source}, target, entries=["large"])
        sizes = [p.size_B for p in compiled.kernels["large"].parameters]
        assert sizes == [8, 5000, 4]


TYPES = [
    "float", "double", "bool", "char", "signed char", "unsigned char", "int8_t", "uint8_t", "short",
    "unsigned short", "int16_t", "uint16_t", "int", "unsigned", "unsigned int", "int32_t",
    "uint32_t", "long long", "unsigned long long", "int64_t", "uint64_t", "size_t", "ptrdiff_t",
]  # fmt: skip


def test_every_type_that_the_text_tells_has_the_size_that_it_has_in_the_code() -> None:
    listed = ", ".join(f"{t} p{i}" for i, t in enumerate(TYPES))
    source = f"__global__ void k({listed}) {{ }}\n"
    kernel = compile_kernels("k.cu", {"k.cu": source}, KNOWN[0], probed=["k"]).kernels["k"]
    for type_, told in zip(TYPES, kernel.parameters, strict=True):
        dtype = declared_dtype(type_, "fp32")
        assert dtype is not None
        assert dtype.itemsize == told.size_B, type_
        kind = {"i": "signed", "u": "unsigned", "f": "float"}[dtype.kind]
        assert told.kind == ("bool" if type_ == "bool" else kind), type_


def test_kinds_are_not_asked_for_where_nobody_needs_them() -> None:
    kernels = compile_kernels("k.cu", {"k.cu": SOURCE}, KNOWN[0], entries=["k"]).kernels
    assert kernels["k"].parameters[0] == CompiledParameter(size_B=8)
    assert set(kernels) == {"k"}


def test_a_type_that_cannot_be_asked_for_costs_only_its_kind() -> None:
    source = "namespace { struct Hidden { int x; }; }\n__global__ void k(Hidden h, int n) { }\n"
    kernel = compile_kernels("k.cu", {"k.cu": source}, KNOWN[0], probed=["k"]).kernels["k"]
    assert [p.size_B for p in kernel.parameters] == [4, 4]


@pytest.mark.parametrize(
    ("symbol", "kinds"),
    [
        ("_Z9gpux_typeIPFvvEE", []),
        ("_Z9gpux_typeIPDoFviEE", ["signed"]),
        ("_Z9gpux_typeIPFvSt4pairIifES0_fEE", ["other", "other", "float"]),
        ("_Z9gpux_typeIPFv1AILi3ELb1EEJE", None),
        ("_Z9gpux_typeIPFvDF16_DhyEE", ["other", "other", "unsigned"]),
        ("_Z9gpux_typeIPFvPFvidEjEE", ["pointer", "unsigned"]),
        ("_Z9gpux_typeIPFvN1a1bE1cIJidEEfEE", ["other", "other", "float"]),
        ("_Z1kPf", None),
        ("_Z9gpux_typeIPFv99shortEE", None),
    ],
)
def test_mangled_names(symbol: str, kinds: list[str] | None) -> None:
    assert kinds_of(symbol) == kinds


@given(st.text(alphabet="PKiIENSFALJ_0123vftDT", max_size=40))
def test_any_symbol_is_read_without_failing(text: str) -> None:
    kinds_of(f"_Z9gpux_typeIPFv{text}EE")


def test_nested_beyond_measure() -> None:
    assert kinds_of(f"_Z9gpux_typeIPFv{'P' * 5000}iEE") is None


@given(st.binary(max_size=200))
def test_bytes_that_are_no_cubin(data: bytes) -> None:
    with pytest.raises(CubinError):
        parameter_sizes(b"\x7fELF\x02" + data)


def test_text_that_is_no_ptx() -> None:
    assert sizes_in_ptx("") == {}
    assert sizes_in_ptx(".visible .entry k(\n)\n{ ret; }") == {"k": ()}
