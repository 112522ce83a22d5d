// Half precision and bfloat16: one at a time, two at a time, and sums in float.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <stdio.h>

__global__ void haxpy(int n, half a, const half *x, half *y)
{
    int start = threadIdx.x + blockDim.x * blockIdx.x;
    int stride = blockDim.x * gridDim.x;
    for (int i = start; i < n; i += stride) y[i] = __hfma(a, x[i], y[i]);
}

__global__ void haxpy2(int n, half a, const half *x, half *y)
{
    int start = threadIdx.x + blockDim.x * blockIdx.x;
    int stride = blockDim.x * gridDim.x;
    int n2 = n / 2;
    half2 *x2 = (half2 *)x, *y2 = (half2 *)y;
    for (int i = start; i < n2; i += stride) y2[i] = __hfma2(__halves2half2(a, a), x2[i], y2[i]);
    if (start == 0 && (n % 2)) y[n - 1] = __hfma(a, x[n - 1], y[n - 1]);
}

__global__ void addHalves(const __half *a, const __half *b, __half *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = __hadd(__hmul(a[i], b[i]), __float2half(0.5f));
}

__global__ void halfToFloat(const __half *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __half2float(in[i]);
}

__global__ void floatToHalf2(const float2 *in, __half2 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __float22half2_rn(in[i]);
}

__global__ void dotOfHalves(const half2 *a, const half2 *b, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (; i < n; i += blockDim.x * gridDim.x) {
        float2 x = __half22float2(a[i]), y = __half22float2(b[i]);
        sum += x.x * y.x + x.y * y.y;
    }
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

__global__ void halfProduct(const half *A, const half *B, float *C, int N)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= N || col >= N) return;
    float acc = 0.0f;
    for (int k = 0; k < N; k++) acc += __half2float(A[row * N + k]) * __half2float(B[k * N + col]);
    C[row * N + col] = acc;
}

__global__ void reluHalf2(half2 *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    half2 zero = __float2half2_rn(0.0f);
    if (i < n) x[i] = __hmax2(x[i], zero);
}

__global__ void siluHalf(const half *x, half *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    half one = __float2half(1.0f);
    half e = hexp(__hneg(x[i]));
    y[i] = __hdiv(x[i], __hadd(one, e));
}

__global__ void maxOfHalves(const half *x, half *out, int n)
{
    half best = __float2half(-65504.0f);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (__hgt(x[i], best)) best = x[i];
    for (int d = 16; d > 0; d /= 2) best = __hmax(best, __shfl_xor_sync(0xffffffff, best, d));
    if (threadIdx.x == 0) *out = best;
}

__global__ void pairsOfHalf2(const half2 *in, half2 *out, float *low, float *high, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        half2 v = in[i];
        low[i] = __low2float(v);
        high[i] = __high2float(v);
        out[i] = __hadd2(__lowhigh2highlow(v), make_half2(1.0f, 2.0f));
    }
}

__global__ void scaleBf16(const __nv_bfloat16 *x, __nv_bfloat16 *y, float s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __float2bfloat16(__bfloat162float(x[i]) * s);
}

__global__ void fmaBf162(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = __hfma2(a[i], b[i], c[i]);
}

__global__ void rmsOfBf16(const nv_bfloat16 *x, float *out, int n)
{
    __shared__ float part[64];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float v = __bfloat162float(x[i]);
        sum += v * v;
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = sqrtf(part[0] / n);
}

int main()
{
    const int n = 100;
    const half a = __float2half(2.0f);
    half *x, *y;
    cudaMalloc((void **)&x, n * sizeof(half));
    cudaMalloc((void **)&y, n * sizeof(half));
    haxpy<<<(n + 255) / 256, 256>>>(n, a, x, y);
    cudaDeviceSynchronize();
    return 0;
}
