// As in panels, in the order that caches want: a block takes blockDim.y panels of B and blockDim.z
// groups of ROWS rows of A, and blocks that follow each other go down A with the same panels. Those stay
// in the second level of a CPU's caches while all of A passes by, and the rows at hand stay in the
// first for all panels. Halves of A are widened by a launch of their own as well, once.
#if REAL_BITS == 16
#define ROWS_OF(A, wide) (wide)
#else
#define ROWS_OF(A, wide) (A)
#endif

__global__ void widenRows(const real *A, accum *wide, int N, int rows)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int first = blockIdx.y * rows;
    int end = min(first + rows, N);
    if (REAL_BITS == 16 && col < N) {
        for (int row = first; row < end; row++) {
            wide[row * N + col] = (accum)A[row * N + col];
        }
    }
}

__global__ void packPanels(const real *B, accum *panels, int N, int rows)
{
    int width = blockDim.x;  // of a panel
    int col = blockIdx.x * width + threadIdx.x;
    int first = blockIdx.y * rows;
    int end = min(first + rows, N);
    int panel = blockIdx.x * N * width + threadIdx.x;  // where the thread's column begins
    bool inside = col < N;
    for (int k = first; k < end; k++) {
        panels[panel + k * width] = inside ? (accum)B[k * N + col] : (accum)0;
    }
}

__global__ void matrixMulCacheBlocked(const real *A, const accum *wide, const accum *panels, real *C,
                                      int N)
{
    int x = threadIdx.x;
    int width = blockDim.x;
    int panel = blockIdx.y * blockDim.y + threadIdx.y;
    int row = (blockIdx.x * blockDim.z + threadIdx.z) * ROWS;
    int col = panel * width * COLS + x;
    if (row >= N || panel * width * COLS >= N) {
        return;
    }

    accum sums[ROWS][COLS];
    long long begins[ROWS];  // where the thread's rows of A begin; those past the end repeat the last
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        begins[i] = min(row + i, N - 1) * N;
#pragma unroll
        for (int j = 0; j < COLS; j++) {
            sums[i][j] = 0;
        }
    }

    // A place that all threads along x share walks down the panel, in 64 bits: a CPU computes it once
    // for a whole vector, and nothing else of addresses.
    long long from = (long long)panel * N * width * COLS;
#pragma unroll 2
    for (int k = 0; k < N; k++) {
        accum b[COLS];
#pragma unroll
        for (int j = 0; j < COLS; j++) {
            b[j] = panels[from + j * width + x];
        }
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            accum a = ROWS_OF(A, wide)[begins[i] + k];
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                sums[i][j] += a * b[j];
            }
        }
        from += width * COLS;
    }

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int j = 0; j < COLS; j++) {
            if (row + i < N && col + j * width < N) {
                C[(row + i) * N + col + j * width] = (real)sums[i][j];
            }
        }
    }
}
