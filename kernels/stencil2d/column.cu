// A thread walks down ROWS points of its column and keeps the one above, the one here and the one
// below in registers: each step reads one point of its own column. Left and right were just read
// by the neighbours, so a cache has them.
__global__ void stencilColumn(const real *A, real *B, accum k, int H, int W)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int first = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    if (x < W) {
        accum above = (accum)A[min(max(first - 1, 0), H - 1) * W + x];
        accum here = (accum)A[min(first, H - 1) * W + x];
        for (int y = first; y < min(first + ROWS, H); y++) {
            accum below = (accum)A[min(y + 1, H - 1) * W + x];
            accum next = here;
            if (x > 0 && x < W - 1 && y > 0 && y < H - 1) {
                accum around = (accum)A[y * W + x - 1] + (accum)A[y * W + x + 1] + above + below;
                next += k * (around - (accum)4 * here);
            }
            B[y * W + x] = (real)next;
            above = here;
            here = below;
        }
    }
}
