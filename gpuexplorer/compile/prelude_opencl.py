"""CUDA's names in OpenCL, as text: what both dialects share, then C++ for OpenCL, then plain C.

Thread and block indices are signed: with unsigned ones Intel's compiler does not see that
``row * N + k`` runs through memory, and a tuned product fell from 160 to 30 GFLOP/s.
"""

from __future__ import annotations

_ONE = (
    "sqrt rsqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh erf fabs "
    "floor ceil round rint trunc"
).split()
_TWO = "pow fmin fmax fmod copysign".split()

FLOAT_FUNCTIONS = "".join(
    [f"#define {name}f(x) {name}((float)(x))\n" for name in _ONE]
    + [f"#define {name}f(x, y) {name}((float)(x), (float)(y))\n" for name in _TWO]
    + ["#define fmaf(x, y, z) fma((float)(x), (float)(y), (float)(z))\n"]
)
"""``sqrtf`` and its kin, which compute in float whatever they are given."""

FP64 = """\
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define GPUX_FP64 1
"""

FP16 = """\
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define GPUX_FP16 1
#ifndef __half
#define __half half
#endif
#define __half2float(x) ((float)(x))
#define __float2half(x) ((half)(x))
#define __float2half_rn(x) ((half)(x))
"""

COMMON = """\
#define threadIdx ((int3)((int)get_local_id(0), (int)get_local_id(1), (int)get_local_id(2)))
#define blockIdx ((int3)((int)get_group_id(0), (int)get_group_id(1), (int)get_group_id(2)))
#define blockDim ((int3)((int)get_local_size(0), (int)get_local_size(1), (int)get_local_size(2)))
#define gridDim ((int3)((int)get_num_groups(0), (int)get_num_groups(1), (int)get_num_groups(2)))
#define warpSize 32
#define __global__ __kernel
#define __device__
#define __host__
#define __shared__ __local
#define __constant__ __constant
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __noinline__ __attribute__((noinline))
#define __syncthreads() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define assert(condition) ((void)0)
#define __ldg(pointer) (*(pointer))
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define make_int2(x, y) ((int2)((x), (y)))
#define make_int3(x, y, z) ((int3)((x), (y), (z)))
#define make_int4(x, y, z, w) ((int4)((x), (y), (z), (w)))
#define make_float2(x, y) ((float2)((x), (y)))
#define make_float3(x, y, z) ((float3)((x), (y), (z)))
#define make_float4(x, y, z, w) ((float4)((x), (y), (z), (w)))
#define make_double2(x, y) ((double2)((x), (y)))
#define make_double4(x, y, z, w) ((double4)((x), (y), (z), (w)))
#define __expf(x) native_exp((float)(x))
#define __logf(x) native_log((float)(x))
#define __sinf(x) native_sin((float)(x))
#define __cosf(x) native_cos((float)(x))
#define __fdividef(a, b) ((a) / (b))
#define __frcp_rn(a) (1.0f / (a))
#define __fmaf_rn fmaf
#define __mul24 mul24
#define __popc(x) ((int)popcount((uint)(x)))
#define __clz(x) ((int)clz((uint)(x)))
#define __ffs(x) ((x) == 0 ? 0 : 32 - (int)clz((uint)(x) & (uint)-(int)(x)))
#define __int_as_float as_float
#define __float_as_int as_int
#define __uint_as_float as_float
#define __float_as_uint as_uint
#define GPUX_OVERLOAD __attribute__((overloadable))
static int GPUX_OVERLOAD gpux_abs(int x) { return x < 0 ? -x : x; }
static long GPUX_OVERLOAD gpux_abs(long x) { return x < 0 ? -x : x; }
static float GPUX_OVERLOAD gpux_abs(float x) { return fabs(x); }
#ifdef GPUX_FP64
static double GPUX_OVERLOAD gpux_abs(double x) { return fabs(x); }
#endif
#undef abs
#define abs gpux_abs
"""

