#include <cuda_runtime.h>
#include <math.h>
#define THREADS 128

// a row for each block; the kernel is not told how many there are
__global__ void softmax(const float* __restrict__ in, float* __restrict__ out, int C) {
    __shared__ float buffer[THREADS];
    const float* x = in + blockIdx.x * C;
    float* y = out + blockIdx.x * C;
    int tid = threadIdx.x;
    float most = -INFINITY;
    for (int i = tid; i < C; i += blockDim.x) most = fmaxf(most, x[i]);
    buffer[tid] = most;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) buffer[tid] = fmaxf(buffer[tid], buffer[tid + s]);
        __syncthreads();
    }
    most = buffer[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = tid; i < C; i += blockDim.x) {
        y[i] = expf(x[i] - most);
        sum += y[i];
    }
    buffer[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) buffer[tid] += buffer[tid + s];
        __syncthreads();
    }
    for (int i = tid; i < C; i += blockDim.x) y[i] /= buffer[0];
}

int main() {
    const int N = 64, C = 300;
    float *d_in, *d_out;
    cudaMalloc(&d_in, N * C * sizeof(float));
    cudaMalloc(&d_out, N * C * sizeof(float));
    softmax<<<N, THREADS>>>(d_in, d_out, C);
    cudaDeviceSynchronize();
}
