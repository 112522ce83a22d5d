// What kernels print.
#include <cstdio>
#include <stdio.h>
#include <cuda_runtime.h>

__global__ void helloFromGPU()
{
    printf("Hello World from block %d, thread %d!\n", blockIdx.x, threadIdx.x);
}

__global__ void printKinds(const float *x, const double *y, const long long *z, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    printf("%2d: %8.3f %g %lld "
           "%u%% %c 0x%04x\n",
           i, x[i], y[i], z[i], (unsigned)i * 10u, 'a' + i, i);
}

__device__ void complain(int index, float value)
{
    printf("element %d is %f, which is negative\n", index, value);
}

__global__ void printFromHelper(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (x[i] < 0.0f) {
        complain(i, x[i]);
        y[i] = 0.0f;
    } else
        y[i] = x[i];
}

__global__ void printOnceABlock(const int *in, int *out)
{
    __shared__ int s[32];
    s[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int k = 0; k < 32; k++) sum += s[k];
        out[blockIdx.x] = sum;
        printf("block %u of %u: sum = %i\n", blockIdx.x, gridDim.x, sum);
    }
}

int main()
{
    helloFromGPU<<<2, 3>>>();
    cudaDeviceReset();
    printf("done\n");
    return 0;
}
