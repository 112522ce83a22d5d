"""Scalars reach a kernel on the CPU in the type that its compiler sees, or are refused."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.core.errors import InputError
from tests.backends.opencl_support import device, made_workload, ready_runner

BEFORE = """\
typedef unsigned long long u64;
using index_t = size_t;
typedef long offset_t;
typedef bool flag_t;
#define COUNT unsigned int
#if REAL_BITS == 64
typedef double scale_t;
#else
typedef float scale_t;
#endif
typedef scale_t factor_t;
enum Mode { OFF, ON };
struct Pair { int a; float b; };
template <typename T> struct Wide { typedef T type; };
"""
PLAIN_C = BEFORE.partition("enum Mode")[0].replace(
    "using index_t = size_t", "typedef size_t index_t"
)


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


def is_cpp() -> bool:
    return "Portable" not in device().driver


def passed(
    type_: str, value: str, shown: str = "x", kind: str = "int", precision: str = "fp32"
) -> float:
    """Return what a kernel makes of a parameter ``x`` of a type: ``shown``, as a double."""
    source = (
        f"{BEFORE if is_cpp() else PLAIN_C}"
        f"__global__ void made(const int *A, int *B, {type_} x, int after, int N)\n"
        f"{{\n    double *found = (double *)B;\n"
        f"    if (threadIdx.x == 0) found[0] = (double)({shown}) + 1000.0 * (after - 7);\n}}\n"
    )
    workload = made_workload(
        source,
        args=f'["A", "B", {{ type = "{kind}", value = "{value}" }}, {{ value = "7" }}, "N"]',
        arrays='A = { shape = ["N"], role = "in", type = "int" }\n'
        'B = { shape = ["N"], role = "out", type = "int" }',
        grid="[1]",
    )
    runner, _ = ready_runner(workload, size={"N": 64}, precision=precision)
    try:
        runner.launch(1)
        runner.check_guards()
        return float(runner.download(("B",))["B"].view(np.float64)[0])
    finally:
        runner.free()


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("long", "-5", -5.0),
        ("long int", "-5", -5.0),
        ("unsigned long", "2147483647", 2147483647.0),
        ("u64", "9", 9.0),
        ("const u64", "9", 9.0),
        ("index_t", "12", 12.0),
        ("std::size_t", "12", 12.0),
        ("ptrdiff_t", "-12", -12.0),
        ("offset_t", "-3", -3.0),
        ("flag_t", "1", 1.0),
        ("COUNT", "2147483647", 2147483647.0),
        ("short", "-300", -300.0),
        ("unsigned char", "200", 200.0),
        ("int", "-1", -1.0),
    ],
)
def test_whole_numbers(type_: str, value: str, expected: float) -> None:
    if type_.startswith("std::") and not is_cpp():
        pytest.skip("plain C has no namespaces")
    assert passed(type_, value) == expected


def test_an_alias_of_two_types_is_the_one_that_the_compiler_sees() -> None:
    if not is_cpp():
        pytest.skip("plain C has no template to ask with")
    assert passed("scale_t", "0.5", kind="real") == 0.5
    assert passed("factor_t", "0.5", "x + (sizeof(x) == 8)", kind="real", precision="fp64") == 1.5
    assert passed("Wide<long long>::type", "-4") == -4.0


@pytest.mark.parametrize(
    ("type_", "value", "shown", "kind"),
    [
        ("bool", "2", "2", "int"),
        ("flag_t", "2", "2", "int"),
        ("u64", "-1", "-1", "int"),
        ("unsigned char", "256", "256", "int"),
        ("signed char", "-129", "-129", "int"),
        ("short", "40000", "40000", "int"),
        ("int", "0.5", "0.5", "real"),
        ("long", "0.5", "0.5", "real"),
        ("float", "1e39", "9999999999999999", "accum"),
    ],
)
def test_what_a_type_does_not_hold_is_refused(
    type_: str, value: str, shown: str, kind: str
) -> None:
    with pytest.raises(InputError, match=rf"'x' is {type_}, which cannot hold {shown}"):
        passed(type_, value, kind=kind)


@pytest.mark.parametrize(
    "type_", ["int2", "float4", "float3", "Pair", "struct Pair", "Mode", "dim3"]
)
def test_what_no_number_fills_is_refused_with_parameter_and_type(type_: str) -> None:
    if not is_cpp() and type_ in ("Pair", "struct Pair", "Mode", "dim3"):
        pytest.skip("plain C has none of these here")
    name = type_.removeprefix("struct ")
    with pytest.raises(
        InputError, match=rf"made\.cu:\d+: 'x' is {name}, which a manifest cannot fill"
    ) as caught:
        passed(type_, "1", "after")
    assert caught.value.remedy
