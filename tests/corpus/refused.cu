// What a CPU cannot run, or nobody should: each is refused with its line and what to write instead.
#include <cooperative_groups.h>
#include <stdio.h>

namespace cg = cooperative_groups;

__device__ void warpReduce(volatile int *sdata, int tid)
{
    sdata[tid] += sdata[tid + 32];
    sdata[tid] += sdata[tid + 16];
    sdata[tid] += sdata[tid + 8];
    sdata[tid] += sdata[tid + 4];
    sdata[tid] += sdata[tid + 2];
    sdata[tid] += sdata[tid + 1];
}

__global__ void sumInStep(const int *g_idata, int *g_odata)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    sdata[tid] = g_idata[blockIdx.x * blockDim.x + tid];
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid < 32) warpReduce(sdata, tid);
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

__global__ void loopInStep(const float *in, float *out)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    if (t < 32) {
        volatile float *v = s;
        for (int d = 32; d > 0; d >>= 1) v[t] += v[t + d];
    }
    if (t == 0) *out = s[0];
}

__global__ void neighbourInStep(const float *in, float *out)
{
    __shared__ float s[33];
    int lane = threadIdx.x;
    s[lane] = in[lane];
    if (lane == 0) s[32] = in[0];
    out[lane] = s[lane + 1] - s[lane];
}

__global__ void barrierForSome(float *x, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        x[i] *= 2.0f;
        __syncthreads();
        x[i] += x[n - 1 - i];
    }
}

__global__ void wholeGridWaits(float *x, int n)
{
    cg::grid_group grid = cg::this_grid();
    unsigned int i = grid.thread_rank();
    if (i < n) x[i] += 1.0f;
    grid.sync();
    if (i < n) x[i] += x[n - 1 - i];
}

__device__ int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__global__ void recursive(int *x)
{
    x[threadIdx.x] = fibonacci(threadIdx.x);
}

__global__ void laneByAssembly(unsigned *lanes)
{
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    lanes[threadIdx.x] = lane;
}

__global__ void textureFetch(cudaTextureObject_t image, float *out, int width)
{
    int x = threadIdx.x;
    out[x] = tex1Dfetch<float>(image, x);
}

__global__ void jaggedRows(float **rows, int n)
{
    for (int i = 0; i < n; i++) rows[threadIdx.x][i] = 0.0f;
}

__global__ void voteAfterReturn(const int *x, int *count, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    *count = __syncthreads_count(x[i] > 0);
}

int main()
{
    return 0;
}
