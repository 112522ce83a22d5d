#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
namespace cg = cooperative_groups;

__global__ void dot_product(const float *a, const float *b, float *result, int n)
{
    extern __shared__ float partial[];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += a[i] * b[i];
    sum = cg::reduce(tile, sum, cg::plus<float>());
    if (tile.thread_rank() == 0)
        partial[tile.meta_group_rank()] = sum;
    block.sync();
    if (block.thread_rank() == 0) {
        float total = 0.0f;
        for (int w = 0; w < tile.meta_group_size(); ++w) total += partial[w];
        atomicAdd(result, total);
    }
}

int main()
{
    int n = 1 << 18;
    float *a, *b, *r;
    cudaMallocManaged(&a, n * sizeof(float));
    cudaMallocManaged(&b, n * sizeof(float));
    cudaMallocManaged(&r, sizeof(float));
    for (int i = 0; i < n; ++i) { a[i] = 1.0f; b[i] = 2.0f; }
    int threads = 256, blocks = 120;
    dot_product<<<blocks, threads, (threads / 32) * sizeof(float)>>>(a, b, r, n);
    cudaDeviceSynchronize();
    printf("%f\n", *r);
    cudaFree(a); cudaFree(b); cudaFree(r);
}
