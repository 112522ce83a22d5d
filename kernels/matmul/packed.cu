// The block packs a panel of B, DEPTH rows and as wide as the block's part of C, into shared memory
// without gaps. Then each thread computes a tile of ROWS x COLS elements of C from it in registers.
//
// In B the rows of a panel lie N elements apart: each on a page of its own, and for N a power of
// two in the same few sets of a cache, which throw each other out. In the packed panel they follow
// each other, and columns past the end are zeros. Rows of A past the end repeat the last one.
__global__ void matrixMulPacked(const real *A, const real *B, real *C, int N)
{
    extern __shared__ real panel[];  // DEPTH rows of width * COLS elements
    int width = blockDim.x;
    int x = threadIdx.x;
    int row = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    int col = blockIdx.x * width * COLS + x;

    accum sums[ROWS][COLS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int j = 0; j < COLS; j++) {
            sums[i][j] = 0;
        }
    }

    for (int start = 0; start < N; start += DEPTH) {
        int depth = min(DEPTH, N - start);
        for (int k = threadIdx.y; k < depth; k += blockDim.y) {
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                bool inside = col + j * width < N;
                panel[(k * COLS + j) * width + x] =
                    inside ? B[(start + k) * N + col + j * width] : (real)0;
            }
        }
        __syncthreads();  // now the panel is complete

        // Sums of this panel alone: no barrier stands in their way, so they stay in registers
        // where a CPU runs the block's threads one after the other.
        accum part[ROWS][COLS];
        int begins[ROWS];  // where the thread's rows of A begin in this panel
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            begins[i] = min(row + i, N - 1) * N + start;
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                part[i][j] = 0;
            }
        }
        for (int k = 0; k < depth; k++) {
            accum b[COLS];
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                b[j] = (accum)panel[(k * COLS + j) * width + x];
            }
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                accum a = (accum)A[begins[i] + k];
#pragma unroll
                for (int j = 0; j < COLS; j++) {
                    part[i][j] += a * b[j];
                }
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#pragma unroll
            for (int j = 0; j < COLS; j++) {
                sums[i][j] += part[i][j];
            }
        }
        __syncthreads();  // now nobody needs the panel any more
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
