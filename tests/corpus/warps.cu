// What the threads of a warp do together.
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void broadcastFirst(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int laneId = threadIdx.x & 0x1f;
    int value;
    if (laneId == 0) value = in[i];
    value = __shfl_sync(0xffffffff, value, 0);
    out[i] = value;
}

__global__ void reverseInWarp(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % warpSize;
    out[i] = __shfl_sync(0xffffffffu, in[i], warpSize - 1 - lane);
}

__global__ void rotateByTwo(const int *d_in, int *d_out)
{
    int value = d_in[threadIdx.x];
    value = __shfl_sync(0xffffffff, value, threadIdx.x + 2, 16);
    d_out[threadIdx.x] = value;
}

__global__ void butterfly(const double *in, double *out)
{
    double v = in[threadIdx.x];
    for (int mask = 1; mask < 32; mask <<= 1) v += __shfl_xor_sync(~0u, v, mask);
    out[threadIdx.x] = v;
}

__global__ void differenceWithNext(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float next = __shfl_down_sync(0xffffffff, in[i], 1);
    out[i] = (threadIdx.x & 31) < 31 ? next - in[i] : 0.0f;
}

__global__ void halvesOfWarp(const int *in, int *out)
{
    int v = in[threadIdx.x];
    for (int d = 8; d > 0; d >>= 1) v = max(v, __shfl_xor_sync(0xffffffff, v, d, 16));
    out[threadIdx.x] = v;
}

__global__ void voteInWarp(const int *in, int *any, int *all, unsigned *ballot)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int positive = in[i] > 0;
    int a = __any_sync(0xffffffff, in[i] > 7), b = __all_sync(0xffffffff, in[i] > -10);
    unsigned c = __ballot_sync(0xffffffff, positive);
    if (threadIdx.x % 32 == 0) {
        any[i / 32] = a != 0;
        all[i / 32] = b != 0;
        ballot[i / 32] = c;
    }
}

__global__ void activeLanes(const int *in, unsigned *masks)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    masks[i] = 0;
    if (in[i] > 0) masks[i] = __activemask();
}

__global__ void matchValues(const int *in, unsigned *same, int *leaders)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned mask = __match_any_sync(0xffffffff, in[i]);
    same[i] = mask;
    leaders[i] = __ffs(mask) - 1;
}

__global__ void aggregatedHistogram(const int *in, int *bins, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        unsigned peers = __match_any_sync(0xffffffff, in[i]);
        int lane = threadIdx.x & 31;
        if (lane == __ffs(peers) - 1) atomicAdd(&bins[in[i]], __popc(peers));
    }
}

__global__ void sortInWarp(const int *in, int *out)
{
    int lane = threadIdx.x & 31;
    int v = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int k = 2; k <= 32; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) {
            int other = __shfl_xor_sync(0xffffffff, v, j);
            bool up = (lane & k) == 0, lower = (lane & j) == 0;
            v = (up == lower) ? min(v, other) : max(v, other);
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

__global__ void sharedWithSyncwarp(const int *in, int *out)
{
    __shared__ int s[128];
    int t = threadIdx.x, lane = t & 31;
    s[t] = in[blockIdx.x * blockDim.x + t];
    __syncwarp();
    for (int d = 16; d > 0; d >>= 1) {
        if (lane < d) s[t] += s[t + d];
        __syncwarp();
    }
    if (lane == 0) out[(blockIdx.x * blockDim.x + t) / 32] = s[t];
}

__global__ void longShuffle(const unsigned long long *in, unsigned long long *out)
{
    out[threadIdx.x] = __shfl_up_sync(0xffffffff, in[threadIdx.x], 3);
}

int main()
{
    int *in, *out;
    cudaMalloc(&in, 128);
    cudaMalloc(&out, 128);
    broadcastFirst<<<1, 32>>>(in, out);
    cudaDeviceSynchronize();
}
