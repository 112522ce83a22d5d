// Cooperative groups, as the guides introduce them.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdio>

namespace cg = cooperative_groups;

__global__ void blockSum(const int *in, int *out, int n)
{
    cg::thread_block block = cg::this_thread_block();
    extern __shared__ int temp[];
    int lane = block.thread_rank();
    temp[lane] = 0;
    for (int i = blockIdx.x * blockDim.x + lane; i < n; i += gridDim.x * blockDim.x)
        temp[lane] += in[i];
    block.sync();
    for (int i = block.size() / 2; i > 0; i /= 2) {
        if (lane < i) temp[lane] += temp[lane + i];
        block.sync();
    }
    if (lane == 0) atomicAdd(out, temp[0]);
}

__global__ void tileSum(const float *in, float *out, int n)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int i = block.group_index().x * block.group_dim().x + block.thread_index().x;
    float v = i < n ? in[i] : 0.0f;
    for (int offset = tile.size() / 2; offset > 0; offset /= 2) v += tile.shfl_down(v, offset);
    if (tile.thread_rank() == 0) atomicAdd(out, v);
}

__global__ void reduceTile16(const int *in, int *sums, int *largest)
{
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = cg::reduce(tile, in[i], cg::plus<int>());
    int most = cg::reduce(tile, in[i], cg::greater<int>());
    if (tile.thread_rank() == 0) {
        sums[i / 16] = sum;
        largest[i / 16] = most;
    }
}

__device__ int sumOfTile(const cg::thread_block_tile<32> &tile, int value)
{
    for (int i = 1; i < tile.num_threads(); i *= 2) value += tile.shfl_xor(value, i);
    return value;
}

__global__ void tilesThenBlock(const int *in, int *out)
{
    __shared__ int perTile[8];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int sum = sumOfTile(tile, in[blockIdx.x * blockDim.x + block.thread_rank()]);
    if (tile.thread_rank() == 0) perTile[tile.meta_group_rank()] = sum;
    cg::sync(block);
    if (tile.meta_group_rank() == 0) {
        int v = tile.thread_rank() < tile.meta_group_size() ? perTile[tile.thread_rank()] : 0;
        v = cg::reduce(tile, v, cg::plus<int>());
        tile.sync();
        if (tile.thread_rank() == 0) out[blockIdx.x] = v;
    }
}

__global__ void scanOfTiles(const int *in, int *inclusive, int *exclusive)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    inclusive[i] = cg::inclusive_scan(tile, in[i], cg::plus<int>());
    exclusive[i] = cg::exclusive_scan(tile, in[i]);
}

__device__ int atomicAggInc(int *ptr)
{
    cg::coalesced_group g = cg::coalesced_threads();
    int prev;
    if (g.thread_rank() == 0) prev = atomicAdd(ptr, g.size());
    prev = g.thread_rank() + g.shfl(prev, 0);
    return prev;
}

__global__ void filterPositive(int *dst, int *nres, const int *src, int n)
{
    int id = threadIdx.x + blockIdx.x * blockDim.x;
    if (id >= n) return;
    if (src[id] > 0) dst[atomicAggInc(nres)] = src[id];
}

__global__ void votesOfTiles(const int *in, unsigned *mask, int *flags)
{
    using namespace cooperative_groups;
    auto tile = tiled_partition<8>(this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool positive = in[i] > 0;
    mask[i] = tile.ballot(positive);
    flags[i] = tile.any(positive) + 2 * tile.all(positive);
}

__global__ void wholeGrid(const float *x, float *y, unsigned long long n)
{
    cg::grid_group grid = cg::this_grid();
    for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) y[i] = 2.0f * x[i];
}

__global__ void guardedBlock(const float *x, float *y, int n)
{
    __shared__ float s[64];
    cg::thread_block cta = cg::this_thread_block();
    int i = blockIdx.x * 64 + cta.thread_rank();
    s[cta.thread_rank()] = 0.0f;
    if (i >= n) return;
    s[cta.thread_rank()] = x[i];
    cta.sync();
    y[i] = s[cta.thread_rank() ^ 1];
}

__device__ int sumOfGroup(cg::thread_block g, int *temp, int val)
{
    int lane = g.thread_rank();
    for (int i = g.size() / 2; i > 0; i /= 2) {
        temp[lane] = val;
        g.sync();
        if (lane < i) val += temp[lane + i];
        g.sync();
    }
    return val;
}

__global__ void sumThroughHelper(const int *in, int *out)
{
    extern __shared__ int temp[];
    auto g = cg::this_thread_block();
    int sum = sumOfGroup(g, temp, in[blockIdx.x * blockDim.x + threadIdx.x]);
    if (g.thread_rank() == 0) out[blockIdx.x] = sum;
}

int main()
{
    int n = 1 << 24, *sum, *data;
    cudaMallocManaged(&sum, sizeof(int));
    cudaMallocManaged(&data, n * sizeof(int));
    int blockSize = 256, nBlocks = (n + blockSize - 1) / blockSize;
    blockSum<<<nBlocks, blockSize, blockSize * sizeof(int)>>>(data, sum, n);
    cudaDeviceSynchronize();
    return 0;
}
