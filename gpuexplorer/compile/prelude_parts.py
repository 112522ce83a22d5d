"""CUDA's rarer names in C++ for OpenCL, each put before a source only where the source says it.

A part is known by the names that call for it; it may itself say names of other parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpuexplorer.compile.assertions import ASSERTIONS, NAME
from gpuexplorer.compile.prelude_groups import GROUPS
from gpuexplorer.compile.prelude_half import BFLOAT, HALF
from gpuexplorer.compile.printing import PRINTING

_WORD = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(r"(?:#define|inline [a-z]+|typedef \w+|template <typename T> T) (\w+)")


class _Part(NamedTuple):
    """Text, and the names of which one calls for it."""

    names: frozenset[str]
    text: str
    also: frozenset[str] = frozenset()
    """Names of which one must be there as well."""
    needs_fp16: bool = False
    needs_fp64: bool = False


def used_parts(source: str, *, fp16: bool, fp64: bool) -> str:
    """Return the parts that a source (comments and literals blanked) needs, in their order."""
    said = frozenset(_WORD.findall(source))
    wanted: set[int] = set()
    while True:
        found = {
            i for i, part in enumerate(_PARTS)
            if not part.names.isdisjoint(said) and not (part.also and part.also.isdisjoint(said))
        }  # fmt: skip
        if found <= wanted:
            break
        said = said.union(*(_WORD.findall(_PARTS[i].text) for i in found - wanted))
        wanted |= found
    return "".join(
        part.text for i, part in enumerate(_PARTS)
        if i in wanted and not (part.needs_fp16 and not fp16) and not (part.needs_fp64 and not fp64)
        and not (len(part.names) == 1 and _has_its_own(source, *part.names))
    )  # fmt: skip


def _has_its_own(source: str, name: str) -> bool:
    """Return whether a source defines a function or macro of that name itself."""
    own = rf"#\s*define\s+{name}\b|[\w>*&]\s+[*&]*{name}\s*\([^;{{}}()]*\)\s*\{{"
    return re.search(own, source) is not None


def _one_each() -> Iterator[_Part]:
    """Yield the parts that are one definition each."""
    for text in re.split(r"\n(?=\S)", _DEFINITIONS.strip()):
        defined = _DEFINED.match(text)
        assert defined is not None, text
        yield _Part(frozenset({defined[1]}), text + "\n")
    for name in "sqrt rsqrt cbrt exp exp2 log log2 log10 sin cos tan atan floor ceil".split():
        text = f"inline double {name}(int x) {{ return {name}((double)x); }}\n"
        yield _Part(frozenset({name}), text, needs_fp64=True)


def _mixed() -> Iterator[_Part]:
    """Yield the functions that take two types of numbers."""
    yield _Part(_names("GPUX_MIXED"), _MIXED)
    for name in "fmax fmin fmod atan2 hypot fdim remainder nextafter".split():
        text = (
            f"GPUX_MIXED_WHOLE({name}, float)\n#ifdef GPUX_FP64\n"
            f"GPUX_MIXED({name}, double, float)\nGPUX_MIXED_WHOLE({name}, double)\n#endif\n"
        )
        yield _Part(_names(name), text)


_DEFINITIONS = """
#define __ldcs(p) (*(p))
#define __ldcg(p) (*(p))
#define __ldca(p) (*(p))
#define __ldlu(p) (*(p))
#define __ldcv(p) (*(p))
#define __stcg(p, v) ((void)(*(p) = (v)))
#define __stwb(p, v) ((void)(*(p) = (v)))
#define __stwt(p, v) ((void)(*(p) = (v)))
#define CUDART_INF_F INFINITY
#define CUDART_INF ((double)INFINITY)
#define CUDART_NAN_F NAN
#define CUDART_NAN ((double)NAN)
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0
#define CUDART_PIO2_F 1.570796327f
#define CUDART_SQRT_TWO_F 1.414213562f
#define CUDART_MAX_NORMAL_F 3.402823466e+38f
#define CUDART_MIN_DENORM_F 1.401298464e-45f
#define __managed__
#define __grid_constant__ const
#define __threadfence_system() __threadfence()
#define __nanosleep(ns) ((void)(ns))
#define __builtin_expect(x, expected) (x)
#define __builtin_unreachable() ((void)0)
#define __isnanf(x) isnan((float)(x))
#define __umulhi(x, y) mul_hi((uint)(x), (uint)(y))
#define __mulhi(x, y) mul_hi((int)(x), (int)(y))
#define __umul64hi(x, y) mul_hi((ulong)(x), (ulong)(y))
#define __mul64hi(x, y) mul_hi((long)(x), (long)(y))
#define llabs(x) gpux_abs((long)(x))
#define labs(x) gpux_abs((long)(x))
#define __popcll(x) ((int)popcount((ulong)(x)))
#define __clzll(x) ((int)clz((ulong)(x)))
inline int __ffsll(ulong x) { return x == 0 ? 0 : 64 - (int)clz(x & (0UL - x)); }
inline uint __brev(uint x) { return bit_reverse(x); }
inline ulong __brevll(ulong x) { return bit_reverse(x); }
inline uint __funnelshift_l(uint lo, uint hi, uint n) {
    return (uint)(((((ulong)hi << 32) | lo) << (n & 31)) >> 32); }
