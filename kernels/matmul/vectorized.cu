// As before, and four elements at a time: from global memory, into shared memory and out of it. A's
// tile is turned around on its way, so that the elements a thread needs for one k, which stand below
// each other in A, lie side by side.
//
// A thread's rows and columns come in groups of four, which lie the width of all threads apart:
// neighbouring threads read neighbouring groups. Where N is no multiple of four, rows of A and B do
// not begin where four elements can be read at once, and they come one by one.
#define TALL (HEIGHT * ROWS)
#define WIDE (WIDTH * COLS)
#define THREADS (WIDTH * HEIGHT)

typedef struct __align__(REAL_BITS / 2) Four {
    real v[4];
} Four;

// Four elements of a row; what lies outside is 0.
__device__ __forceinline__ Four fourOf(const real *M, int row, int col, int N)
{
    Four four;
    if (N % 4 == 0 && row < N && col < N) {
        four = *(const Four *)(M + row * N + col);
    } else {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            four.v[j] = row < N && col + j < N ? M[row * N + col + j] : (real)0;
        }
    }
    return four;
}

__global__ void __launch_bounds__(THREADS)
matrixMulVectorized(const real *A, const real *B, real *C, int N)
{
    extern __shared__ Four tiles[];
    real *tileA = (real *)tiles;         // DEPTH rows of TALL elements: A's tile turned around
    real *tileB = tileA + DEPTH * TALL;  // DEPTH rows of WIDE elements

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
        for (int first = 0; first < TALL * DEPTH / 4; first += THREADS) {
            int row = (first + thread) / (DEPTH / 4);
            int k = (first + thread) % (DEPTH / 4) * 4;
            if (row < TALL) {
                Four four = fourOf(A, top + row, start + k, N);
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    tileA[(k + j) * TALL + row] = four.v[j];
                }
            }
        }
#pragma unroll
        for (int first = 0; first < DEPTH * WIDE / 4; first += THREADS) {
            int k = (first + thread) / (WIDE / 4);
            int col = (first + thread) % (WIDE / 4) * 4;
            if (k < DEPTH) {
                *(Four *)(tileB + k * WIDE + col) = fourOf(B, start + k, left + col, N);
            }
        }
        __syncthreads();  // now the tiles are complete

#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            accum a[ROWS];
            accum b[COLS];
#pragma unroll
            for (int i = 0; i < ROWS; i += 4) {
                Four four = *(const Four *)(tileA + k * TALL + i * HEIGHT + y * 4);
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    a[i + j] = (accum)four.v[j];
                }
            }
#pragma unroll
            for (int i = 0; i < COLS; i += 4) {
                Four four = *(const Four *)(tileB + k * WIDE + i * WIDTH + x * 4);
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    b[i + j] = (accum)four.v[j];
                }
            }
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
#pragma unroll
                for (int j = 0; j < COLS; j++) {
                    sums[i][j] += a[i] * b[j];
                }
            }
        }
        __syncthreads();  // now nobody needs them any more
    }

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        int row = top + i / 4 * 4 * HEIGHT + y * 4 + i % 4;
#pragma unroll
        for (int j = 0; j < COLS; j += 4) {
            int col = left + j * WIDTH + x * 4;
            if (N % 4 == 0 && row < N && col < N) {
                Four four;
#pragma unroll
                for (int m = 0; m < 4; m++) {
                    four.v[m] = (real)sums[i][j + m];
                }
                *(Four *)(C + row * N + col) = four;
            } else if (row < N) {
#pragma unroll
                for (int m = 0; m < 4; m++) {
                    if (col + m < N) {
                        C[row * N + col + m] = (real)sums[i][j + m];
                    }
                }
            }
        }
    }
}
