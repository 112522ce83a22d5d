#include <iostream>
#include <vector>
#include <cuda_runtime.h>

constexpr int BLOCK_SIZE = 512;

// Work-efficient exclusive scan of one block of 2 * BLOCK_SIZE elements.
__global__ void scan_block(const float* __restrict__ input, float* __restrict__ output,
                           float* __restrict__ block_sums, int n)
{
    __shared__ float temp[2 * BLOCK_SIZE];
    int tid = threadIdx.x;
    int base = 2 * blockIdx.x * blockDim.x;

    temp[2 * tid]     = (base + 2 * tid     < n) ? input[base + 2 * tid]     : 0.0f;
    temp[2 * tid + 1] = (base + 2 * tid + 1 < n) ? input[base + 2 * tid + 1] : 0.0f;

    int offset = 1;
    for (int d = BLOCK_SIZE; d > 0; d >>= 1) {
        __syncthreads();
        if (tid < d) {
            int ai = offset * (2 * tid + 1) - 1;
            int bi = offset * (2 * tid + 2) - 1;
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (tid == 0) {
        block_sums[blockIdx.x] = temp[2 * BLOCK_SIZE - 1];
        temp[2 * BLOCK_SIZE - 1] = 0.0f;
    }
    for (int d = 1; d < 2 * BLOCK_SIZE; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (tid < d) {
            int ai = offset * (2 * tid + 1) - 1;
            int bi = offset * (2 * tid + 2) - 1;
            float t = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += t;
        }
    }
    __syncthreads();
    if (base + 2 * tid     < n) output[base + 2 * tid]     = temp[2 * tid];
    if (base + 2 * tid + 1 < n) output[base + 2 * tid + 1] = temp[2 * tid + 1];
}

__global__ void add_block_sums(float* output, const float* block_sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] += block_sums[i / (2 * BLOCK_SIZE)];
}

int main()
{
    const int n = 1024;
    std::vector<float> h(n, 1.0f);
    float *d_in, *d_out, *d_sums;
    cudaMalloc((void**)&d_in, n * sizeof(float));
    cudaMalloc((void**)&d_out, n * sizeof(float));
    cudaMalloc((void**)&d_sums, sizeof(float));
    cudaMemcpy(d_in, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    int blocks = (n + 2 * BLOCK_SIZE - 1) / (2 * BLOCK_SIZE);
    scan_block<<<blocks, BLOCK_SIZE>>>(d_in, d_out, d_sums, n);
    cudaMemcpy(h.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost);
    std::cout << h[n - 1] << std::endl;
}
