// The block copies a tile of A and a tile of B to shared memory, then all its threads use them:
// an element comes from global memory once a block, not once a thread.
//
// A block computes blockDim.y x blockDim.x elements of C and walks along k in steps of TILE. Any
// block shape works with any TILE, because the threads copy as often as it takes.
__global__ void matrixMulTiled(const real *A, const real *B, real *C, int N)
{
    extern __shared__ real tiles[];
    real *tileA = tiles;                      // blockDim.y rows of TILE elements
    real *tileB = tiles + blockDim.y * TILE;  // TILE rows of width elements
    int width = blockDim.x;

    int x = threadIdx.x;
    int y = threadIdx.y;
    int row = blockIdx.y * blockDim.y + y;
    int col = blockIdx.x * blockDim.x + x;

    accum sum = 0;
    for (int start = 0; start < N; start += TILE) {
        for (int k = x; k < TILE; k += blockDim.x) {
            bool inside = row < N && start + k < N;
            tileA[y * TILE + k] = inside ? A[row * N + start + k] : (real)0;
        }
        for (int k = y; k < TILE; k += blockDim.y) {
            bool inside = start + k < N && col < N;
            tileB[k * width + x] = inside ? B[(start + k) * N + col] : (real)0;
        }
        __syncthreads();  // now the tiles are complete

        for (int k = 0; k < TILE; k++) {
            sum += (accum)tileA[y * TILE + k] * (accum)tileB[k * width + x];
        }
        __syncthreads();  // now nobody needs them any more
    }
    if (row < N && col < N) {
        C[row * N + col] = (real)sum;
    }
}
