// Transposes and products.
#include <cuda_runtime.h>
#include <stdio.h>

#define TILE_DIM 16
#define BLOCK_ROWS 4
#define TILE_WIDTH 8

__global__ void transposeNaive(float *odata, const float *idata)
{
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    int width = gridDim.x * TILE_DIM;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) odata[x * width + (y + j)] = idata[(y + j) * width + x];
}

__global__ void transposeNoBankConflicts(float *odata, const float *idata)
{
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    int width = gridDim.x * TILE_DIM;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        odata[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void transposeInPlace(double *a, int n)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= i) return;
    double t = a[i * n + j];
    a[i * n + j] = a[j * n + i];
    a[j * n + i] = t;
}

__global__ void matrixMulKernel(float *M, float *N, float *P, int Width)
{
    int Row = blockIdx.y * blockDim.y + threadIdx.y;
    int Col = blockIdx.x * blockDim.x + threadIdx.x;
    if ((Row < Width) && (Col < Width)) {
        float Pvalue = 0;
        for (int k = 0; k < Width; ++k) Pvalue += M[Row * Width + k] * N[k * Width + Col];
        P[Row * Width + Col] = Pvalue;
    }
}

__global__ void matrixMulTiled(const float *M, const float *N, float *P, int j, int k, int l)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int Row = by * TILE_WIDTH + ty;
    int Col = bx * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int ph = 0; ph < ceilf(k / (float)TILE_WIDTH); ++ph) {
        if ((Row < j) && (ph * TILE_WIDTH + tx) < k)
            Mds[ty][tx] = M[Row * k + ph * TILE_WIDTH + tx];
        else
            Mds[ty][tx] = 0.0f;
        if ((ph * TILE_WIDTH + ty) < k && Col < l)
            Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * l + Col];
        else
            Nds[ty][tx] = 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE_WIDTH; ++i) Pvalue += Mds[ty][i] * Nds[i][tx];
        __syncthreads();
    }
    if ((Row < j) && (Col < l)) P[Row * l + Col] = Pvalue;
}

typedef struct {
    int width;
    int height;
    int stride;
    float *elements;
} Matrix;

__device__ float GetElement(const Matrix A, int row, int col)
{
    return A.elements[row * A.stride + col];
}

__device__ void SetElement(Matrix A, int row, int col, float value)
{
    A.elements[row * A.stride + col] = value;
}

__device__ Matrix GetSubMatrix(Matrix A, int row, int col)
{
    Matrix Asub;
    Asub.width = TILE_WIDTH;
    Asub.height = TILE_WIDTH;
    Asub.stride = A.stride;
    Asub.elements = &A.elements[A.stride * TILE_WIDTH * row + TILE_WIDTH * col];
    return Asub;
}

__global__ void productOfSubMatrices(float *a, float *b, float *c, int n)
{
    Matrix A = {n, n, n, a}, B = {n, n, n, b}, C = {n, n, n, c};
    int blockRow = blockIdx.y;
    int blockCol = blockIdx.x;
    Matrix Csub = GetSubMatrix(C, blockRow, blockCol);
    float Cvalue = 0;
    int row = threadIdx.y;
    int col = threadIdx.x;
    for (int m = 0; m < (A.width / TILE_WIDTH); ++m) {
        Matrix Asub = GetSubMatrix(A, blockRow, m);
        Matrix Bsub = GetSubMatrix(B, m, blockCol);
        __shared__ float As[TILE_WIDTH][TILE_WIDTH];
        __shared__ float Bs[TILE_WIDTH][TILE_WIDTH];
        As[row][col] = GetElement(Asub, row, col);
        Bs[row][col] = GetElement(Bsub, row, col);
        __syncthreads();
        for (int e = 0; e < TILE_WIDTH; ++e) Cvalue += As[row][e] * Bs[e][col];
        __syncthreads();
    }
    SetElement(Csub, row, col, Cvalue);
}

__global__ void coarsenedProduct(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[8][8], b[8][32];
    const int COARSE = 4;
    int row = blockIdx.y * 8 + threadIdx.y;
    int first = blockIdx.x * 32 + threadIdx.x;
    float sums[COARSE];
    for (int c = 0; c < COARSE; c++) sums[c] = 0.0f;
    for (int p = 0; p < n; p += 8) {
        a[threadIdx.y][threadIdx.x] = A[row * n + p + threadIdx.x];
        for (int c = 0; c < COARSE; c++)
            b[threadIdx.y][threadIdx.x + 8 * c] = B[(p + threadIdx.y) * n + first + 8 * c];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 8; k++)
            for (int c = 0; c < COARSE; c++) sums[c] += a[threadIdx.y][k] * b[k][threadIdx.x + 8 * c];
        __syncthreads();
    }
    for (int c = 0; c < COARSE; c++) C[row * n + first + 8 * c] = sums[c];
}

__global__ void matVecByWarp(const float *A, const float *x, float *y, int rows, int cols)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (warp >= rows) return;
    float sum = 0.0f;
    for (int c = lane; c < cols; c += 32) sum += A[warp * cols + c] * x[c];
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
    if (lane == 0) y[warp] = sum;
}

__global__ void spmvCsr(int num_rows, const int *ptr, const int *indices, const float *data,
                        const float *x, float *y)
{
    int row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row < num_rows) {
        float dot = 0;
        int row_start = ptr[row];
        int row_end = ptr[row + 1];
        for (int jj = row_start; jj < row_end; jj++) dot += data[jj] * x[indices[jj]];
        y[row] += dot;
    }
}

__global__ void complexProduct(const float2 *a, const float2 *b, float2 *c, int n)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n) return;
    float2 s = make_float2(0.0f, 0.0f);
    for (int k = 0; k < n; k++) {
        float2 p = a[i * n + k], q = b[k * n + j];
        s.x += p.x * q.x - p.y * q.y;
        s.y += p.x * q.y + p.y * q.x;
    }
    c[i * n + j] = s;
}

int main()
{
    int width = 1024;
    float *d_M, *d_N, *d_P;
    size_t bytes = width * width * sizeof(float);
    cudaMalloc((void **)&d_M, bytes);
    cudaMalloc((void **)&d_N, bytes);
    cudaMalloc((void **)&d_P, bytes);
    dim3 dimGrid(ceil(width / 16.0), ceil(width / 16.0), 1);
    dim3 dimBlock(16, 16, 1);
    matrixMulKernel<<<dimGrid, dimBlock>>>(d_M, d_N, d_P, width);
    cudaDeviceSynchronize();
    return 0;
}
