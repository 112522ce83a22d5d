"""The names of CUDA's functions of numbers, which a source need not define."""

from __future__ import annotations

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
