// The pipeline of before, with a plan for each warp: the 32 threads of a warp compute a tile of
// 64 x 32 elements of C together, 8 x 4 threads with 8 x 8 elements each, so that a warp reads few
// different pieces and the hardware hands each to several threads at once.
//
// Instead of a spare piece a row, pieces of A's tile change places: piece p of a row stands where
// p ^ (row's number among the lines of 128 bytes) says. Eight rows then meet all banks, in the least
// space. And blocks that run at the same time are neighbours in both directions, GROUP rows of blocks
// at a time, so that they share what they read in the L2 cache.
#include <cuda_pipeline_primitives.h>

#define THREADS 256                        // 8 warps, 2 below each other and 4 side by side
#define TALL 128                           // rows of C a block
#define WIDE 128                           // columns of C a block
#define PIECE (128 / REAL_BITS)            // elements in 16 bytes
#define DEPTH (PIECES * PIECE)             // of a tile along k
#define TILES (TALL * DEPTH + DEPTH * WIDE)
// Where a piece of a row of A's tile stands, in pieces.
#define PLACE(row, piece) ((row) * PIECES + ((piece) ^ ((row) / (8 / PIECES) % PIECES)))

typedef struct __align__(16) Piece {
    real v[PIECE];
} Piece;

typedef struct __align__(8) HalfPiece {
    real v[PIECE / 2];
} HalfPiece;

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
    real *tileB = tileA + TALL * DEPTH;
#pragma unroll 1  // spares registers
    for (int first = 0; first < TALL * PIECES; first += THREADS) {
        int row = (first + thread) / PIECES;
        int piece = (first + thread) % PIECES;
        copyPiece(tileA + PLACE(row, piece) * PIECE, A, top + row, start + piece * PIECE, N);
    }
#pragma unroll 1  // spares registers
    for (int first = 0; first < DEPTH * WIDE / PIECE; first += THREADS) {
        int k = (first + thread) / (WIDE / PIECE);
        int col = (first + thread) % (WIDE / PIECE) * PIECE;
        copyPiece(tileB + k * WIDE + col, B, start + k, left + col, N);
    }
}

__global__ void __launch_bounds__(THREADS, REAL_BITS == 64 ? 1 : 2)
matrixMulWarpTiled(const real *A, const real *B, real *C, int N)
{
    extern __shared__ Piece tiles[];

    int thread = threadIdx.x;
    int warp = thread / 32;
    int lane = thread % 32;
    int rowOfThread = warp / 4 * 64 + lane / 4;            // its rows lie 8 apart
    int colOfThread = warp % 4 * 32 + lane % 4 * PIECE;    // its pieces of columns lie 4 apart

    // Which block of C: down GROUP rows of blocks, then one column of blocks to the right.
    int blocks = (N + TALL - 1) / TALL;
    int group = blockIdx.x / (GROUP * blocks);
    int inGroup = blockIdx.x % (GROUP * blocks);
    int height = min(GROUP, blocks - group * GROUP);
    int top = (group * GROUP + inGroup % height) * TALL;
    int left = inGroup / height * WIDE;

    accum sums[8][8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            sums[i][j] = 0;
        }
    }

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
        const real *tileB = tileA + TALL * DEPTH + colOfThread;
#pragma unroll 1  // so that the registers of half a piece are all there must be
        for (int half = 0; half < 2 * PIECES; half++) {
            HalfPiece a[8];
#pragma unroll
            for (int i = 0; i < 8; i++) {
                int place = PLACE(rowOfThread + i * 8, half / 2);
                a[i] = *(const HalfPiece *)(tileA + place * PIECE + half % 2 * PIECE / 2);
            }
#pragma unroll
            for (int m = 0; m < PIECE / 2; m++) {
                accum b[8];
#pragma unroll
                for (int j = 0; j < 8; j += PIECE) {
                    Piece piece = *(const Piece *)(tileB + (half * PIECE / 2 + m) * WIDE + j * 4);
#pragma unroll
                    for (int n = 0; n < PIECE; n++) {
                        b[j + n] = (accum)piece.v[n];
                    }
                }
#pragma unroll
                for (int i = 0; i < 8; i++) {
#pragma unroll
                    for (int j = 0; j < 8; j++) {
                        sums[i][j] += (accum)a[i].v[m] * b[j];
                    }
                }
            }
        }
        now = now == STAGES - 1 ? 0 : now + 1;
    }

#pragma unroll
    for (int i = 0; i < 8; i++) {
        int row = top + rowOfThread + i * 8;
#pragma unroll
        for (int j = 0; j < 8; j += PIECE) {
            int col = left + colOfThread + j * 4;
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
