// The block walks along z, PLANES planes of its tile. What lies before and behind a point stays in a
// queue of registers, which moves on by one with each plane; shared memory holds one plane alone,
// for the neighbours in it.
__global__ void stencilQueue(const real *A, real *B, accum k, int D, int H, int W)
{
    extern __shared__ real tile[];  // blockDim.y + 2 rows of blockDim.x + 2 points
    int width = blockDim.x + 2;
    int height = blockDim.y + 2;
    int left = blockIdx.x * blockDim.x - 1;  // where the tile begins
    int top = blockIdx.y * blockDim.y - 1;
    int first = blockIdx.z * PLANES;
    int end = min(first + PLANES, D);

    int x = left + 1 + threadIdx.x;
    int y = top + 1 + threadIdx.y;
    int own = (threadIdx.y + 1) * width + threadIdx.x + 1;
    int column = min(y, H - 1) * W + min(x, W - 1);  // in each plane; threads past the end read too
    accum before = (accum)A[max(first - 1, 0) * H * W + column];
    accum here = (accum)A[first * H * W + column];

    for (int z = first; z < end; z++) {
        accum behind = (accum)A[min(z + 1, D - 1) * H * W + column];
        tile[own] = (real)here;
        if (threadIdx.y == 0) {
            tile[threadIdx.x + 1] = A[(z * H + max(top, 0)) * W + min(x, W - 1)];
            tile[(height - 1) * width + threadIdx.x + 1] =
                A[(z * H + min(top + height - 1, H - 1)) * W + min(x, W - 1)];
        }
        if (threadIdx.x == 0) {
            tile[(threadIdx.y + 1) * width] = A[(z * H + min(y, H - 1)) * W + max(left, 0)];
            tile[(threadIdx.y + 1) * width + width - 1] =
                A[(z * H + min(y, H - 1)) * W + min(left + width - 1, W - 1)];
        }
        __syncthreads();  // now the plane is complete

        if (x < W && y < H) {
            accum next = here;
            if (x > 0 && x < W - 1 && y > 0 && y < H - 1 && z > 0 && z < D - 1) {
                accum around = (accum)tile[own - 1] + (accum)tile[own + 1] +
                               (accum)tile[own - width] + (accum)tile[own + width] + before +
                               behind;
                next += k * (around - (accum)6 * here);
            }
            B[(z * H + y) * W + x] = (real)next;
        }
        before = here;
        here = behind;
        __syncthreads();  // now nobody needs the plane any more
    }
}
