// Each thread computes a tile of ROWS x COLS elements of C and keeps all of its sums in registers:
// an element of A serves COLS of them, and one of B serves ROWS.
//
// A thread's columns lie blockDim.x apart, so that neighbouring threads read neighbouring elements
// of B. Rows past the end repeat the last one, columns past the end count as 0; neither is stored.
__global__ void matrixMulRegisterTile(const real *A, const real *B, real *C, int N)
{
    int row = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    int col = blockIdx.x * blockDim.x * COLS + threadIdx.x;
    int apart = blockDim.x;

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
            bool inside = col + j * apart < N;
            b[j] = inside ? (accum)B[k * N + col + j * apart] : (accum)0;
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
            if (row + i < N && col + j * apart < N) {
                C[(row + i) * N + col + j * apart] = (real)sums[i][j];
            }
        }
    }
}
