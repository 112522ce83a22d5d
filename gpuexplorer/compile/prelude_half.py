"""CUDA's half and bfloat16 in C++ for OpenCL: types of two, conversions and intrinsics.

OpenCL's ``half`` is CUDA's. A bfloat16 is a structure of 16 bits, which each operation rounds to,
to the nearest even as CUDA's own does.
"""

from __future__ import annotations

_UNARY = {
    "sqrt": "sqrt", "rsqrt": "rsqrt", "exp": "exp", "exp2": "exp2", "exp10": "exp10", "log": "log",
    "log2": "log2", "log10": "log10", "sin": "sin", "cos": "cos", "tanh": "tanh", "floor": "floor",
    "ceil": "ceil", "rint": "rint", "trunc": "trunc",
}  # fmt: skip
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_HALF_TYPE = """\
struct __attribute__((aligned(4))) gpux_half2 {
    union { struct { half x, y; }; half2 native; };
    gpux_half2() = default;
    gpux_half2(const gpux_half2 &o) : native(o.native) {}
    gpux_half2(half x_, half y_) : native((half2)(x_, y_)) {}
    explicit gpux_half2(half2 v) : native(v) {}
    gpux_half2 &operator=(const gpux_half2 &o) { native = o.native; return *this; }
};
"""
_BF16_TYPE = """\
struct __attribute__((aligned(2))) gpux_bf16 {
    ushort bits;
    gpux_bf16() = default;
    gpux_bf16(const gpux_bf16 &o) : bits(o.bits) {}
    gpux_bf16(float v) {
        uint b = as_uint(v);
        bits = (b & 0x7fffffffu) > 0x7f800000u ? (ushort)0x7fff
            : (ushort)((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
    }
    gpux_bf16(int v) : gpux_bf16((float)v) {}
    gpux_bf16 &operator=(const gpux_bf16 &o) { bits = o.bits; return *this; }
    operator float() const { return as_float((uint)bits << 16); }
};
struct __attribute__((aligned(4))) gpux_bf162 {
    gpux_bf16 x, y;
    gpux_bf162() = default;
    gpux_bf162(const gpux_bf162 &o) : x(o.x), y(o.y) {}
    gpux_bf162(gpux_bf16 x_, gpux_bf16 y_) : x(x_), y(y_) {}
    gpux_bf162 &operator=(const gpux_bf162 &o) { x = o.x; y = o.y; return *this; }
};
"""


def _arithmetic(one: str, two: str, wide: str) -> str:
    """Return the operators and intrinsics of a type of 16 bits and of two of it.

    Every operation is computed in ``wide`` and rounded once.
    """
    lines = []
    for name, sign in {"add": "+", "sub": "-", "mul": "*", "div": "/"}.items():
        value = f"{one}(({wide})a {sign} ({wide})b)"
        if one != "half":  # OpenCL has those of its own
            lines.append(f"inline {one} operator{sign}({one} a, {one} b) {{ return {value}; }}")
            lines.append(
                f"inline {one} &operator{sign}=({one} &a, {one} b) {{ return a = a {sign} b; }}"
            )
        lines.append(f"inline {one} __h{name}({one} a, {one} b) {{ return {value}; }}")
        both = f"{two}(a.x {sign} b.x, a.y {sign} b.y)"
        pair = "__h2div" if name == "div" else f"__h{name}2"
        lines.append(f"inline {two} operator{sign}({two} a, {two} b) {{ return {both}; }}")
        lines.append(
            f"inline {two} &operator{sign}=({two} &a, {two} b) {{ return a = a {sign} b; }}"
        )
        lines.append(f"inline {two} {pair}({two} a, {two} b) {{ return {both}; }}")
    fused = f"{one}(fma((float)a, (float)b, (float)c))"
    if one == "half":
        fused = "fma(a, b, c)"
    lines += [
        f"inline {one} __hfma({one} a, {one} b, {one} c) {{ return {fused}; }}",
        f"inline {two} __hfma2({two} a, {two} b, {two} c) {{",
        f"    return {two}(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }}",
        f"inline {one} __hneg({one} a) {{ return {one}(-(float)a); }}",
        f"inline {two} __hneg2({two} a) {{ return {two}(__hneg(a.x), __hneg(a.y)); }}",
        f"inline {one} __habs({one} a) {{ return {one}(fabs((float)a)); }}",
        f"inline {two} __habs2({two} a) {{ return {two}(__habs(a.x), __habs(a.y)); }}",
        f"inline bool __hisnan({one} a) {{ return isnan((float)a); }}",
        f"inline bool __hisinf({one} a) {{ return isinf((float)a); }}",
        f"inline {one} hrcp({one} a) {{ return {one}(1.0f / (float)a); }}",
        f"inline {two} h2rcp({two} a) {{ return {two}(hrcp(a.x), hrcp(a.y)); }}",
    ]
    for name in ("max", "min"):
        lines.append(
            f"inline {one} __h{name}({one} a, {one} b) "
            f"{{ return {one}(f{name}((float)a, (float)b)); }}"
        )
        lines.append(
            f"inline {two} __h{name}2({two} a, {two} b) "
            f"{{ return {two}(__h{name}(a.x, b.x), __h{name}(a.y, b.y)); }}"
        )
    for name, sign in _COMPARED.items():
        lines.append(
            f"inline bool __h{name}({one} a, {one} b) {{ return (float)a {sign} (float)b; }}"
        )
    for name, function in _UNARY.items():
        lines.append(f"inline {one} h{name}({one} a) {{ return {one}({function}((float)a)); }}")
        both = f"{two}(h{name}(a.x), h{name}(a.y))"
        lines.append(f"inline {two} h2{name}({two} a) {{ return {both}; }}")
    return "\n".join(lines) + "\n"


