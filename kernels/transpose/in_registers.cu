// One thread turns a TILE x TILE tile around in its registers: it reads TILE neighbouring elements of
// each row and writes TILE neighbouring elements of each column.
__global__ void transposeInRegisters(const real *A, real *B, int N)
{
    int row = (blockIdx.y * blockDim.y + threadIdx.y) * TILE;
    int col = (blockIdx.x * blockDim.x + threadIdx.x) * TILE;
    if (row + TILE <= N && col + TILE <= N) {
        real tile[TILE][TILE];
#pragma unroll
        for (int y = 0; y < TILE; y++) {
#pragma unroll
            for (int x = 0; x < TILE; x++) {
                tile[x][y] = A[(row + y) * N + col + x];
            }
        }
#pragma unroll
        for (int x = 0; x < TILE; x++) {
#pragma unroll
            for (int y = 0; y < TILE; y++) {
                B[(col + x) * N + row + y] = tile[x][y];
            }
        }
    } else {  // at the edges, where the tile is not whole
        for (int y = row; y < min(row + TILE, N); y++) {
            for (int x = col; x < min(col + TILE, N); x++) {
                B[x * N + y] = A[y * N + x];
            }
        }
    }
}