inline uint __funnelshift_r(uint lo, uint hi, uint n) {
    return (uint)((((ulong)hi << 32) | lo) >> (n & 31)); }
inline uint __byte_perm(uint x, uint y, uint s) { ulong both = ((ulong)y << 32) | x;
    uint r = 0; for (int i = 0; i < 4; i++) { uint k = (s >> (4 * i)) & 15u;
    uint b = (uint)(both >> (8 * (k & 7u))) & 255u;
    r |= ((k & 8u) ? ((b & 128u) ? 255u : 0u) : b) << (8 * i); } return r; }
inline uint __sad(int x, int y, uint z) { return abs_diff(x, y) + z; }
inline uint __usad(uint x, uint y, uint z) { return abs_diff(x, y) + z; }
inline int __dp4a(int a, int b, int c) { for (int i = 0; i < 4;
    i++) c += (int)(signed char)(a >> (8 * i)) * (int)(signed char)(b >> (8 * i)); return c; }
#define __float2int_rn(x) convert_int_sat_rte((float)(x))
#define __float2int_rz(x) convert_int_sat_rtz((float)(x))
#define __float2int_ru(x) convert_int_sat_rtp((float)(x))
#define __float2int_rd(x) convert_int_sat_rtn((float)(x))
#define __float2uint_rn(x) convert_uint_sat_rte((float)(x))
#define __float2uint_rz(x) convert_uint_sat_rtz((float)(x))
#define __float2ll_rn(x) convert_long_sat_rte((float)(x))
#define __int2float_rn(x) convert_float_rte((int)(x))
#define __uint2float_rn(x) convert_float_rte((uint)(x))
#define __double2int_rn(x) convert_int_sat_rte((double)(x))
#define __double2int_rz(x) convert_int_sat_rtz((double)(x))
#define __double2float_rn(x) convert_float_rte((double)(x))
#define __int2double_rn(x) ((double)(int)(x))
#define __double_as_longlong(x) as_long((double)(x))
#define __longlong_as_double(x) as_double((long)(x))
#define __dadd_rn(x, y) ((double)(x) + (double)(y))
#define __dmul_rn(x, y) ((double)(x) * (double)(y))
#define __ddiv_rn(x, y) ((double)(x) / (double)(y))
#define __dsqrt_rn(x) sqrt((double)(x))
#define __fma_rn(x, y, z) fma((double)(x), (double)(y), (double)(z))
#define fdividef(x, y) __fdiv_rn((float)(x), (float)(y))
#define sinpif(x) sinpi((float)(x))
#define cospif(x) cospi((float)(x))
inline void sincospif(float x, float *s, float *c) { *s = sinpi(x); *c = cospi(x); }
inline void sincos(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }
#define ldexpf(x, n) ldexp((float)(x), (int)(n))
#define scalbnf(x, n) ldexp((float)(x), (int)(n))
inline float frexpf(float x, int *n) { return frexp(x, n); }
inline float modff(float x, float *whole) { *whole = trunc(x);
    return isinf(x) ? copysign(0.0f, x) : copysign(x - *whole, x); }
