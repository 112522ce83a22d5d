// The block copies its points, and one more on each side, to shared memory: global memory is asked
// for each of them once a block instead of five times.
__global__ void stencilTiled(const real *A, real *B, accum k, int H, int W)
{
    extern __shared__ real tile[];  // blockDim.y + 2 rows of blockDim.x + 2 points
    int width = blockDim.x + 2;
    int height = blockDim.y + 2;
    int left = blockIdx.x * blockDim.x - 1;  // where the tile begins
    int top = blockIdx.y * blockDim.y - 1;

    for (int row = threadIdx.y; row < height; row += blockDim.y) {
        for (int start = 0; start < width; start += blockDim.x) {
            int col = start + threadIdx.x;
            int x = left + col;
            int y = top + row;
            if (col < width && x >= 0 && x < W && y >= 0 && y < H) {
                tile[row * width + col] = A[y * W + x];
            }
        }
    }
    __syncthreads();  // now the tile is complete

    int x = left + 1 + threadIdx.x;
    int y = top + 1 + threadIdx.y;
    if (x < W && y < H) {
        int i = (threadIdx.y + 1) * width + threadIdx.x + 1;
        accum here = (accum)tile[i];
        if (x > 0 && x < W - 1 && y > 0 && y < H - 1) {
            accum around = (accum)tile[i - 1] + (accum)tile[i + 1] + (accum)tile[i - width] +
                           (accum)tile[i + width];
            here += k * (around - (accum)4 * here);
        }
        B[y * W + x] = (real)here;
    }
}
