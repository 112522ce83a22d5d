// The tiled kernel without a spare element: row y of the tile holds its elements at x ^ y instead of
// x, so the elements of a column lie in different memory banks, and the tile takes no byte more.
__global__ void transposeSwizzled(const real *A, real *B, int N)
{
    __shared__ real tile[TILE][TILE];
    int firstRow = blockIdx.y * TILE;
    int firstCol = blockIdx.x * TILE;

    for (int y = threadIdx.y; y < TILE; y += blockDim.y) {
        for (int start = 0; start < TILE; start += blockDim.x) {
            int x = start + threadIdx.x;
            if (x < TILE && firstRow + y < N && firstCol + x < N) {
                tile[y][x ^ y] = A[(firstRow + y) * N + firstCol + x];
            }
        }
    }
    __syncthreads();  // now the tile is complete

    for (int y = threadIdx.y; y < TILE; y += blockDim.y) {
        for (int start = 0; start < TILE; start += blockDim.x) {
            int x = start + threadIdx.x;
            if (x < TILE && firstCol + y < N && firstRow + x < N) {
                B[(firstCol + y) * N + firstRow + x] = tile[x][y ^ x];
            }
        }
    }
}
