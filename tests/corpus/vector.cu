// Vectors: a thread for an element, grid-stride loops, vector types, guards of every form.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <math_constants.h>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t status = (call);                                                     \
        if (status != cudaSuccess) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            exit(EXIT_FAILURE);                                                          \
        }                                                                                \
    } while (0)

__global__ void vectorAdd(const float *A, const float *B, float *C, int numElements)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < numElements) C[i] = A[i] + B[i] + 0.0f;
}

__global__ void saxpy(int n, float a, float *x, float *y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = a * x[i] + y[i];
}

__global__ void daxpy(size_t n, double a, const double *__restrict__ x, double *__restrict__ y)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] += a * x[i];
}

__device__ __forceinline__ float4 operator+(const float4 &a, const float4 &b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__device__ float4 operator*(float s, float4 v)
{
    return make_float4(s * v.x, s * v.y, s * v.z, s * v.w);
}

__global__ void addFloat4(const float4 *a, const float4 *b, float4 *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + 2.0f * b[i];
}

__global__ void vectorisedCopy(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = i; k < n / 4; k += blockDim.x * gridDim.x)
        reinterpret_cast<float4 *>(out)[k] = reinterpret_cast<const float4 *>(in)[k];
    if (i == 0)
        for (int k = n / 4 * 4; k < n; k++) out[k] = in[k];
}

__global__ void interleave(const float *re, const float *im, float2 *z, int n)
{
    int tid = threadIdx.x + blockIdx.x * blockDim.x;
    while (tid < n) {
        float2 value;
        value.x = re[tid];
        value.y = im[tid];
        z[tid] = value;
        tid += blockDim.x * gridDim.x;
    }
}

__global__ void sincosTable(const float *angle, float *s, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float si, co;
        sincosf(angle[i], &si, &co);
        s[i] = si;
        c[i] = co;
    }
}

__global__ void streamedScale(const float *in, float *out, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) __stcs(&out[i], factor * __ldcs(&in[i]));
}

__global__ void clampToRange(float *data, float lo, float hi, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = fminf(fmaxf(data[i], lo), hi);
}

__global__ void polynomial(const float *x, float *y, int n)
{
    const float coefficients[5] = {1.0f, -0.5f, 0.25f, -0.125f, 0.0625f};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float result = coefficients[4];
#pragma unroll
    for (int k = 3; k >= 0; --k) result = fmaf(result, x[i], coefficients[k]);
    y[i] = result;
}

__global__ void nearestInfinity(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float best = CUDART_INF_F;
        for (int k = 0; k < n; k++)
            if (k != i) best = min(best, fabsf(x[i] - x[k]));
        y[i] = isinf(best) ? -1.0f : best;
    }
}

__global__ void bitTricks(const unsigned int *x, int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __popc(x[i]) + 100 * __clz(x[i]) + 10000 * __ffs(x[i])
             + (int)(__brev(x[i]) >> 31) * 1000000;
}

__global__ void bigSquares(const long long *x, unsigned long long *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (unsigned long long)(x[i] * x[i]) + __umulhi(0xffffffffu, 16u)
                    + (unsigned long long)llabs(x[i]);
}

__global__ void byteWeights(const uchar4 *pixels, unsigned char *grey, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uchar4 p = pixels[i];
    grey[i] = (unsigned char)((77 * p.x + 150 * p.y + 29 * p.z) >> 8);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    size_t size = n * sizeof(float);
    float *h_A = (float *)malloc(size), *h_B = (float *)malloc(size);
    for (int i = 0; i < n; ++i) {
        h_A[i] = rand() / (float)RAND_MAX;
        h_B[i] = rand() / (float)RAND_MAX;
    }
    float *d_A, *d_B, *d_C;
    CHECK(cudaMalloc(&d_A, size));
    CHECK(cudaMalloc(&d_B, size));
    CHECK(cudaMalloc(&d_C, size));
    CHECK(cudaMemcpy(d_A, h_A, size, cudaMemcpyHostToDevice));
    int threadsPerBlock = 256;
    int blocksPerGrid = (n + threadsPerBlock - 1) / threadsPerBlock;
    vectorAdd<<<blocksPerGrid, threadsPerBlock>>>(d_A, d_B, d_C, n);
    CHECK(cudaGetLastError());
    saxpy<<<blocksPerGrid, threadsPerBlock>>>(n, 2.0f, d_A, d_C);
    CHECK(cudaDeviceSynchronize());
    cudaFree(d_A);
    free(h_A);
    return 0;
}
