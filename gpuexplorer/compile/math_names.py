"""The names of CUDA's functions of numbers, which a source need not define, and those of ``std``.

Host compilers have some in ``std``, and nvcc takes them on a GPU, too. NVRTC, like OpenCL, has no
such namespace.
"""

from __future__ import annotations

import re

from gpuexplorer.compile.edits import Edits

ONE = (
    "sqrt rsqrt cbrt exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh "
    "cosh tanh asinh acosh atanh erf erfc tgamma lgamma fabs floor ceil round rint trunc"
).split()
"""Those of one number, which have a kin with an ``f`` behind that is of ``float``."""
TWO = "pow fmin fmax fmod copysign atan2 hypot fdim".split()
"""Those of two numbers."""
_MORE = "fma ldexp scalbn frexp modf remainder nextafter logb nearbyint ilogb lround lrint".split()

MATH = frozenset(
    (
        *(name + end for name in (*ONE, *TWO, *_MORE) for end in ("", "f")),
        *"abs labs llabs min max isnan isinf isfinite signbit llround llrint".split(),
    )
)
"""All of them that C++ has in its headers, too, and some that CUDA alone has."""
_STD = re.compile(r"(?<![\w:])(?:::\s*)?std\s*::\s*(?:(min|max)(?=\s*<)|(?=([A-Za-z_]\w*)\b))")
_USING = re.compile(r"\busing\s+(?:namespace\s+std|std\s*::\s*([A-Za-z_]\w*))\s*;")
_OF_ONE_TYPE = """\
template <typename T> __device__ constexpr T min(T a, T b) { return b < a ? b : a; }
template <typename T> __device__ constexpr T max(T a, T b) { return a < b ? b : a; }
"""


def std_names(plain: str) -> str:
    """Return the namespace ``std`` for NVRTC, with those functions that a source takes from it."""
    said = {m[1] or m[2] for m in _STD.finditer(plain)} & MATH
    if not said or re.search(r"\bnamespace\s+std\b\s*\{", plain):
        return ""
    using = "".join(f"using ::{name};\n" for name in sorted(said))
    return f"namespace std {{\n{using}{_OF_ONE_TYPE}}}\n"


def without_std(text: str, plain: str, edits: Edits) -> None:
    """Call the functions of ``std`` by their names alone, for OpenCL."""
    for match in _STD.finditer(plain):
        if match[1]:
            edits.replace(*match.span(), f"gpux_{match[1]}_of")
        elif match[2] in MATH:
            edits.blank(text, *match.span())
    for match in _USING.finditer(plain):
        if match[1] is None or match[1] in MATH:
            edits.blank(text, *match.span())
