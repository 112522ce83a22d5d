"""The text put before a workload's source: types for the precision, tunables, CUDA's names.

``real`` is the storage type, ``accum`` the type of arithmetic; ``REAL_BITS`` is 16, 32 or 64, and
``REAL_IS_HALF``, ``REAL_IS_BF16`` and ``REAL_IS_TF32`` are 1 or 0. Tunables become macros.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from typing import Literal

from gpuexplorer.compile.math_names import std_names
from gpuexplorer.compile.prelude_opencl import (
    C_ONLY,
    COMMON,
    CPP_ONLY,
    FLOAT_FUNCTIONS,
    FP16,
    FP64,
)
from gpuexplorer.compile.prelude_parts import used_parts
from gpuexplorer.compile.prelude_vectors import vector_types
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.workloads.cuda_source import blank

Language = Literal["clc++", "c"]
"""C++ for OpenCL 2021, or plain OpenCL C."""

PRELUDE_NAME = "prelude"

_TYPES = {
    "fp64": ("double", "double"),
    "fp32": ("float", "float"),
    "fp16": ("half", "float"),
    "bf16": ("bfloat16", "float"),
    "tf32": ("float", "float"),
}


_BFLOAT = "gpux_bf16"
"""The name of bf16 in C++ for OpenCL; plain OpenCL C, which has no operators, has it not."""
_HEADERS = {"fp16": "#include <cuda_fp16.h>\n", "bf16": "#include <cuda_bf16.h>\n"}


def _common(precision: str, own: Mapping[str, str], defines: Mapping[str, int]) -> str:
    """``own`` are the names of the narrow types in the language."""
    storage, accum = (own.get(t, t) for t in _TYPES[precision])
    bits = PRECISIONS[precision].itemsize_B * 8
    lines = [
        f"typedef {storage} real;",
        f"typedef {accum} accum;",
        f"#define REAL_BITS {bits}",
        f"#define REAL_IS_HALF {int(precision == 'fp16')}",
        f"#define REAL_IS_BF16 {int(precision == 'bf16')}",
        f"#define REAL_IS_TF32 {int(precision == 'tf32')}",
        *(f"#define {name} ({value})" for name, value in defines.items()),
    ]
    return "\n".join(lines) + "\n"


def opencl_prelude(
    precision: str,
    defines: Mapping[str, int],
    language: Language,
    source: str,
    *,
    fp16: bool = False,
    fp64: bool = False,
) -> str:
    """Return the OpenCL prelude of a source; ``fp16`` and ``fp64`` say what the device has."""
    parts = [f'#line 1 "{PRELUDE_NAME}"\n']
    parts += [FP64] if fp64 else []
    parts += [FP16] if fp16 else []
    cpp = language == "clc++"
    parts += [COMMON, FLOAT_FUNCTIONS, CPP_ONLY if cpp else C_ONLY]
    plain = blank(source)
    bfloat = precision == "bf16" and cpp
    says = f"{plain} {_BFLOAT}" if bfloat else plain
    more = used_parts(says, fp16=fp16, fp64=fp64) if cpp else ""
    parts += [vector_types(source + more, cpp=cpp, fp64=fp64), more]
    parts += [constants(plain, 64, "L")]
    return "".join([*parts, _common(precision, {"bfloat16": _BFLOAT}, defines)])


def cuda_prelude(precision: str, defines: Mapping[str, int], source: str) -> str:
    """Return the CUDA prelude of a source; half comes with its header."""
    plain = blank(source)
    named = constants(plain, HOST_LONG_BITS, "LL") + std_names(plain)
    own = {"half": "__half", "bfloat16": "__nv_bfloat16"}
    include = _HEADERS.get(precision, "")
    return f'#line 1 "{PRELUDE_NAME}"\n{include}{CUDA}{named}{_common(precision, own, defines)}'


# ---- CUDA's names for NVRTC


CUDA = """\
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned int uint;
"""


# ---- constants of the headers
# What ``float.h``, ``limits.h``, ``stdint.h`` and ``math.h`` define, for compilers without them.
#
# NVRTC has none of these headers and OpenCL only some of their names. The values are those of every
# device here: IEEE numbers, two's complement, and a ``long`` as wide as the host's for NVRTC, which
# follows it, and of 64 bits in OpenCL.


_REAL = {
    "FLT_RADIX": "2",
    "FLT_MANT_DIG": "24",
    "FLT_DIG": "6",
    "FLT_DECIMAL_DIG": "9",
    "FLT_MIN_EXP": "(-125)",
    "FLT_MAX_EXP": "128",
    "FLT_MIN_10_EXP": "(-37)",
    "FLT_MAX_10_EXP": "38",
    "FLT_MAX": "3.40282346638528859812e+38f",
    "FLT_MIN": "1.17549435082228750797e-38f",
    "FLT_TRUE_MIN": "1.40129846432481707092e-45f",
    "FLT_EPSILON": "1.1920928955078125e-7f",
    "DBL_MANT_DIG": "53",
    "DBL_DIG": "15",
    "DBL_DECIMAL_DIG": "17",
    "DBL_MIN_EXP": "(-1021)",
    "DBL_MAX_EXP": "1024",
    "DBL_MIN_10_EXP": "(-307)",
    "DBL_MAX_10_EXP": "308",
    "DBL_MAX": "1.79769313486231570815e+308",
    "DBL_MIN": "2.22507385850720138309e-308",
    "DBL_TRUE_MIN": "4.94065645841246544177e-324",
    "DBL_EPSILON": "2.22044604925031308085e-16",
    "M_E": "2.71828182845904523536",
    "M_LOG2E": "1.44269504088896340736",
    "M_LOG10E": "0.43429448190325182765",
    "M_LN2": "0.69314718055994530942",
    "M_LN10": "2.30258509299404568402",
    "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923",
    "M_PI_4": "0.78539816339744830962",
    "M_1_PI": "0.31830988618379067154",
    "M_2_PI": "0.63661977236758134308",
    "M_2_SQRTPI": "1.12837916709551257390",
    "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440",
    "HUGE_VALF": "INFINITY",
    "HUGE_VAL": "((double)INFINITY)",
    "NULL": "0",
}


def _whole(long_bits: int, wide_suffix: str) -> Iterator[tuple[str, str]]:
    """Yield the limits of whole numbers."""
    wide = {"LLONG": 64, "LONG": long_bits, "INT": 32, "SHRT": 16, "SCHAR": 8}
    for name, bits in wide.items():
        suffix = wide_suffix if name == "LLONG" else "L" if name == "LONG" else ""
        most = 2 ** (bits - 1) - 1
        unsigned = "UCHAR" if name == "SCHAR" else f"U{name}"
        yield f"{name}_MAX", f"{most}{suffix}"
        yield f"{name}_MIN", f"(-{most}{suffix} - 1)"
        yield f"{unsigned}_MAX", f"{2 * most + 1}{'U' if bits >= 32 else ''}{suffix}"
    yield "CHAR_BIT", "8"
    yield "CHAR_MAX", "127"
    yield "CHAR_MIN", "(-128)"
    for name, bits in (("", 8), ("", 16), ("", 32), ("", 64), ("PTR", 64), ("MAX", 64)):
        kind = f"{name}" if name else f"{bits}"
        suffix, most = (wide_suffix if bits == 64 else ""), 2 ** (bits - 1) - 1
        yield f"INT{kind}_MAX", f"{most}{suffix}"
        yield f"INT{kind}_MIN", f"(-{most}{suffix} - 1)"
        yield f"UINT{kind}_MAX", f"{2 * most + 1}{'U' if bits >= 32 else ''}{suffix}"
    yield "SIZE_MAX", f"{2**64 - 1}U{wide_suffix}"
    yield "PTRDIFF_MAX", f"{2**63 - 1}{wide_suffix}"
    yield "PTRDIFF_MIN", f"(-{2**63 - 1}{wide_suffix} - 1)"


HOST_LONG_BITS = 8 * struct.calcsize("@l")
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_WORD = re.compile(r"\b[A-Z]\w*\b")


def constants(source: str, long_bits: int, wide_suffix: str) -> str:
    """Return macros for the constants that a source names and does not define, as far as missing.

    ``source`` has its comments and literals blanked; ``wide_suffix`` is that of numbers of 64 bits.
    """
    table = {**_REAL, **dict(_whole(long_bits, wide_suffix))}
    wanted = set(_WORD.findall(source)) - set(_DEFINED.findall(source))
    return "".join(
        f"#ifndef {name}\n#define {name} {value}\n#endif\n"
        for name, value in table.items()
        if name in wanted
    )
