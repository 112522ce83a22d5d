"""CUDA's names in OpenCL, as text: what both dialects share, then C++ for OpenCL, then plain C.

Thread and block indices are unsigned, as CUDA's are; ``subscripts`` says how they stay fast. The
intrinsics that trade accuracy for speed on a GPU are the accurate functions here: those are within
CUDA's bounds, which ``native_exp`` misses by a factor of a thousand, and no slower.
"""

from __future__ import annotations

from gpuexplorer.compile.math_names import ONE, TWO

FLOAT_FUNCTIONS = "".join(
    [f"#define {name}f(x) {name}((float)(x))\n" for name in ONE]
    + [f"#define {name}f(x, y) {name}((float)(x), (float)(y))\n" for name in TWO]
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
#define GPUX_INDEX(what) \
    (GPUX_UINT3{(uint)get_##what(0), (uint)get_##what(1), (uint)get_##what(2)})
static uint gpux_thread(uint axis) {
    size_t index = get_local_id(axis);
    __builtin_assume(index < 1024);
    return (uint)index;
}
#define threadIdx (GPUX_UINT3{gpux_thread(0), gpux_thread(1), gpux_thread(2)})
#define blockIdx GPUX_INDEX(group_id)
#define blockDim GPUX_INDEX(local_size)
#define gridDim GPUX_INDEX(num_groups)
#define warpSize 32
#define __global__ __kernel
#define __device__
#define __host__
#define __shared__ __local
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __noinline__ __attribute__((noinline))
#define __syncthreads() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define assert(...) ((void)0)
#define __ldg(pointer) (*(pointer))
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define __expf(x) exp((float)(x))
#define __exp10f(x) exp10((float)(x))
#define __logf(x) log((float)(x))
#define __log2f(x) log2((float)(x))
#define __log10f(x) log10((float)(x))
#define __sinf(x) sin((float)(x))
#define __cosf(x) cos((float)(x))
#define __tanf(x) tan((float)(x))
#define __powf(x, y) pow((float)(x), (float)(y))
#define __sincosf(x, s, c) ((void)(*(s) = sin((float)(x)), *(c) = cos((float)(x))))
#define sincosf __sincosf
#define __saturatef(x) clamp((float)(x), 0.0f, 1.0f)
#define GPUX_ROUNDED(name, value) static float name(float a, float b) { return value; }
GPUX_ROUNDED(__fadd_rn, a + b)
GPUX_ROUNDED(__fsub_rn, a - b)
GPUX_ROUNDED(__fmul_rn, a * b)
GPUX_ROUNDED(__fdiv_rn, a / b)
#define __fdividef __fdiv_rn
#define __frcp_rn(x) __fdiv_rn(1.0f, (float)(x))
#define __fsqrt_rn(x) sqrt((float)(x))
#define __frsqrt_rn(x) ((float)(1.0f / sqrt((float)(x))))
#define __fmaf_rn fmaf
static int __mul24(int x, int y) { return mul24(x, y); }
static uint __umul24(uint x, uint y) { return mul24(x, y); }
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
#define GPUX_LEAST(T, A, B) \
    static T GPUX_OVERLOAD gpux_min(A a, B b) { return (T)a < (T)b ? (T)a : (T)b; } \
    static T GPUX_OVERLOAD gpux_max(A a, B b) { return (T)a > (T)b ? (T)a : (T)b; }
GPUX_LEAST(int, int, int)
GPUX_LEAST(uint, uint, uint)
GPUX_LEAST(uint, int, uint)
GPUX_LEAST(uint, uint, int)
GPUX_LEAST(long, long, long)
GPUX_LEAST(ulong, ulong, ulong)
GPUX_LEAST(ulong, long, ulong)
GPUX_LEAST(ulong, ulong, long)
#define GPUX_LEAST_OF_REALS(T, A, B) \
    static T GPUX_OVERLOAD gpux_min(A a, B b) { return fmin((T)a, (T)b); } \
    static T GPUX_OVERLOAD gpux_max(A a, B b) { return fmax((T)a, (T)b); }
GPUX_LEAST_OF_REALS(float, float, float)
#ifdef GPUX_FP64
GPUX_LEAST_OF_REALS(double, double, double)
GPUX_LEAST_OF_REALS(double, float, double)
GPUX_LEAST_OF_REALS(double, double, float)
#endif
#undef min
#undef max
#define min gpux_min
#define max gpux_max
"""

CPP_ONLY = """\
#pragma clang diagnostic ignored "-Wc++11-narrowing"
#define GPUX_UINT3 gpux_uint3
constexpr int gpux_at(uint index) { return (int)index; }
template <typename T> constexpr T gpux_at(T index) { return index; }
#define __constant__ __global const
#define __forceinline__ inline __attribute__((always_inline))
#define __inline__ inline
#ifdef __opencl_c_work_group_collective_functions
#define GPUX_VOTE(name, value, result) \\
inline int name(int value) { \\
    __syncthreads(); \\
    int all = result; \\
    __syncthreads(); \\
    return all; }
GPUX_VOTE(__syncthreads_count, yes, work_group_reduce_add(yes != 0 ? 1 : 0))
GPUX_VOTE(__syncthreads_and, yes, work_group_all(yes))
GPUX_VOTE(__syncthreads_or, yes, work_group_any(yes))
#endif
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
#define GPUX_UINT3 (gpux_uint3)
#define __constant__ __constant
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
