#include <cstdio>
#include <cuda_runtime.h>

template <unsigned int blockSize>
__device__ void warpReduce(volatile int *sdata, unsigned int tid) {
    if (blockSize >= 64) sdata[tid] += sdata[tid + 32];
    if (blockSize >= 32) sdata[tid] += sdata[tid + 16];
    if (blockSize >= 16) sdata[tid] += sdata[tid + 8];
    if (blockSize >= 8) sdata[tid] += sdata[tid + 4];
    if (blockSize >= 4) sdata[tid] += sdata[tid + 2];
    if (blockSize >= 2) sdata[tid] += sdata[tid + 1];
}

template <unsigned int blockSize>
__global__ void reduce6(int *g_idata, int *g_odata, unsigned int n) {
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x*(blockSize*2) + tid;
    unsigned int gridSize = blockSize*2*gridDim.x;
    sdata[tid] = 0;
    while (i < n) { sdata[tid] += g_idata[i] + g_idata[i+blockSize]; i += gridSize; }
    __syncthreads();
    if (blockSize >= 512) { if (tid < 256) { sdata[tid] += sdata[tid + 256]; } __syncthreads(); }
    if (blockSize >= 256) { if (tid < 128) { sdata[tid] += sdata[tid + 128]; } __syncthreads(); }
    if (blockSize >= 128) { if (tid < 64) { sdata[tid] += sdata[tid + 64]; } __syncthreads(); }
    if (tid < 32) warpReduce<blockSize>(sdata, tid);
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

template <typename T, unsigned int blockSize>
__global__ void reduceShuffle(const T *g_idata, T *g_odata, unsigned int n) {
    __shared__ T warpSums[32];
    T sum = 0;
    for (unsigned int i = blockIdx.x * blockSize + threadIdx.x; i < n; i += blockSize * gridDim.x)
        sum += g_idata[i];
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    int lane = threadIdx.x % 32, wid = threadIdx.x / 32;
    if (lane == 0) warpSums[wid] = sum;
    __syncthreads();
    if (wid == 0) {
        sum = threadIdx.x < blockSize / 32 ? warpSums[lane] : T(0);
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, offset);
        if (lane == 0) g_odata[blockIdx.x] = sum;
    }
}

void reduce(int size, int threads, int blocks, float *d_idata, float *d_odata, int *i_in, int *i_out) {
    dim3 dimBlock(threads, 1, 1);
    dim3 dimGrid(blocks, 1, 1);
    int smemSize = threads * sizeof(int);
    switch (threads) {
    case 512: reduceShuffle<float, 512><<<dimGrid, dimBlock>>>(d_idata, d_odata, size); break;
    case 256: reduceShuffle<float, 256><<<dimGrid, dimBlock>>>(d_idata, d_odata, size); break;
    case 128: reduceShuffle<float, 128><<<dimGrid, dimBlock>>>(d_idata, d_odata, size); break;
    case 64:  reduceShuffle<float, 64><<<dimGrid, dimBlock>>>(d_idata, d_odata, size); break;
    case 1:   reduce6<512><<<dimGrid, dimBlock, smemSize>>>(i_in, i_out, size); break;
    }
}
int main() { int n = 1 << 20; float *a, *b; int *c, *d; cudaMalloc(&a, n * 4); cudaMalloc(&b, 64 * 4);
  reduce(n, 512, 64, a, b, c, d); }