#define remainderf(x, y) remainder((float)(x), (float)(y))
#define nextafterf(x, y) nextafter((float)(x), (float)(y))
#define lrintf(x) ((long)rint((float)(x)))
#define llrintf(x) ((long)rint((float)(x)))
#define lroundf(x) ((long)round((float)(x)))
#define nearbyintf(x) rint((float)(x))
#define ilogbf(x) ilogb((float)(x))
#define logbf(x) logb((float)(x))
#define rhypotf(x, y) (1.0f / hypot((float)(x), (float)(y)))
inline float norm3df(float x, float y, float z) { return length((float4)(x, y, z, 0.0f)); }
inline float norm4df(float x, float y, float z, float w) { return length((float4)(x, y, z, w)); }
inline float rnorm3df(float x, float y, float z) { return 1.0f / length((float4)(x, y, z, 0.0f)); }
inline float normcdff(float x) { return 0.5f * erfc(-x * 0.70710678118654752f); }
#define atomicAdd_block atomicAdd
#define atomicAdd_system atomicAdd
#define atomicMax_block atomicMax
#define atomicMin_block atomicMin
#define atomicCAS_block atomicCAS
#define atomicExch_block atomicExch
#define __activemask() (sub_group_ballot(1).x)
#define __CUDA_ARCH__ 800
#define __CUDACC__ 1
typedef ulong2 gpux_widest;
template <typename T> T gpux_bare(const T &);
template <typename T> T gpux_min_of(T a, T b) { return b < a ? b : a; }
template <typename T> T gpux_max_of(T a, T b) { return a < b ? b : a; }
inline float atomicExch(float *p, float v) { return as_float(atomicExch((int *)p, as_int(v))); }
"""

_PIPELINE = """\
#define __pipeline_commit() ((void)0)
#define __pipeline_wait_prior(n) ((void)(n))
struct gpux_16B { ulong first, second; };
inline void __pipeline_memcpy_async(void *to, const void *from, size_t size, size_t zeros = 0) {
    if (size == 16 && zeros == 0) { *(gpux_16B *)to = *(const gpux_16B *)from; return; }
    if (size == 16 && zeros == 16) { *(gpux_16B *)to = gpux_16B{0, 0}; return; }
    for (size_t i = 0; i < size; i++)
        ((uchar *)to)[i] = i < size - zeros ? ((const uchar *)from)[i] : (uchar)0; }
"""
"""Copies that are done where they stand: no later than anybody may look at them."""
_STREAMED = """\
template <typename T, typename V> inline auto gpux_stream(T *p, V v, int)
    -> decltype((void)v.native) { __builtin_nontemporal_store(v.native, &p->native); }
template <typename T, typename V> inline void gpux_stream(T *p, V v, long) { *p = v; }
template <typename T, typename V> inline void __stcs(T *p, V v) { gpux_stream(p, v, 0); }
"""
"""Vectors of 8 bytes and more go past the caches; single elements as the compiler joins them."""
_COUNTED = """\
inline uint atomicInc(uint *p, uint most) {
    uint seen = *(volatile uint *)p, old;
    do { old = seen; seen = atomicCAS(p, old, old >= most ? 0u : old + 1u); } while (seen != old);
    return old;
}
inline uint atomicDec(uint *p, uint most) {
    uint seen = *(volatile uint *)p, old;
    do {
        old = seen;
        seen = atomicCAS(p, old, old == 0u || old > most ? most : old - 1u);
    } while (seen != old);
    return old;
}
"""
_WIDE_ATOMICS = "GPUX_ATOMICS(long, atomic_long)\nGPUX_ATOMICS(ulong, atomic_ulong)\n"
_MATCHES = """\
template <typename T> inline uint __match_any_sync(uint mask, T v) {
    uint same = 0;
    for (int i = 0; i < 32; i++) if (__shfl_sync(mask, v, i) == v) same |= 1u << i;
    return same & mask;
}
template <typename T> inline uint __match_all_sync(uint mask, T v, int *all) {
    *all = (__match_any_sync(mask, v) & mask) == mask;
    return *all ? mask : 0u;
}
"""
_REDUCTIONS = """\
#define GPUX_REDUCE(name, T, nothing, op) \\
inline T name(uint mask, T v) { \\
    T all = nothing; \\
    for (int i = 0; i < 32; i++) { \\
        T b = __shfl_sync(mask, v, i), a = all; \\
        if (mask >> i & 1u) all = op; } \\
    return all; }
