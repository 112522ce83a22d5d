// B is laid out anew once, for all blocks, by a launch of its own; then each thread computes a tile of
// ROWS x COLS elements of C in registers.
//
// A panel holds blockDim.x * COLS columns of B, row after row without a gap: whoever walks down k reads
// it from its beginning to its end. Columns past the end are zeros. Halves are widened here, once.
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

// No barrier stands between the rounds, so a CPU keeps all sums in its registers from first to last.
// Rows past the end repeat the last one, and are not stored.
__global__ void matrixMulPanels(const real *A, const accum *panels, real *C, int N)
{
    int width = blockDim.x;
    int row = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    int col = blockIdx.x * width * COLS + threadIdx.x;
    int panel = blockIdx.x * N * width * COLS + threadIdx.x;
    if (row >= N) {
        return;
    }

    accum sums[ROWS][COLS];
    int begins[ROWS];  // where the thread's rows of A begin
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        begins[i] = min(row + i, N - 1) * N;
#pragma unroll
        for (int j = 0; j < COLS; j++) {
            sums[i][j] = 0;
        }
    }

    for (int k = 0; k < N; k++) {
        accum b[COLS];
#pragma unroll
        for (int j = 0; j < COLS; j++) {
            b[j] = panels[panel + (k * COLS + j) * width];
        }
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            accum a = (accum)A[begins[i] + k];
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                sums[i][j] += a * b[j];
            }
        }
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