CPP_ONLY = """\
#define __forceinline__ inline __attribute__((always_inline))
#define __inline__ inline
#define GPUX_WARPS __attribute__((intel_reqd_sub_group_size(32)))
#define __threadfence() atomic_work_item_fence( \\
    CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE, (memory_order)memory_order_seq_cst, \\
    (memory_scope)memory_scope_device)
#define __threadfence_block() atomic_work_item_fence( \\
    CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE, (memory_order)memory_order_seq_cst, \\
    (memory_scope)memory_scope_work_group)
#define GPUX_RELAXED (memory_order)memory_order_relaxed, (memory_scope)memory_scope_device
#define GPUX_ATOMICS(T, A) \\
inline T atomicAdd(T *p, T v) { return atomic_fetch_add_explicit( \\
    (volatile A *)p, v, GPUX_RELAXED); } \\
inline T atomicSub(T *p, T v) { return atomic_fetch_sub_explicit( \\
    (volatile A *)p, v, GPUX_RELAXED); } \\
inline T atomicMin(T *p, T v) { return atomic_fetch_min_explicit( \\
    (volatile A *)p, v, GPUX_RELAXED); } \\
inline T atomicMax(T *p, T v) { return atomic_fetch_max_explicit( \\
    (volatile A *)p, v, GPUX_RELAXED); } \\
inline T atomicAnd(T *p, T v) { return atomic_fetch_and_explicit( \\
    (volatile A *)p, v, GPUX_RELAXED); } \\
inline T atomicOr(T *p, T v) { return atomic_fetch_or_explicit( \\
    (volatile A *)p, v, GPUX_RELAXED); } \\
inline T atomicXor(T *p, T v) { return atomic_fetch_xor_explicit( \\
    (volatile A *)p, v, GPUX_RELAXED); } \\
inline T atomicExch(T *p, T v) { return atomic_exchange_explicit( \\
    (volatile A *)p, v, GPUX_RELAXED); } \\
inline T atomicCAS(T *p, T expected, T v) { atomic_compare_exchange_strong_explicit( \\
    (volatile A *)p, &expected, v, (memory_order)memory_order_relaxed, \\
    GPUX_RELAXED); return expected; }
GPUX_ATOMICS(int, atomic_int)
GPUX_ATOMICS(unsigned int, atomic_uint)
inline float atomicAdd(float *p, float v) { return atomic_fetch_add_explicit(
    (volatile atomic_float *)p, v, GPUX_RELAXED); }
#ifdef GPUX_FP64
inline double atomicAdd(double *p, double v) { return atomic_fetch_add_explicit(
    (volatile atomic_double *)p, v, GPUX_RELAXED); }
#endif
#ifdef cl_intel_required_subgroup_size
#define GPUX_SHUFFLES(T) \\
inline T __shfl_down_sync(unsigned, T v, unsigned d, int width = 32) { \\
    int lane = (int)get_sub_group_local_id() & (width - 1); \\
    T other = sub_group_rotate(v, (int)d); \\
    return lane + (int)d < width ? other : v; } \\
inline T __shfl_up_sync(unsigned, T v, unsigned d, int width = 32) { \\
    int lane = (int)get_sub_group_local_id() & (width - 1); \\
    T other = sub_group_rotate(v, 32 - (int)d); \\
    return lane >= (int)d ? other : v; } \\
inline T gpux_flip(T v, int bit) { \\
    T above = sub_group_rotate(v, bit), below = sub_group_rotate(v, 32 - bit); \\
    return (int)get_sub_group_local_id() & bit ? below : above; } \\
inline T __shfl_xor_sync(unsigned, T v, int lanes, int width = 32) { \\
    T other = v; \\
    if (lanes & 1) other = gpux_flip(other, 1); \\
    if (lanes & 2) other = gpux_flip(other, 2); \\
    if (lanes & 4) other = gpux_flip(other, 4); \\
    if (lanes & 8) other = gpux_flip(other, 8); \\
    if (lanes & 16) other = gpux_flip(other, 16); \\
    return lanes < width ? other : v; } \\
inline T __shfl_sync(unsigned, T v, int from, int width = 32) { \\
    int lane = (int)get_sub_group_local_id(); \\
    return sub_group_shuffle(v, (uint)((lane & -width) | (from & (width - 1)))); }
GPUX_SHUFFLES(int)
GPUX_SHUFFLES(unsigned int)
GPUX_SHUFFLES(long)
GPUX_SHUFFLES(float)
#ifdef GPUX_FP64
GPUX_SHUFFLES(double)
#endif
#ifdef GPUX_FP16
GPUX_SHUFFLES(half)
#endif
#define __ballot_sync(mask, predicate) (sub_group_ballot((int)((predicate) != 0)).x & (mask))
#define __any_sync(mask, predicate) (sub_group_any((int)((predicate) != 0)))
#define __all_sync(mask, predicate) (sub_group_all((int)((predicate) != 0)))
#define __syncwarp(...) sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif
"""

C_ONLY = """\
#define __forceinline__ static __attribute__((always_inline))
#define __inline__ static
#undef inline
#define inline static
#define __restrict__ restrict
#define nullptr 0
#define __threadfence() mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define __threadfence_block() mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define atomicSub atomic_sub
#define atomicMin atomic_min
#define atomicMax atomic_max
#define atomicAnd atomic_and
#define atomicOr atomic_or
#define atomicXor atomic_xor
#define atomicCAS atomic_cmpxchg
#define GPUX_ATOMICS(SPACE) \\
static int GPUX_OVERLOAD atomicAdd(SPACE int *p, int v) \\
    { return atomic_add((volatile SPACE int *)p, v); } \\
static uint GPUX_OVERLOAD atomicAdd(SPACE uint *p, uint v) \\
    { return atomic_add((volatile SPACE uint *)p, v); } \\
static int GPUX_OVERLOAD atomicExch(SPACE int *p, int v) \\
    { return atomic_xchg((volatile SPACE int *)p, v); } \\
static uint GPUX_OVERLOAD atomicExch(SPACE uint *p, uint v) \\
    { return atomic_xchg((volatile SPACE uint *)p, v); } \\
static float GPUX_OVERLOAD atomicAdd(SPACE float *p, float v) { \\
    volatile SPACE int *bits = (volatile SPACE int *)p; \\
    int old = *bits, seen; \\
    while ((seen = atomic_cmpxchg(bits, old, as_int(as_float(old) + v))) != old) old = seen; \\
    return as_float(old); }
GPUX_ATOMICS(__global)
GPUX_ATOMICS(__local)
"""
