// One thread moves one element. Reads run along rows of A and are coalesced; writes run down
// columns of B, so neighbouring threads write N elements apart.
__global__ void transposeNaive(const real *A, real *B, int N)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && col < N) {
        B[col * N + row] = A[row * N + col];
    }
}
