// Threads that leave early: before barriers, in blocks that are partly or wholly outside.
#include <cuda_runtime.h>
#include <stdio.h>

#define TPB 64
#define RADIUS 3

__global__ void sharedReverse(float *d, int n)
{
    __shared__ float s[TPB];
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    int tr = n - t - 1;
    float mine = d[t];
    s[threadIdx.x] = mine * 2.0f;
    __syncthreads();
    d[t] = s[threadIdx.x] + (float)(tr - tr);
}

__global__ void stencilWithGuard(const float *in, float *out, int n)
{
    __shared__ float temp[TPB + 2 * RADIUS];
    int gindex = threadIdx.x + blockIdx.x * blockDim.x;
    int lindex = threadIdx.x + RADIUS;
    if (gindex >= n) return;
    temp[lindex] = in[gindex];
    if (threadIdx.x < RADIUS) {
        temp[lindex - RADIUS] = gindex >= RADIUS ? in[gindex - RADIUS] : 0.0f;
        temp[lindex + TPB] = gindex + TPB < n ? in[gindex + TPB] : 0.0f;
    }
    __syncthreads();
    float result = 0;
    for (int offset = -RADIUS; offset <= RADIUS; offset++) result += temp[lindex + offset];
    out[gindex] = result;
}

__global__ void tiledProductWithGuard(const float *A, const float *B, float *C, int N)
{
    __shared__ float As[8][8], Bs[8][8];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 8 + ty;
    int col = blockIdx.x * 8 + tx;
    if (row >= N || col >= N) return;  // N is a multiple of 8 in the book
    float value = 0.0f;
    for (int m = 0; m < N / 8; ++m) {
        As[ty][tx] = A[row * N + m * 8 + tx];
        Bs[ty][tx] = B[(m * 8 + ty) * N + col];
        __syncthreads();
        for (int k = 0; k < 8; ++k) value += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[row * N + col] = value;
}

__global__ void blockLeaves(const int *in, int *out, int blocks)
{
    __shared__ int s[TPB];
    if (blockIdx.x >= blocks) return;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = s[TPB - 1 - threadIdx.x];
}

__global__ void twoGuards(const float *x, float *y, float *outside, int n, float limit)
{
    __shared__ float best[TPB];
    const int tid = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + tid;
    best[tid] = -1e30f;
    if (i >= n) {
        outside[i] = 1.0f;
        return;
    }
    const float v = x[i], w = fabsf(x[i]);
    if (w > limit) {
        y[i] = -limit;
        return;
    }
    best[tid] = v;
    __syncthreads();
    float most = best[0];
    for (int k = 1; k < TPB; k++)
        if (best[k] > most) most = best[k];
    __syncthreads();
    y[i] = most;
}

__global__ void sumOfRowWithGuard(const float *rows, float *sums, int width, int height)
{
    extern __shared__ float part[];
    unsigned int row = blockIdx.x;
    unsigned int tid = threadIdx.x;
    part[tid] = 0.0f;
    if (tid >= width) return;
    float sum = 0.0f;
    for (unsigned int c = tid; c < width; c += blockDim.x) sum += rows[row * width + c];
    part[tid] = sum;
    __syncthreads();
    unsigned int s = blockDim.x;
    while (s > 1) {
        s >>= 1;
        if (tid < s) part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid != 0) return;
    sums[row] = part[0];
}

__global__ void relaxUntil(float *x, int n, int rounds)
{
    __shared__ float s[TPB + 2];
    int i = threadIdx.x + 1;
    if (threadIdx.x >= n) return;
    s[i] = x[threadIdx.x];
    if (threadIdx.x == 0) {
        s[0] = 0.0f;
        s[n + 1] = 1.0f;
    }
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        if (r == rounds - 1) break;
        float next = 0.5f * (s[i - 1] + s[i + 1]);
        __syncthreads();
        s[i] = next;
        __syncthreads();
    }
    x[threadIdx.x] = s[i];
}

int main()
{
    const int n = 64;
    float *d_d;
    cudaMalloc(&d_d, n * sizeof(float));
    sharedReverse<<<1, n, n * sizeof(float)>>>(d_d, n);
    cudaDeviceSynchronize();
}
