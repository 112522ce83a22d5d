// Histograms, counters, locks and other uses of atomics.
#include <stdio.h>
#include <cuda_runtime.h>

#define BINS 64

__global__ void histogramGlobal(const unsigned char *buffer, long size, unsigned int *histo)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int stride = blockDim.x * gridDim.x;
    while (i < size) {
        atomicAdd(&histo[buffer[i]], 1);
        i += stride;
    }
}

__global__ void histogramShared(const unsigned char *buffer, long size, unsigned int *histo)
{
    __shared__ unsigned int temp[256];
    temp[threadIdx.x] = 0;
    __syncthreads();
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int stride = blockDim.x * gridDim.x;
    while (i < size) {
        atomicAdd(&temp[buffer[i]], 1);
        i += stride;
    }
    __syncthreads();
    atomicAdd(&(histo[threadIdx.x]), temp[threadIdx.x]);
}

__global__ void histogramPrivate(const int *data, int *hist, int n)
{
    extern __shared__ int mine[];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int bin = min(max(data[i], 0), BINS - 1);
        atomicAdd(mine + bin, 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (mine[b] > 0) atomicAdd(hist + b, mine[b]);
}

__global__ void sumInto64(const unsigned int *x, unsigned long long int *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, (unsigned long long int)x[i] * x[i]);
}

__global__ void extremes(const long long *x, long long *least, long long *most, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicMin(least, x[i]);
    atomicMax(most, x[i]);
}

__device__ static float atomicMaxFloat(float *address, float val)
{
    int *address_as_i = (int *)address;
    int old = *address_as_i, assumed;
    do {
        assumed = old;
        old = ::atomicCAS(address_as_i, assumed,
                          __float_as_int(fmaxf(val, __int_as_float(assumed))));
    } while (assumed != old);
    return __int_as_float(old);
}

__global__ void maxOfFloats(const float *x, float *most, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicMaxFloat(most, x[i]);
}

#if __CUDA_ARCH__ < 600
__device__ double atomicAddOfOld(double *address, double val)
{
    return val;
}
#else
__device__ double atomicAddOfOld(double *address, double val)
{
    unsigned long long int *address_as_ull = (unsigned long long int *)address;
    unsigned long long int old = *address_as_ull, assumed;
    do {
        assumed = old;
        old = atomicCAS(address_as_ull, assumed,
                        __double_as_longlong(val + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}
#endif

__global__ void addDoublesByHand(const double *x, double *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAddOfOld(sum, x[i]);
}

__global__ void roundRobin(unsigned int *wheel, unsigned int *down, int *seen, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned int ticket = atomicInc(wheel, 9);
        atomicAdd(&seen[ticket], 1);
        atomicDec(down, 6);
    }
}

__global__ void flagsByBits(const int *x, unsigned int *seen, unsigned int *all, unsigned int *odd)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicOr(&seen[x[i] / 32], 1u << (x[i] % 32));
    atomicAnd(all, ~(1u << (x[i] % 32)));
    atomicXor(odd, 1u << (x[i] % 32));
}

__global__ void claimSlots(int *slots, int *owner, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = (i * 7) % n;
    while (atomicCAS(&slots[at], -1, i) != -1) at = (at + 1) % n;
    owner[i] = at;
}

__global__ void exchangeLast(const float *x, float *last, float *handedOn, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) handedOn[i] = atomicExch(last, x[i]);
}

__device__ int mutex = 0;
__device__ int counter = 0;

__global__ void countUnderLock(int *total)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(&mutex, 0, 1) != 0) {
        }
        __threadfence();
        counter = counter + 1;
        *total = counter;
        __threadfence();
        atomicExch(&mutex, 0);
    }
}

int main()
{
    unsigned char *d_buffer;
    unsigned int *d_histo;
    const long SIZE = 1024 * 1024;
    cudaMalloc((void **)&d_buffer, SIZE);
    cudaMalloc((void **)&d_histo, 256 * sizeof(int));
    cudaMemset(d_histo, 0, 256 * sizeof(int));
    histogramShared<<<16, 256>>>(d_buffer, SIZE, d_histo);
    cudaDeviceSynchronize();
}
