"""CUDA files as people write them: a textbook's whole program, and kernels of other forms."""

from __future__ import annotations

TEXTBOOK = """\
#include <stdio.h>
#include <cuda_runtime.h>
#define TILE 16

__global__ void matrixMul(const float* A, const float* B, float* C, int N) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < N; k++) sum += A[row * N + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

__global__ void tiled(const float* A, const float* B, float* C, int N) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int t = 0; t < (N + TILE - 1) / TILE; t++) {
        As[ty][tx] = row < N && t * TILE + tx < N ? A[row * N + t * TILE + tx] : 0;
        Bs[ty][tx] = col < N && t * TILE + ty < N ? B[(t * TILE + ty) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < N && col < N) C[row * N + col] = sum;
}

int main() {
    const int N = 192;
    size_t size = N * N * sizeof(float);
    float *h_A = (float*)malloc(size), *d_A, *d_B, *d_C;
    cudaMalloc(&d_A, size); cudaMalloc(&d_B, size); cudaMalloc(&d_C, size);
    dim3 threadsPerBlock(32, 8);
    dim3 numBlocks((N + 31) / 32, (N + 7) / 8);
    matrixMul<<<numBlocks, threadsPerBlock>>>(d_A, d_B, d_C, N);
    cudaDeviceSynchronize();
    printf("%f\\n", h_A[0]);
    return 0;
}
"""
FORMS = """\
#define WIDTH 64
__global__ void gray(const float *rgb, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (rgb[3 * i] + rgb[3 * i + 1] + rgb[3 * i + 2]) / 3;
}
__global__ void rows_of_64(const float *in, float *out, int rows) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < WIDTH && y < rows) out[y * WIDTH + x] = in[y * WIDTH + x];
}
__global__ void transpose(const float *in, float *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  out[x * height + y] = in[y * width + x];
}
__global__ void histogram(const unsigned int* data, unsigned int* bins, int n, int nbins) {
  int stride = blockDim.x * gridDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    atomicAdd(&bins[data[i] % nbins], 1u);
}
__global__ void gemm(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                     float *C) {
  const uint x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < M && y < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) tmp += A[x * K + i] * B[i * N + y];
    C[x * N + y] = alpha * tmp + beta * C[x * N + y];
  }
}
__global__ void stencil(const double* a, double* b, int nx, int ny, int nz) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; int j = blockIdx.y*blockDim.y + threadIdx.y;
  int k = blockIdx.z*blockDim.z + threadIdx.z;
  if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1 && k > 0 && k < nz - 1)
    b[(k * ny + j) * nx + i] = a[(k * ny + j) * nx + i - 1] + a[(k * ny + j) * nx + i + 1];
}
__global__ void flat(const float* a, float* b, size_t rows, size_t cols) {
  size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (rows * cols > at) b[at] = a[at];
}
"""
TEMPLATES = """\
#include <cstdio>
#define LAST (BLOCK - 1)

template <typename T, int BLOCK = 256>
__global__ void blockSum(const T* in, T* out, int n)
{
    __shared__ T cache[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    cache[threadIdx.x] = i < n ? in[i] : T(0);
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) cache[threadIdx.x] += cache[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x + LAST == BLOCK - 1) atomicAdd(out, cache[0]);
}

// What only a GPU has, in a kernel that is not asked for.
__global__ void debugDump(float** rows) { asm("membar.gl;"); rows[0][0] = 0; }

void sum(float *d_in, float *d_out, int n, int threads)
{
    switch (threads) {
    case 128: blockSum<float, 128><<<(n + 127) / 128, 128>>>(d_in, d_out, n); break;
    case 64: blockSum<float, 32 * 2><<<(n + 63) / 64, 64>>>(d_in, d_out, n); break;
    }
    debugDump<<<1, 1>>>(nullptr);
}
int main()
{
    const int n = 5000;
    float *d_in, *d_out;
    cudaMalloc(&d_in, n * sizeof(float));
    sum(d_in, d_out, n, 128);
}
"""
WITH_CPU = """\
#include <cmath>
#define N 60

static float dot(const float *row, const float *B, int col, int n)
{
    float sum = 0;
    for (int k = 0; k < n; k++) sum += row[k] * B[k * n + col];
    return sum;
}

inline void matrixMulCPU(float *a, float *b, float *c, int n)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) c[i * n + j] = dot(a + i * n, b, j, n);
}

void allocate(float *A, float *B, float *C, int n) { A = (float *)malloc(n * n * sizeof(float)); }
float sum(float *A, float *B, float *C, int n) { return A[0]; }

__global__ void matrixMul(float *A, float *B, float *C, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n && col < n) {
        float sum = 0.0f;
        for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
        C[row * n + col] = sum;
    }
}

__global__ void forgetful(float *A, float *B, float *C, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n * n) C[at] = A[at];
}

int main()
{
    float *A, *B, *C, *h;
    matrixMul<<<dim3(4, 4), dim3(16, 16)>>>(A, B, C, N);
    allocate(A, B, C, N);
    matrixMulCPU(A, B, h, N);
}
"""
