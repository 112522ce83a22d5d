// Prefix sums, compaction and what is built on them.
#include <cuda_runtime.h>
#include <stdio.h>

#define SECTION 128

__global__ void koggeStone(const float *X, float *Y, unsigned int N)
{
    __shared__ float XY[SECTION];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        XY[threadIdx.x] = X[i];
    else
        XY[threadIdx.x] = 0.0f;
    for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
        __syncthreads();
        float temp = 0.0f;
        if (threadIdx.x >= stride) temp = XY[threadIdx.x] + XY[threadIdx.x - stride];
        __syncthreads();
        if (threadIdx.x >= stride) XY[threadIdx.x] = temp;
    }
    if (i < N) Y[i] = XY[threadIdx.x];
}

__global__ void brentKung(const float *X, float *Y, unsigned int N)
{
    __shared__ float XY[SECTION];
    unsigned int i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) XY[threadIdx.x] = X[i];
    if (i + blockDim.x < N) XY[threadIdx.x + blockDim.x] = X[i + blockDim.x];
    for (unsigned int stride = 1; stride <= blockDim.x; stride *= 2) {
        __syncthreads();
        unsigned int index = (threadIdx.x + 1) * 2 * stride - 1;
        if (index < SECTION) XY[index] += XY[index - stride];
    }
    for (int stride = SECTION / 4; stride > 0; stride /= 2) {
        __syncthreads();
        unsigned int index = (threadIdx.x + 1) * stride * 2 - 1;
        if (index + stride < SECTION) XY[index + stride] += XY[index];
    }
    __syncthreads();
    if (i < N) Y[i] = XY[threadIdx.x];
    if (i + blockDim.x < N) Y[i + blockDim.x] = XY[threadIdx.x + blockDim.x];
}

__global__ void prescan(float *g_odata, const float *g_idata, int n)
{
    extern __shared__ float temp[];
    int thid = threadIdx.x;
    int offset = 1;
    temp[2 * thid] = g_idata[2 * thid];
    temp[2 * thid + 1] = g_idata[2 * thid + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (thid == 0) temp[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            float t = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += t;
        }
    }
    __syncthreads();
    g_odata[2 * thid] = temp[2 * thid];
    g_odata[2 * thid + 1] = temp[2 * thid + 1];
}

__device__ int warpScan(int value)
{
    int lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 1; i <= 16; i *= 2) {
        int n = __shfl_up_sync(0xffffffffU, value, i, 32);
        if (lane >= i) value += n;
    }
    return value;
}

__global__ void blockScanByWarps(const int *in, int *out, int *total)
{
    __shared__ int sums[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = warpScan(in[i]);
    if (lane == 31) sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
        int sum = lane < blockDim.x / 32 ? sums[lane] : 0;
        sum = warpScan(sum);
        sums[lane] = sum;
    }
    __syncthreads();
    if (warp > 0) value += sums[warp - 1];
    out[i] = value;
    if (threadIdx.x == blockDim.x - 1) total[blockIdx.x] = value;
}

__global__ void addOffsets(int *data, const int *totals)
{
    int offset = 0;
    for (int b = 0; b < blockIdx.x; b++) offset += totals[b];
    data[blockIdx.x * blockDim.x + threadIdx.x] += offset;
}

__global__ void compactByBallot(const int *in, int *out, int *counts, int n)
{
    __shared__ int base[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    bool keep = i < n && in[i] > 0;
    unsigned votes = __ballot_sync(0xffffffff, keep);
    int before = __popc(votes & ((1u << lane) - 1));
    if (lane == 0) base[warp] = __popc(votes);
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int w = 0; w < blockDim.x / warpSize; w++) {
            int count = base[w];
            base[w] = sum;
            sum += count;
        }
        counts[blockIdx.x] = sum;
    }
    __syncthreads();
    if (keep) out[blockIdx.x * blockDim.x + base[warp] + before] = in[i];
}

__global__ void segmentedSum(const float *values, const int *heads, float *sums, int n)
{
    __shared__ float v[SECTION];
    __shared__ int flag[SECTION];
    int t = threadIdx.x;
    v[t] = t < n ? values[t] : 0.0f;
    flag[t] = t < n ? heads[t] : 1;
    __syncthreads();
    for (int d = 1; d < SECTION; d <<= 1) {
        float addend = 0.0f;
        int f = flag[t];
        if (t >= d && !f) addend = v[t - d];
        int g = t >= d ? flag[t - d] : 1;
        __syncthreads();
        v[t] += addend;
        flag[t] = f | g;
        __syncthreads();
    }
    if (t < n) sums[t] = v[t];
}

int main()
{
    const int n = 256;
    float *d_in, *d_out;
    cudaMalloc(&d_in, n * sizeof(float));
    cudaMalloc(&d_out, n * sizeof(float));
    prescan<<<1, n / 2, n * sizeof(float)>>>(d_out, d_in, n);
    cudaDeviceSynchronize();
    return 0;
}
