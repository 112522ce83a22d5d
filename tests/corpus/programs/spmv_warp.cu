#include <cuda_runtime.h>
#define WARP_SIZE 32

// y = A x with A in CSR, a warp for each row
__global__ void spmv_warp(int num_rows, const int* ptr, const int* indices, const float* data,
                          const float* x, float* y)
{
    int thread_id = blockDim.x * blockIdx.x + threadIdx.x;
    int warp_id = thread_id / WARP_SIZE;
    int lane = thread_id % WARP_SIZE;
    int row = warp_id;
    if (row < num_rows) {
        float dot = 0;
        for (int j = ptr[row] + lane; j < ptr[row + 1]; j += WARP_SIZE)
            dot += data[j] * x[indices[j]];
        for (int d = WARP_SIZE / 2; d > 0; d /= 2) dot += __shfl_down_sync(0xffffffff, dot, d);
        if (lane == 0) y[row] = dot;
    }
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
    spmv_warp<<<(n * WARP_SIZE + 255) / 256, 256>>>(n, d_ptr, d_cols, d_vals, d_x, d_y);
    cudaDeviceSynchronize();
}
