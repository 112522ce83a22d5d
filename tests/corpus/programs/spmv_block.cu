#include <cuda_runtime.h>
#define THREADS 64

// y = A x with A in CSR, a block for each row
__global__ void spmv_block(int num_rows, const int* ptr, const int* indices, const float* data,
                           const float* x, float* y)
{
    __shared__ float sums[THREADS];
    int row = blockIdx.x;
    if (row >= num_rows) return;
    int row_start = ptr[row], row_end = ptr[row + 1];
    float dot = 0;
    for (int j = row_start + threadIdx.x; j < row_end; j += blockDim.x)
        dot += data[j] * x[indices[j]];
    sums[threadIdx.x] = dot;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[row] = sums[0];
}

int main()
{
    const int n = 4096, per_row = 5;
    int *d_ptr, *d_cols;
    float *d_vals, *d_x, *d_y;
    cudaMalloc(&d_ptr, (n + 1) * sizeof(int));
    cudaMalloc(&d_cols, n * per_row * sizeof(int));
    cudaMalloc(&d_vals, n * per_row * sizeof(float));
    cudaMalloc(&d_x, n * sizeof(float));
    cudaMalloc(&d_y, n * sizeof(float));
    spmv_block<<<n, THREADS>>>(n, d_ptr, d_cols, d_vals, d_x, d_y);
    cudaDeviceSynchronize();
}
