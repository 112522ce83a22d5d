#include <cuda_runtime.h>

// a row for each block
__global__ void rowsum(const float* A, float* out, int rows, int cols) {
    __shared__ float s[256];
    int row = blockIdx.x;
    float a = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) a += A[row * cols + c];
    s[threadIdx.x] = a;
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[row] = s[0];
}

int main() {
    int rows = 1000, cols = 700;
    float *A, *o;
    cudaMalloc(&A, rows * cols * sizeof(float));
    cudaMalloc(&o, rows * sizeof(float));
    rowsum<<<rows, 256>>>(A, o, rows, cols);
}
