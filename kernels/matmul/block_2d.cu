// Each thread computes ROWS x COLS elements of C from the tiles in shared memory: for each k it reads
// ROWS + COLS elements and does ROWS * COLS multiply-adds with them. Its columns lie WIDTH apart, so
// that neighbouring threads read neighbouring elements.
//
// WIDTH and HEIGHT are the block's sides, which the compiler knows.
#define TALL (HEIGHT * ROWS)
#define WIDE (WIDTH * COLS)
#define THREADS (WIDTH * HEIGHT)

__global__ void __launch_bounds__(THREADS)
matrixMulBlock2d(const real *A, const real *B, real *C, int N)
{
    extern __shared__ real tiles[];
    real *tileA = tiles;                 // TALL rows of DEPTH elements
    real *tileB = tiles + TALL * DEPTH;  // DEPTH rows of WIDE elements

    int x = threadIdx.x;
    int y = threadIdx.y;
    int thread = y * WIDTH + x;
    int top = blockIdx.y * TALL;
    int left = blockIdx.x * WIDE;

    accum sums[ROWS][COLS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int j = 0; j < COLS; j++) {
            sums[i][j] = 0;
        }
    }

    for (int start = 0; start < N; start += DEPTH) {
#pragma unroll
        for (int first = 0; first < TALL * DEPTH; first += THREADS) {
            int i = first + thread;
            int row = top + i / DEPTH;
            int k = start + i % DEPTH;
            if (i < TALL * DEPTH) {
                tileA[i] = row < N && k < N ? A[row * N + k] : (real)0;
            }
        }
#pragma unroll
        for (int first = 0; first < DEPTH * WIDE; first += THREADS) {
            int i = first + thread;
            int k = start + i / WIDE;
            int col = left + i % WIDE;
            if (i < DEPTH * WIDE) {
                tileB[i] = k < N && col < N ? B[k * N + col] : (real)0;
            }
        }
        __syncthreads();  // now the tiles are complete

#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            accum b[COLS];
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                b[j] = (accum)tileB[k * WIDE + j * WIDTH + x];
            }
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                accum a = (accum)tileA[(y * ROWS + i) * DEPTH + k];
#pragma unroll
                for (int j = 0; j < COLS; j++) {
                    sums[i][j] += a * b[j];
                }
            }
        }
        __syncthreads();  // now nobody needs them any more
    }

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int j = 0; j < COLS; j++) {
            int row = top + y * ROWS + i;
            int col = left + j * WIDTH + x;
            if (row < N && col < N) {
                C[row * N + col] = (real)sums[i][j];
            }
        }
    }
}
