// Tiles come straight from global to shared memory, 16 bytes a copy, while the block works on tiles
// that came before: STAGES pairs of tiles go round, and no register waits for memory. From sm_80 on
// that is an instruction (cp.async); elsewhere the copy takes its time where it stands.
//
// A copy cannot turn A's tile around, so its rows stay rows, and a thread reads a piece of each of its
// rows for several k at once. One spare piece a row lets neighbouring rows begin in other banks.
#include <cuda_pipeline_primitives.h>

#define TALL (HEIGHT * ROWS)
#define WIDE (WIDTH * COLS)
#define THREADS (WIDTH * HEIGHT)
#define PIECE (128 / REAL_BITS)            // elements in 16 bytes
#define DEPTH (PIECES * PIECE)             // of a tile along k
#define ROW (DEPTH + PIECE)                // elements from one row of A's tile to the next
#define TILES (TALL * ROW + DEPTH * WIDE)  // of a pair of tiles

typedef struct __align__(16) Piece {
    real v[PIECE];
} Piece;

// Begins to copy a piece of a row; what lies outside becomes 0.
__device__ __forceinline__ void copyPiece(real *to, const real *M, int row, int col, int N)
{
    if (N % PIECE == 0 && row < N && col < N) {
        __pipeline_memcpy_async(to, M + row * N + col, 16);
    } else {  // outside, or where rows do not begin where 16 bytes can be copied
#pragma unroll 1
        for (int j = 0; j < PIECE; j++) {
            to[j] = row < N && col + j < N ? M[row * N + col + j] : (real)0;
        }
    }
}

// Begins to copy the pair of tiles at k = start.
__device__ __forceinline__ void copyTiles(real *tileA, const real *A, const real *B, int thread,
                                          int top, int left, int start, int N)
{
    real *tileB = tileA + TALL * ROW;
#pragma unroll
    for (int first = 0; first < TALL * PIECES; first += THREADS) {
        int row = (first + thread) / PIECES;
        int k = (first + thread) % PIECES * PIECE;
        if (row < TALL) {
            copyPiece(tileA + row * ROW + k, A, top + row, start + k, N);
        }
    }
#pragma unroll
    for (int first = 0; first < DEPTH * WIDE / PIECE; first += THREADS) {
        int k = (first + thread) / (WIDE / PIECE);
        int col = (first + thread) % (WIDE / PIECE) * PIECE;
        if (k < DEPTH) {
            copyPiece(tileB + k * WIDE + col, B, start + k, left + col, N);
        }
    }
}

__global__ void __launch_bounds__(THREADS)
matrixMulPipelined(const real *A, const real *B, real *C, int N)
{
    extern __shared__ Piece tiles[];

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

    // All but one pair are under way before the work begins. Each step waits for the oldest, and
    // begins another where the block worked in the step before.
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; stage++) {
        copyTiles((real *)tiles + stage * TILES, A, B, thread, top, left, stage * DEPTH, N);
        __pipeline_commit();
    }
    int now = 0;
    for (int start = 0; start < N; start += DEPTH) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();  // now the oldest pair is complete, and nobody works in the one before it

        int next = now == 0 ? STAGES - 1 : now - 1;
        if (start + (STAGES - 1) * DEPTH < N) {
            copyTiles((real *)tiles + next * TILES, A, B, thread, top, left,
                      start + (STAGES - 1) * DEPTH, N);
        }
        __pipeline_commit();

        const real *tileA = (const real *)tiles + now * TILES;
        const real *tileB = tileA + TALL * ROW;
#pragma unroll 1  // so that the registers of one piece are all there must be
        for (int k = 0; k < DEPTH; k += PIECE) {
            Piece a[ROWS];
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                a[i] = *(const Piece *)(tileA + (i * HEIGHT + y) * ROW + k);
            }
#pragma unroll
            for (int m = 0; m < PIECE; m++) {
                accum b[COLS];
#pragma unroll
                for (int j = 0; j < COLS; j += PIECE) {
                    Piece piece = *(const Piece *)(tileB + (k + m) * WIDE + j * WIDTH + x * PIECE);
#pragma unroll
                    for (int n = 0; n < PIECE; n++) {
                        b[j + n] = (accum)piece.v[n];
                    }
                }
#pragma unroll
                for (int i = 0; i < ROWS; i++) {
#pragma unroll
                    for (int j = 0; j < COLS; j++) {
                        sums[i][j] += (accum)a[i].v[m] * b[j];
                    }
                }
            }
        }
        now = now == STAGES - 1 ? 0 : now + 1;
    }

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        int row = top + i * HEIGHT + y;
#pragma unroll
        for (int j = 0; j < COLS; j += PIECE) {
            int col = left + j * WIDTH + x * PIECE;
            if (N % PIECE == 0 && row < N && col < N) {
                Piece piece;
#pragma unroll
                for (int n = 0; n < PIECE; n++) {
                    piece.v[n] = (real)sums[i][j + n];
                }
                *(Piece *)(C + row * N + col) = piece;
            } else if (row < N) {
#pragma unroll
                for (int n = 0; n < PIECE; n++) {
                    if (col + n < N) {
                        C[row * N + col + n] = (real)sums[i][j + n];
                    }
                }
            }
        }
    }
}
