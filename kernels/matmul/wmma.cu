// Tensor cores by the interface of C++ (WMMA): a warp multiplies tiles of 16 x 16 elements as a whole,
// and what each of its threads holds of them is the compiler's business. Eight warps share a tile of
// 128 x 128 elements of C, and copies run ahead as in the pipeline. Sums are floats.
#include <cuda_pipeline_primitives.h>
#include <mma.h>

using namespace nvcuda;

#define THREADS 256               // 8 warps, 2 below each other and 4 side by side
#define TALL 128                  // rows of C a block
#define WIDE 128                  // columns of C a block
#define PIECE (128 / REAL_BITS)   // elements in 16 bytes
#define DEPTH (PIECES * PIECE)    // of a tile along k
#define ROW_A (DEPTH + PIECE)     // elements from one row to the next: a spare piece moves the banks
#define ROW_B (WIDE + PIECE)
#define TILES (TALL * ROW_A + DEPTH * ROW_B)  // of a pair of tiles
#if REAL_IS_TF32
#define STEP 8                    // of k that one multiplication takes
typedef wmma::precision::tf32 Part;
#else
#define STEP 16
typedef real Part;
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
    real *tileB = tileA + TALL * ROW_A;
#pragma unroll 1  // spares registers
    for (int first = 0; first < TALL * PIECES; first += THREADS) {
        int row = (first + thread) / PIECES;
        int k = (first + thread) % PIECES * PIECE;
        copyPiece(tileA + row * ROW_A + k, A, top + row, start + k, N);
    }
#pragma unroll 1
    for (int first = 0; first < DEPTH * WIDE / PIECE; first += THREADS) {
        int k = (first + thread) / (WIDE / PIECE);
        int col = (first + thread) % (WIDE / PIECE) * PIECE;
        copyPiece(tileB + k * ROW_B + col, B, start + k, left + col, N);
    }
}

__global__ void __launch_bounds__(THREADS)
matrixMulWmma(const real *A, const real *B, real *C, int N)
{
    extern __shared__ Piece tiles[];

    int thread = threadIdx.x;
    int warp = thread / 32;
    int lane = thread % 32;
    int rowOfWarp = warp / 4 * 64;
    int colOfWarp = warp % 4 * 32;
    int top = blockIdx.y * TALL;
    int left = blockIdx.x * WIDE;

    wmma::fragment<wmma::accumulator, 16, 16, STEP, float> sums[4][2];
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 2; j++) {
            wmma::fill_fragment(sums[i][j], 0.0f);
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
        const real *tileB = tileA + TALL * ROW_A;
#pragma unroll
        for (int k = 0; k < DEPTH; k += STEP) {
            wmma::fragment<wmma::matrix_a, 16, 16, STEP, Part, wmma::row_major> a[4];
            wmma::fragment<wmma::matrix_b, 16, 16, STEP, Part, wmma::row_major> b[2];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                wmma::load_matrix_sync(a[i], tileA + (rowOfWarp + i * 16) * ROW_A + k, ROW_A);
#if REAL_IS_TF32
                for (int m = 0; m < a[i].num_elements; m++) {
                    a[i].x[m] = wmma::__float_to_tf32(a[i].x[m]);
                }
#endif
            }
#pragma unroll
            for (int j = 0; j < 2; j++) {
                wmma::load_matrix_sync(b[j], tileB + k * ROW_B + colOfWarp + j * 16, ROW_B);
#if REAL_IS_TF32
                for (int m = 0; m < b[j].num_elements; m++) {
                    b[j].x[m] = wmma::__float_to_tf32(b[j].x[m]);
                }
#endif
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
#pragma unroll
                for (int j = 0; j < 2; j++) {
                    wmma::mma_sync(sums[i][j], a[i], b[j], sums[i][j]);
                }
            }
        }
        now = now == STAGES - 1 ? 0 : now + 1;
    }
    __pipeline_wait_prior(0);
    __syncthreads();  // now nobody needs the tiles any more

    // Where an element stands in a fragment only the library knows: each warp lays its sums down in
    // shared memory, 16 x 16 at a time, and writes them from there.
    float *own = (float *)tiles + warp * 256;
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 2; j++) {
            wmma::store_matrix_sync(own, sums[i][j], 16, wmma::mem_row_major);
            __syncwarp();
            int row = top + rowOfWarp + i * 16 + lane / 2;
            int col = left + colOfWarp + j * 16 + lane % 2 * 8;
#pragma unroll
            for (int m = 0; m < 8; m++) {
                if (row < N && col + m < N) {
                    C[row * N + col + m] = (real)own[lane * 8 + m];
                }
            }
            __syncwarp();
        }
    }
}
