#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort=true)
{
   if (code != cudaSuccess) {
      fprintf(stderr,"GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
      if (abort) exit(code);
   }
}

// y = A x with A in CSR, one thread a row
template <typename IndexType, typename ValueType>
__global__ void spmv_csr_scalar(const IndexType num_rows, const IndexType *ptr,
                                const IndexType *indices, const ValueType *data,
                                const ValueType *x, ValueType *y)
{
    const IndexType row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row < num_rows) {
        ValueType dot = 0;
        const IndexType row_start = ptr[row];
        const IndexType row_end = ptr[row + 1];
        for (IndexType jj = row_start; jj < row_end; jj++)
            dot += data[jj] * x[indices[jj]];
        y[row] = dot;
    }
}

int main()
{
    const int n = 4096, per_row = 5;
    std::vector<int> ptr(n + 1), cols(n * per_row);
    std::vector<float> vals(n * per_row, 1.f), x(n, 1.f), y(n);
    for (int i = 0; i <= n; ++i) ptr[i] = i * per_row;
    int *d_ptr, *d_cols; float *d_vals, *d_x, *d_y;
    gpuErrchk(cudaMalloc(&d_ptr, (n + 1) * sizeof(int)));
    gpuErrchk(cudaMalloc(&d_cols, n * per_row * sizeof(int)));
    gpuErrchk(cudaMalloc(&d_vals, n * per_row * sizeof(float)));
    gpuErrchk(cudaMalloc(&d_x, n * sizeof(float)));
    gpuErrchk(cudaMalloc(&d_y, n * sizeof(float)));
    spmv_csr_scalar<int, float><<<(n + 127) / 128, 128>>>(n, d_ptr, d_cols, d_vals, d_x, d_y);
    gpuErrchk(cudaPeekAtLastError());
    gpuErrchk(cudaDeviceSynchronize());
}