def _conversions(one: str, two: str, name: str) -> str:
    """Return the conversions of one such type, whose name in theirs is ``half`` or ``bfloat16``."""
    pair, twice = f"{name}2", f"{name}2{name}2"
    lines = [
        f"inline {two} __floats2{pair}_rn(float a, float b) {{",
        f"    return {two}({one}(a), {one}(b)); }}",
        f"inline {two} __float2{pair}_rn(float a) {{ return {two}({one}(a), {one}(a)); }}",
        f"inline {two} __{twice}({one} a) {{ return {two}(a, a); }}",
        f"inline {two} __halves2{pair}({one} a, {one} b) {{ return {two}(a, b); }}",
        f"inline float __low2float({two} a) {{ return (float)a.x; }}",
        f"inline float __high2float({two} a) {{ return (float)a.y; }}",
        f"inline {one} __low2{name}({two} a) {{ return a.x; }}",
        f"inline {one} __high2{name}({two} a) {{ return a.y; }}",
        f"inline {two} __low2{name}2({two} a) {{ return {two}(a.x, a.x); }}",
        f"inline {two} __high2{name}2({two} a) {{ return {two}(a.y, a.y); }}",
        f"inline {two} __lowhigh2highlow({two} a) {{ return {two}(a.y, a.x); }}",
        f"inline int __{name}2int_rn({one} a) {{ return convert_int_sat_rte((float)a); }}",
        f"inline int __{name}2int_rz({one} a) {{ return convert_int_sat_rtz((float)a); }}",
        f"inline {one} __int2{name}_rn(int a) {{ return {one}((float)a); }}",
        f"inline {one} __double2{name}(double a) {{ return {one}((float)a); }}",
    ]
    return "\n".join(lines) + "\n"


_HALF_REST = """\
#define __float2half_rz(x) convert_half_rtz((float)(x))
#define __ushort_as_half(x) as_half((ushort)(x))
#define __short_as_half(x) as_half((short)(x))
#define __half_as_ushort(x) as_ushort((half)(x))
#define __half_as_short(x) as_short((half)(x))
#define make_half2(x, y) gpux_half2((half)(x), (half)(y))
inline float2 __half22float2(gpux_half2 a) { return make_float2((float)a.x, (float)a.y); }
inline gpux_half2 __float22half2_rn(float2 a) { return gpux_half2((half)a.x, (half)a.y); }
inline gpux_half2 atomicAdd(gpux_half2 *p, gpux_half2 v) {
    uint seen = *(volatile uint *)p, old;
    do {
        old = seen;
        half2 sum = as_half2(old) + v.native;
        seen = atomicCAS((uint *)p, old, as_uint(sum));
    } while (seen != old);
    return gpux_half2(as_half2(old));
}
#define half2 gpux_half2
#define __half2 gpux_half2
"""
_BF16_REST = """\
#define __bfloat162float(x) ((float)(x))
#define __float2bfloat16(x) gpux_bf16((float)(x))
#define __float2bfloat16_rn(x) gpux_bf16((float)(x))
#define make_bfloat162(x, y) gpux_bf162(x, y)
inline float2 __bfloat1622float2(gpux_bf162 a) { return make_float2((float)a.x, (float)a.y); }
inline gpux_bf162 __float22bfloat162_rn(float2 a) {
    return gpux_bf162(gpux_bf16(a.x), gpux_bf16(a.y)); }
#define __nv_bfloat16 gpux_bf16
#define nv_bfloat16 gpux_bf16
#define __nv_bfloat162 gpux_bf162
#define nv_bfloat162 gpux_bf162
"""
HALF = _HALF_TYPE + _arithmetic("half", "gpux_half2", "float") + _conversions(
    "half", "gpux_half2", "half"
) + _HALF_REST  # fmt: skip
"""What ``cuda_fp16.h`` has beside the type itself."""
BFLOAT = _BF16_TYPE + _arithmetic("gpux_bf16", "gpux_bf162", "float") + _conversions(
    "gpux_bf16", "gpux_bf162", "bfloat16"
) + _BF16_REST  # fmt: skip
"""What ``cuda_bf16.h`` has."""
