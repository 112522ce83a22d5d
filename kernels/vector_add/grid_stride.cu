// A grid of fixed size: each thread adds every gridSize-th pair of elements.
__global__ void vectorAddStride(const real *A, const real *B, real *C, int N)
{
    int gridSize = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridSize) {
        C[i] = (real)((accum)A[i] + (accum)B[i]);
    }
}
