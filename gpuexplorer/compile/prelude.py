"""The text put before a workload's source: types for the precision, tunables, CUDA's names.

``real`` is the storage type, ``accum`` the type of arithmetic; ``REAL_BITS`` is 16, 32 or 64 and
``REAL_IS_HALF`` 1 or 0. Tunables become macros.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from gpuexplorer.compile.constants import HOST_LONG_BITS, constants
from gpuexplorer.compile.cuda_source import blank
from gpuexplorer.compile.prelude_cuda import CUDA
from gpuexplorer.compile.prelude_opencl import (
    C_ONLY,
    COMMON,
    CPP_ONLY,
    FLOAT_FUNCTIONS,
    FP16,
    FP64,
)
from gpuexplorer.compile.prelude_vectors import vector_types
from gpuexplorer.core.precision import PRECISIONS

Language = Literal["clc++", "c"]
"""C++ for OpenCL 2021, or plain OpenCL C."""

PRELUDE_NAME = "prelude"

_TYPES = {
    "fp64": ("double", "double"),
    "fp32": ("float", "float"),
    "fp16": ("half", "float"),
}


def _common(precision: str, half: str, defines: Mapping[str, int]) -> str:
    storage, accum = (half if t == "half" else t for t in _TYPES[precision])
    bits = PRECISIONS[precision].itemsize_B * 8
    lines = [
        f"typedef {storage} real;",
        f"typedef {accum} accum;",
        f"#define REAL_BITS {bits}",
        f"#define REAL_IS_HALF {int(bits == 16)}",
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
    parts += [vector_types(source, cpp=cpp, fp64=fp64)]
    parts += [constants(blank(source), 64, "L")]
    return "".join([*parts, _common(precision, "half", defines)])


def cuda_prelude(precision: str, defines: Mapping[str, int], source: str) -> str:
    """Return the CUDA prelude of a source; half comes with its header."""
    named = constants(blank(source), HOST_LONG_BITS, "LL")
    include = "#include <cuda_fp16.h>\n" if precision == "fp16" else ""
    return (
        f'#line 1 "{PRELUDE_NAME}"\n{include}{CUDA}{named}{_common(precision, "__half", defines)}'
    )
