"""CUDA's vector types in OpenCL, as text: packed and aligned as on a GPU, without arithmetic.

OpenCL's own ``float3`` takes 16 bytes and CUDA's 12, its ``double4`` wants twice the alignment, and
all of them can be added and multiplied, which CUDA leaves to its user. So these are
structures of their own. In C++ those of two and four elements are copied as OpenCL's own vectors,
without which Intel's compiler takes them apart: products by ``float4`` fell to a fifth.
"""

from __future__ import annotations

import re

_SCALARS: dict[str, tuple[str, int]] = {
    "char": ("char", 1),
    "uchar": ("uchar", 1),
    "short": ("short", 2),
    "ushort": ("ushort", 2),
    "int": ("int", 4),
    "uint": ("uint", 4),
    "long": ("long", 8),
    "ulong": ("ulong", 8),
    "float": ("float", 4),
    "double": ("double", 8),
}
"""CUDA's name before the number of elements, OpenCL's type of one, and its bytes."""
_ALSO = {"longlong": "long", "ulonglong": "ulong"}
"""Names that stand for the same here, where ``long long`` has 64 bits as well."""
MOST_ALIGNED_B = 16
PREFIX = "gpux_"
"""Before the names of our own types and functions."""

_DIM3 = """\
struct dim3 {
    uint x, y, z;
    dim3(uint x_ = 1, uint y_ = 1, uint z_ = 1) : x(x_), y(y_), z(z_) {}
    dim3(gpux_uint3 v) : x(v.x), y(v.y), z(v.z) {}
    operator gpux_uint3() const { return gpux_uint3{x, y, z}; }
};
"""


_NAMED = re.compile(r"\b(?:make_)?(u?(?:char|short|int|long|longlong)|float|double)([1-4])\b")


def is_vector(kind: str) -> bool:
    """Return whether a type is one of CUDA's vectors, or what a grid's size is."""
    return kind == "dim3" or _NAMED.fullmatch(kind) is not None


def vector_types(source: str, *, cpp: bool, fp64: bool) -> str:
    """Return the types that a source names, their ``make_`` functions, and macros for the names.

    ``uint3`` is always there; all types are for a source that pastes names together.
    """
    wanted = {"uint3"} | {name + count for name, count in _NAMED.findall(source)}
    every = "##" in source
    lines: list[str] = []
    for name, (scalar, itemsize_B) in _SCALARS.items():
        if name == "double" and not fp64:
            continue
        same = [other for other, stands_for in _ALSO.items() if stands_for == name]
        for count in (1, 2, 3, 4):
            if every or not wanted.isdisjoint({f"{n}{count}" for n in (name, *same)}):
                lines += _type(f"{name}{count}", scalar, count, itemsize_B, cpp)
                for other in same:
                    lines.append(f"#define {other}{count} {PREFIX}{name}{count}")
                    lines.append(f"#define make_{other}{count} make_{name}{count}")
    return "\n".join(lines) + "\n" + (_DIM3 if cpp else "")


def _type(name: str, scalar: str, count: int, itemsize_B: int, cpp: bool) -> list[str]:
    """Return one type: three elements are aligned as one is, others as a whole, 16 at the most."""
    own = f"{PREFIX}{name}"
    members = "xyzw"[:count]
    aligned_B = itemsize_B if count == 3 else min(count * itemsize_B, MOST_ALIGNED_B)
    aligned = f"__attribute__((aligned({aligned_B})))"
    listed = f"{scalar} {', '.join(members)};"
    takes = ", ".join(f"{scalar} {m}" for m in members)
    gives = ", ".join(members)
    if not cpp:
        return [
            f"typedef struct {aligned} {own} {{ {listed} }} {own};",
            f"static {own} make_{name}({takes}) {{ return ({own}){{{gives}}}; }}",
            f"#define {name} {own}",
        ]
    make = f"inline {own} make_{name}({takes}) {{ return {own}{{{gives}}}; }}"
    if count in (1, 3):
        return [f"struct {aligned} {own} {{ {listed} }};", make, f"#define {name} {own}"]
    native = f"{own}_native"
    defaults = f"{scalar} x_, {scalar} y_" + "".join(f", {scalar} {m}_ = 0" for m in members[2:])
    values = ", ".join(f"{m}_" for m in members)
    return [
        f"typedef {name} {native} {aligned};",
        f"struct {aligned} {own} {{",
        f"    union {{ struct {{ {listed} }}; {native} native; }};",
        f"    {own}() = default;",
        f"    {own}(const {own} &o) : native(o.native) {{}}",
        f"    {own}({defaults}) : native(({name})({values})) {{}}",
        f"    {own} &operator=(const {own} &o) {{ native = o.native; return *this; }}",
        "};",
        make,
        f"#define {name} {own}",
    ]
