// The tiled kernel with ROWS elements of C a thread, below each other: what a thread reads of B from
// shared memory takes part in ROWS multiply-adds instead of one.
__global__ void matrixMulBlock1d(const real *A, const real *B, real *C, int N)
{
    extern __shared__ real tiles[];
    int width = blockDim.x;
    int height = blockDim.y * ROWS;
    real *tileA = tiles;                   // height rows of DEPTH elements
    real *tileB = tiles + height * DEPTH;  // DEPTH rows of width elements

    int x = threadIdx.x;
    int y = threadIdx.y;
    int top = blockIdx.y * height;
    int col = blockIdx.x * width + x;
    int thread = y * width + x;
    int threads = width * blockDim.y;

    accum sums[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        sums[i] = 0;
    }

    for (int start = 0; start < N; start += DEPTH) {
        for (int first = 0; first < height * DEPTH; first += threads) {
            int i = first + thread;
            int row = top + i / DEPTH;
            int k = start + i % DEPTH;
            if (i < height * DEPTH) {
                tileA[i] = row < N && k < N ? A[row * N + k] : (real)0;
            }
        }
        for (int k = y; k < DEPTH; k += blockDim.y) {
            bool inside = start + k < N && col < N;
            tileB[k * width + x] = inside ? B[(start + k) * N + col] : (real)0;
        }
        __syncthreads();  // now the tiles are complete

        for (int k = 0; k < DEPTH; k++) {
            accum b = (accum)tileB[k * width + x];
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                sums[i] += (accum)tileA[(y * ROWS + i) * DEPTH + k] * b;
            }
        }
        __syncthreads();  // now nobody needs them any more
    }

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        int row = top + y * ROWS + i;
        if (row < N && col < N) {
            C[row * N + col] = (real)sums[i];
        }
    }
}
