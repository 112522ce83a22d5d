// A block turns one TILE x TILE tile around in shared memory, so that it reads along rows of A and
// also writes along rows of B. The columns it takes from the tile all lie in the same memory bank.
__global__ void transposeTiled(const real *A, real *B, int N)
{
    __shared__ real tile[TILE][TILE];
    int firstRow = blockIdx.y * TILE;
    int firstCol = blockIdx.x * TILE;

    for (int y = threadIdx.y; y < TILE; y += blockDim.y) {
        for (int x = threadIdx.x; x < TILE; x += blockDim.x) {
            int row = firstRow + y;
            int col = firstCol + x;
            if (row < N && col < N) {
                tile[y][x] = A[row * N + col];
            }
        }
    }
    __syncthreads();  // now the tile is complete

    for (int y = threadIdx.y; y < TILE; y += blockDim.y) {
        for (int x = threadIdx.x; x < TILE; x += blockDim.x) {
            int row = firstCol + y;
            int col = firstRow + x;
            if (row < N && col < N) {
                B[row * N + col] = tile[x][y];
            }
        }
    }
}
