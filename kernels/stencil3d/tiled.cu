// The block copies its points, and one more on each side, to shared memory. In three dimensions that
// is a lot: around 8 x 8 x 8 points lie another 488, nearly as many again.
__global__ void stencilTiled(const real *A, real *B, accum k, int D, int H, int W)
{
    extern __shared__ real tile[];  // blockDim + 2 points along each axis
    int width = blockDim.x + 2;
    int height = blockDim.y + 2;
    int depth = blockDim.z + 2;
    int left = blockIdx.x * blockDim.x - 1;  // where the tile begins
    int top = blockIdx.y * blockDim.y - 1;
    int front = blockIdx.z * blockDim.z - 1;

    for (int plane = threadIdx.z; plane < depth; plane += blockDim.z) {
        for (int row = threadIdx.y; row < height; row += blockDim.y) {
            for (int start = 0; start < width; start += blockDim.x) {
                int col = start + threadIdx.x;
                int x = left + col;
                int y = top + row;
                int z = front + plane;
                bool inside = x >= 0 && x < W && y >= 0 && y < H && z >= 0 && z < D;
                if (col < width && inside) {
                    tile[(plane * height + row) * width + col] = A[(z * H + y) * W + x];
                }
            }
        }
    }
    __syncthreads();  // now the tile is complete

    int x = left + 1 + threadIdx.x;
    int y = top + 1 + threadIdx.y;
    int z = front + 1 + threadIdx.z;
    if (x < W && y < H && z < D) {
        int i = ((threadIdx.z + 1) * height + threadIdx.y + 1) * width + threadIdx.x + 1;
        accum here = (accum)tile[i];
        if (x > 0 && x < W - 1 && y > 0 && y < H - 1 && z > 0 && z < D - 1) {
            accum around = (accum)tile[i - 1] + (accum)tile[i + 1] + (accum)tile[i - width] +
                           (accum)tile[i + width] + (accum)tile[i - width * height] +
                           (accum)tile[i + width * height];
            here += k * (around - (accum)6 * here);
        }
        B[(z * H + y) * W + x] = (real)here;
    }
}
