"""FLT_MAX, INT_MAX, M_PI and their kin are the same for NVRTC, for OpenCL and for C."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from gpuexplorer.compile.nvrtc import compile_kernels
from gpuexplorer.compile.prelude import constants
from tests.backends.opencl_support import made_workload, ready_runner

F, D = np.finfo(np.float32), np.finfo(np.float64)
REALS = {
    "FLT_MAX": float(F.max), "FLT_MIN": float(F.tiny), "FLT_EPSILON": float(F.eps),
    "FLT_TRUE_MIN": float(F.smallest_subnormal), "DBL_MAX": float(D.max),
    "DBL_MIN": float(D.tiny), "DBL_EPSILON": float(D.eps),
    "DBL_TRUE_MIN": float(D.smallest_subnormal), "M_E": math.e, "M_PI": math.pi,
    "M_PI_2": math.pi / 2, "M_PI_4": math.pi / 4, "M_1_PI": 1 / math.pi, "M_2_PI": 2 / math.pi,
    "M_2_SQRTPI": 2 / math.sqrt(math.pi), "M_SQRT2": math.sqrt(2), "M_SQRT1_2": math.sqrt(0.5),
    "M_LN2": math.log(2), "M_LN10": math.log(10), "M_LOG2E": math.log2(math.e),
    "M_LOG10E": math.log10(math.e),
}  # fmt: skip
LONG_BITS = 8 * ctypes.sizeof(ctypes.c_long)


def whole(long_bits: int) -> dict[str, int]:
    found = {
        "CHAR_BIT": 8, "FLT_DIG": 6, "FLT_MANT_DIG": 24, "DBL_MANT_DIG": 53, "FLT_RADIX": 2,
        "FLT_MAX_EXP": 128, "DBL_MIN_EXP": -1021, "DBL_MAX_10_EXP": 308, "CHAR_MIN": -128,
    }  # fmt: skip
    for name, bits in (("SCHAR", 8), ("SHRT", 16), ("INT", 32), ("LONG", long_bits), ("LLONG", 64)):
        found[f"{name}_MAX"], found[f"{name}_MIN"] = 2 ** (bits - 1) - 1, -(2 ** (bits - 1))
        unsigned = "UCHAR_MAX" if name == "SCHAR" else f"U{name}_MAX"
        found[unsigned] = 2**bits - 1
    for bits in (8, 16, 32, 64):
        found[f"INT{bits}_MAX"], found[f"INT{bits}_MIN"] = 2 ** (bits - 1) - 1, -(2 ** (bits - 1))
        found[f"UINT{bits}_MAX"] = 2**bits - 1
    return found | {"SIZE_MAX": 2**64 - 1, "PTRDIFF_MIN": -(2**63), "INTPTR_MAX": 2**63 - 1}


@pytest.mark.parametrize(
    "include",
    [
        "",
        "#include <cfloat>\n#include <climits>\n#include <cmath>\n",
        "#include <cuda/std/limits>\n",
    ],
)
def test_cudas_compiler_has_them_all(include: str) -> None:
    def literal(value: int) -> str:
        return f"(-{-value - 1}LL - 1)" if value < 0 else f"{value}ULL"

    checks = [
        f"static_assert({name} == {literal(value)} && ({name} < 0) == {int(value < 0)});"
        for name, value in whole(LONG_BITS).items()
    ]
    checks += [f"static_assert((double){n} == {v.hex()});" for n, v in REALS.items()]
    checks += [
        "static_assert(sizeof(FLT_MAX) == 4 && sizeof(DBL_MAX) == 8 && sizeof(INT_MAX) == 4);",
        "static_assert(sizeof(LONG_MAX) == sizeof(long) && sizeof(LLONG_MIN) == 8);",
        "static_assert(sizeof(UINT_MAX) == 4 && UINT_MAX > 0 && sizeof(HUGE_VALF) == 4);",
    ]
    source = (
        f"{include}{chr(10).join(checks)}\n__global__ void k(float *A) {{ A[0] = HUGE_VALF; }}\n"
    )
    log = compile_kernels("k.cu", {"k.cu": source}, "sm_90").log
    assert "warning" not in log


def test_the_cpu_has_the_same() -> None:
    names = {**whole(64), **REALS}
    lines = "\n".join(f"    out[{i}] = (double)({name});" for i, name in enumerate(names))
    source = f"""#include <float.h>
__global__ void made(const int *A, int *B, int N) {{
    double *out = (double *)B;
{lines}
}}
"""
    arrays = (
        'A = { shape = ["N"], role = "in", type = "int" }\n'
        'B = { shape = ["N"], role = "out", type = "int" }'
    )
    workload = made_workload(source, arrays=arrays, block="[1]", grid="[1]")
    runner, _ = ready_runner(workload, size={"N": 2 * len(names)}, precision="fp32")
    runner.launch(1)
    runner.check_guards()
    found = runner.download(("B",))["B"].view(np.float64)
    runner.free()
    assert dict(zip(names, found, strict=True)) == {n: float(v) for n, v in names.items()}


def test_what_a_source_defines_itself_stays_its_own() -> None:
    source = "#define M_PI 3.0\n__global__ void k(double *A) { static_assert(M_PI == 3.0); }\n"
    assert "warning" not in compile_kernels("k.cu", {"k.cu": source}, "sm_90").log
    assert constants(source, 64, "LL") == ""
    assert "INT_MAX 2147483647" in constants("x = INT_MAX;", 64, "LL")
