// The tiled kernel with one unused element at the end of each row of the tile: now the elements of a
// column lie in different memory banks, and a warp reads them all at once.
__global__ void transposePadded(const real *A, real *B, int N)
{
    __shared__ real tile[TILE][TILE + 1];
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
