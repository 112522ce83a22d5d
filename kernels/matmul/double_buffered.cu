// As before, with two tiles of A and two of B: while the block works on one pair, the elements of the
// next are on their way to registers, and they go to the other pair once they are here. Memory and
// arithmetic overlap, and one barrier a step is enough.
#define TALL (HEIGHT * ROWS)
#define WIDE (WIDTH * COLS)
#define THREADS (WIDTH * HEIGHT)
#define FOURS_A ((TALL * DEPTH / 4 + THREADS - 1) / THREADS)  // of A's tile, for each thread
#define FOURS_B ((WIDE * DEPTH / 4 + THREADS - 1) / THREADS)
#define TILES (DEPTH * (TALL + WIDE))                         // elements of a pair

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

// Reads what the thread brings of the tiles at k = start.
__device__ __forceinline__ void fetch(const real *A, const real *B, Four *nextA, Four *nextB,
                                      int thread, int top, int left, int start, int N)
{
#pragma unroll
    for (int i = 0; i < FOURS_A; i++) {
        int at = i * THREADS + thread;
        nextA[i] = fourOf(A, top + at / (DEPTH / 4), start + at % (DEPTH / 4) * 4, N);
    }
#pragma unroll
    for (int i = 0; i < FOURS_B; i++) {
        int at = i * THREADS + thread;
        nextB[i] = fourOf(B, start + at / (WIDE / 4), left + at % (WIDE / 4) * 4, N);
    }
}

// Writes it to a pair of tiles, A's turned around.
__device__ __forceinline__ void keep(const Four *nextA, const Four *nextB, real *tileA, int thread)
{
    real *tileB = tileA + DEPTH * TALL;
#pragma unroll
    for (int i = 0; i < FOURS_A; i++) {
        int row = (i * THREADS + thread) / (DEPTH / 4);
        int k = (i * THREADS + thread) % (DEPTH / 4) * 4;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (row < TALL) {
                tileA[(k + j) * TALL + row] = nextA[i].v[j];
            }
        }
    }
#pragma unroll
    for (int i = 0; i < FOURS_B; i++) {
        int at = i * THREADS + thread;
        if (at < WIDE * DEPTH / 4) {
            *(Four *)(tileB + at * 4) = nextB[i];
        }
    }
}

__global__ void __launch_bounds__(THREADS)
matrixMulDoubleBuffered(const real *A, const real *B, real *C, int N)
{
    extern __shared__ Four tiles[];
    real *now = (real *)tiles;  // DEPTH rows of TALL elements of A, then as many of WIDE of B

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

    Four nextA[FOURS_A];
    Four nextB[FOURS_B];
    fetch(A, B, nextA, nextB, thread, top, left, 0, N);
    keep(nextA, nextB, now, thread);
    __syncthreads();  // now the first tiles are complete

    for (int start = 0; start < N; start += DEPTH) {
        bool more = start + DEPTH < N;
        if (more) {
            fetch(A, B, nextA, nextB, thread, top, left, start + DEPTH, N);
        }

        const real *tileA = now;
        const real *tileB = now + DEPTH * TALL;
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

        now = (real *)tiles + (start / DEPTH % 2 == 0 ? TILES : 0);
        if (more) {
            keep(nextA, nextB, now, thread);  // nobody reads these tiles since the last barrier
        }
        __syncthreads();  // now the next tiles are complete
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
