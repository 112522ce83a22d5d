// Sums and extremes: shared memory, warps, atomics, several stages.
#include <stdio.h>
#include <float.h>
#include <limits.h>
#include <cuda_runtime.h>

#define BLOCK_SIZE 256
#define FULL_MASK 0xffffffff

__global__ void sumInterleaved(const int *g_idata, int *g_odata)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = g_idata[i];
    __syncthreads();
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0) {
            sdata[tid] += sdata[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

__global__ void sumSequential(const float *in, float *out, int n)
{
    __shared__ float partial[BLOCK_SIZE];
    int t = threadIdx.x;
    int start = 2 * blockIdx.x * blockDim.x;
    partial[t] = start + t < n ? in[start + t] : 0.0f;
    if (start + blockDim.x + t < n) partial[t] += in[start + blockDim.x + t];
    for (unsigned int stride = blockDim.x / 2; stride >= 1; stride >>= 1) {
        __syncthreads();
        if (t < stride) partial[t] += partial[t + stride];
    }
    if (t == 0) out[blockIdx.x] = partial[0];
}

__global__ void sumWithGuard(const float *in, float *out, int n)
{
    __shared__ float cache[BLOCK_SIZE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cache[threadIdx.x] = 0.0f;
    if (i >= n) return;
    cache[threadIdx.x] = in[i];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) cache[threadIdx.x] += cache[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = cache[0];
}

__inline__ __device__ float warpReduceSum(float val)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        val += __shfl_down_sync(FULL_MASK, val, offset);
    return val;
}

__inline__ __device__ float blockReduceSum(float val)
{
    static __shared__ float shared[32];
    int lane = threadIdx.x % warpSize;
    int wid = threadIdx.x / warpSize;
    val = warpReduceSum(val);
    if (lane == 0) shared[wid] = val;
    __syncthreads();
    val = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0;
    if (wid == 0) val = warpReduceSum(val);
    return val;
}

__global__ void deviceReduceKernel(float *in, float *out, int N)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x)
        sum += in[i];
    sum = blockReduceSum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void deviceReduceWarpAtomic(int *in, int *out, int N)
{
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x)
        sum += in[i];
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(FULL_MASK, sum, offset);
    if ((threadIdx.x & (warpSize - 1)) == 0) atomicAdd(out, sum);
}

__global__ void reduceAddSync(const unsigned *in, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = i < n ? in[i] : 0u;
    unsigned total = __reduce_add_sync(FULL_MASK, v);
    unsigned largest = __reduce_max_sync(FULL_MASK, v);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&out[0], total);
        atomicMax(&out[1], largest);
    }
}

__global__ void maxAndItsPlace(const float *x, float *best, int *place, int n)
{
    __shared__ float values[BLOCK_SIZE];
    __shared__ int indices[BLOCK_SIZE];
    int tid = threadIdx.x;
    float v = -FLT_MAX;
    int at = -1;
    for (int i = tid; i < n; i += blockDim.x)
        if (x[i] > v) {
            v = x[i];
            at = i;
        }
    values[tid] = v;
    indices[tid] = at;
    __syncthreads();
    for (int s = BLOCK_SIZE / 2; s > 0; s >>= 1) {
        if (tid < s && values[tid + s] > values[tid]) {
            values[tid] = values[tid + s];
            indices[tid] = indices[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        *best = values[0];
        *place = indices[0];
    }
}

__device__ unsigned int retirementCount = 0;

__global__ void sumSinglePass(const float *in, volatile float *partials, float *out, int n)
{
    __shared__ float sdata[BLOCK_SIZE];
    __shared__ bool amLast;
    unsigned int tid = threadIdx.x;
    float sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + tid; i < n; i += blockDim.x * gridDim.x)
        sum += in[i];
    sdata[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) {
        partials[blockIdx.x] = sdata[0];
        __threadfence();
        unsigned int ticket = atomicInc(&retirementCount, gridDim.x);
        amLast = (ticket == gridDim.x - 1);
    }
    __syncthreads();
    if (amLast) {
        if (tid == 0) {
            float total = 0;
            for (int i = 0; i < gridDim.x; i++) total += partials[i];
            *out = total;
            retirementCount = 0;
        }
    }
}

__global__ void dotProduct(float *a, float *b, float *c, int N)
{
    __shared__ float cache[BLOCK_SIZE];
    int tid = threadIdx.x + blockIdx.x * blockDim.x;
    int cacheIndex = threadIdx.x;
    float temp = 0;
    while (tid < N) {
        temp += a[tid] * b[tid];
        tid += blockDim.x * gridDim.x;
    }
    cache[cacheIndex] = temp;
    __syncthreads();
    int i = blockDim.x / 2;
    while (i != 0) {
        if (cacheIndex < i) cache[cacheIndex] += cache[cacheIndex + i];
        __syncthreads();
        i /= 2;
    }
    if (cacheIndex == 0) c[blockIdx.x] = cache[0];
}

__global__ void sumUnrolledWarp(const int *g_idata, int *g_odata, unsigned int n)
{
    unsigned int tid = threadIdx.x;
    unsigned int idx = blockIdx.x * blockDim.x * 8 + threadIdx.x;
    __shared__ int smem[BLOCK_SIZE];
    int tmpSum = 0;
    if (idx + 7 * blockDim.x < n) {
        for (int k = 0; k < 8; k++) tmpSum += g_idata[idx + k * blockDim.x];
    }
    smem[tid] = tmpSum;
    __syncthreads();
    if (blockDim.x >= 256 && tid < 128) smem[tid] += smem[tid + 128];
    __syncthreads();
    if (blockDim.x >= 128 && tid < 64) smem[tid] += smem[tid + 64];
    __syncthreads();
    if (tid < 32) {
        int mySum = smem[tid] + smem[tid + 32];
        for (int offset = 16; offset > 0; offset /= 2)
            mySum += __shfl_down_sync(0xffffffffu, mySum, offset);
        if (tid == 0) g_odata[blockIdx.x] = mySum;
    }
}

__global__ void sumDoubles(const double *x, double *total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double v = i < n ? x[i] : 0.0;
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
    if ((threadIdx.x & 31) == 0) atomicAdd(total, v);
}

__global__ void countEven(const int *x, unsigned long long *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool even = i < n && (x[i] & 1) == 0;
    unsigned votes = __ballot_sync(FULL_MASK, even);
    if (threadIdx.x % 32 == 0) atomicAdd(count, (unsigned long long)__popc(votes));
}

int main()
{
    const int N = 1 << 20;
    float *in, *out;
    cudaMallocManaged(&in, N * sizeof(float));
    cudaMallocManaged(&out, 1024 * sizeof(float));
    int blocks = min((N + BLOCK_SIZE - 1) / BLOCK_SIZE, 1024);
    deviceReduceKernel<<<blocks, BLOCK_SIZE>>>(in, out, N);
    deviceReduceKernel<<<1, 1024>>>(out, out, blocks);
    cudaDeviceSynchronize();
    printf("sum = %f\n", out[0]);
    return 0;
}
