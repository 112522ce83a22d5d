// Tensor cores by their own instructions: ldmatrix hands four matrices of 8 x 8 halves from shared
// memory to a warp's registers at once, as mma.sync wants them: 16 x 16 of A, 16 x 8 of B, and 16 x 8
// sums in floats. Eight warps share a tile of 128 x 128 elements of C, 64 x 32 each.
//
// Pieces of 16 bytes change places in both tiles, so that the eight rows of a matrix meet all banks.
#include <cuda_pipeline_primitives.h>

#define THREADS 256               // 8 warps, 2 below each other and 4 side by side
#define TALL 128                  // rows of C a block
#define WIDE 128                  // columns of C a block
#define PIECE 8                   // elements in 16 bytes
#define DEPTH (PIECES * PIECE)    // of a tile along k
#define TILES (TALL * DEPTH + DEPTH * WIDE)  // elements of a pair of tiles

// Where a piece of a row stands in a tile, in pieces.
#define PLACE_A(row, piece) ((row) * PIECES + ((piece) ^ ((row) / (8 / PIECES) % PIECES)))
#define PLACE_B(row, piece) ((row) * 16 + ((piece) ^ ((row) % 8)))
// The row and the piece whose place a thread tells ldmatrix: thread 8 m + i that of row i of matrix m.
#define LANE_ROW(lane) ((lane) % 16)
#define LANE_PIECE(lane) ((lane) / 16)
// Where the sum i of a thread stands in 16 x 8 elements of C.
#define SUM_ROW(lane, i) ((lane) / 4 + (i) / 2 * 8)
#define SUM_COL(lane, i) ((lane) % 4 * 2 + (i) % 2)

#if REAL_IS_BF16
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
#else
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
#endif

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
            to[j] = row < N && col + j < N ? M[row * N + col + j] : (real)0.0f;
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
        copyPiece(tileA + PLACE_A(row, piece) * PIECE, A, top + row, start + piece * PIECE, N);
    }
#pragma unroll 1
    for (int first = 0; first < DEPTH * 16; first += THREADS) {
        int row = (first + thread) / 16;
        int piece = (first + thread) % 16;
        copyPiece(tileB + PLACE_B(row, piece) * PIECE, B, start + row, left + piece * PIECE, N);
    }
}

// Four matrices of 8 x 8, whose rows stand where the threads say.
__device__ __forceinline__ void loadMatrices(unsigned *to, const real *from)
{
    unsigned place = (unsigned)__cvta_generic_to_shared(from);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(place)
                 : "memory");
}

// The same, each turned around.
__device__ __forceinline__ void loadTurned(unsigned *to, const real *from)
{
    unsigned place = (unsigned)__cvta_generic_to_shared(from);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(place)
                 : "memory");
}

// sums += a b
__device__ __forceinline__ void multiply(float *sums, const unsigned *a, const unsigned *b)
{
    asm volatile(MMA "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__global__ void __launch_bounds__(THREADS, 2)
matrixMulMma(const real *A, const real *B, real *C, int N)
{
    extern __shared__ Piece tiles[];

    int thread = threadIdx.x;
    int warp = thread / 32;
    int lane = thread % 32;
    int rowOfWarp = warp / 4 * 64;
    int colOfWarp = warp % 4 * 32;

    // Which block of C: down GROUP rows of blocks, then one column of blocks to the right.
    int blocks = (N + TALL - 1) / TALL;
    int group = blockIdx.x / (GROUP * blocks);
    int inGroup = blockIdx.x % (GROUP * blocks);
    int height = min(GROUP, blocks - group * GROUP);
    int top = (group * GROUP + inGroup % height) * TALL;
    int left = inGroup / height * WIDE;

    float sums[4][4][4];  // of 4 x 4 parts of 16 x 8 elements
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
#pragma unroll
            for (int m = 0; m < 4; m++) {
                sums[i][j][m] = 0;
            }
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
        const real *tileB = tileA + TALL * DEPTH;
#pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            unsigned a[4][4];
            unsigned b[2][4];  // two parts of 8 columns each
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int row = rowOfWarp + i * 16 + LANE_ROW(lane);
                loadMatrices(a[i], tileA + PLACE_A(row, k / PIECE + LANE_PIECE(lane)) * PIECE);
            }
#pragma unroll
            for (int j = 0; j < 2; j++) {
                int piece = (colOfWarp + j * 16) / PIECE + LANE_PIECE(lane);
                loadTurned(b[j], tileB + PLACE_B(k + LANE_ROW(lane), piece) * PIECE);
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    multiply(sums[i][j], a[i], b[j / 2] + j % 2 * 2);
                }
            }
        }
        now = now == STAGES - 1 ? 0 : now + 1;
    }

#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
#pragma unroll
            for (int m = 0; m < 4; m++) {
                int row = top + rowOfWarp + i * 16 + SUM_ROW(lane, m);
                int col = left + colOfWarp + j * 8 + SUM_COL(lane, m);
                if (row < N && col < N) {
                    C[row * N + col] = (real)sums[i][j][m];
                }
            }
        }
    }
}