GPUX_REDUCE(__reduce_add_sync, uint, 0u, a + b)
GPUX_REDUCE(__reduce_add_sync, int, 0, a + b)
GPUX_REDUCE(__reduce_min_sync, uint, ~0u, (a < b ? a : b))
GPUX_REDUCE(__reduce_min_sync, int, 0x7fffffff, (a < b ? a : b))
GPUX_REDUCE(__reduce_max_sync, uint, 0u, (a > b ? a : b))
GPUX_REDUCE(__reduce_max_sync, int, -0x7fffffff - 1, (a > b ? a : b))
GPUX_REDUCE(__reduce_and_sync, uint, ~0u, a & b)
GPUX_REDUCE(__reduce_or_sync, uint, 0u, a | b)
GPUX_REDUCE(__reduce_xor_sync, uint, 0u, a ^ b)
"""
_CLOCKS = """\
#pragma OPENCL EXTENSION cl_khr_kernel_clock : enable
#define clock64() ((long)clock_read_device())
#define clock() ((long)clock_read_device())
#define __globaltimer() clock_read_device()
"""
_POWERS = """\
inline float pow(float x, int n) { return pown(x, n); }
inline float pow(int x, float y) { return pow((float)x, y); }
#ifdef GPUX_FP64
inline double pow(double x, int n) { return pown(x, n); }
inline double pow(float x, double y) { return pow((double)x, y); }
inline double pow(double x, float y) { return pow(x, (double)y); }
inline double pow(int x, int n) { return pown((double)x, n); }
inline double pow(int x, double y) { return pow((double)x, y); }
#endif
"""
_MIXED = """\
#define GPUX_MIXED(name, T, A) \\
inline T name(T x, A y) { return name(x, (T)y); } \\
inline T name(A x, T y) { return name((T)x, y); }
#define GPUX_MIXED_WHOLE(name, T) \\
GPUX_MIXED(name, T, int) GPUX_MIXED(name, T, uint) \\
GPUX_MIXED(name, T, long) GPUX_MIXED(name, T, ulong)
"""
"""Functions of two types of numbers: CUDA computes in that of the real one, the wider of two.

``pow`` has its own, for whole powers (``_POWERS``).
"""


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LONG = _names("long ulong int64_t uint64_t")
_ATOMIC = _names(
    "atomicAdd atomicSub atomicMin atomicMax atomicAnd atomicOr atomicXor atomicExch atomicCAS"
)
_SHUFFLED = _names("__shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync")
_HALVES = frozenset(re.findall(r"\b\w*h(?:2|alf)\w*|\b__h\w+|\bh[a-z]+\b", HALF)) - {"half"}
_BFLOATS = frozenset(re.findall(r"\b\w*(?:bf16|bfloat)\w*", BFLOAT))
_PARTS: tuple[_Part, ...] = (
    _Part(_ATOMIC, _WIDE_ATOMICS, also=_LONG),
    *_one_each(),
    _Part(_names("atomicInc atomicDec"), _COUNTED),
    _Part(_names("__stcs"), _STREAMED),
    _Part(frozenset(re.findall(r"__pipeline_\w+", _PIPELINE)), _PIPELINE),
    _Part(_SHUFFLED, "GPUX_SHUFFLES(ulong)\n", also=_LONG),
    _Part(_names("__match_any_sync __match_all_sync"), _MATCHES),
    _Part(frozenset(re.findall(r"__reduce_\w+", _REDUCTIONS)), _REDUCTIONS),
    _Part(_names("clock64 clock __globaltimer"), _CLOCKS),
    _Part(_names("pow"), _POWERS),
    *_mixed(),
    _Part(_HALVES, HALF, needs_fp16=True),
    _Part(_BFLOATS, BFLOAT),
    _Part(frozenset({"cooperative_groups"}), GROUPS),
    _Part(frozenset({"gpux_print"}), PRINTING),
    _Part(frozenset({NAME}), ASSERTIONS),
)
"""In the order in which they must stand."""
