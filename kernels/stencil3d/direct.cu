// One thread computes one point from its six neighbours and itself. The border stays as it is.
__global__ void stencilDirect(const real *A, real *B, accum k, int D, int H, int W)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < W && y < H && z < D) {
        int i = (z * H + y) * W + x;
        accum here = (accum)A[i];
        if (x > 0 && x < W - 1 && y > 0 && y < H - 1 && z > 0 && z < D - 1) {
            accum around = (accum)A[i - 1] + (accum)A[i + 1] + (accum)A[i - W] + (accum)A[i + W] +
                           (accum)A[i - H * W] + (accum)A[i + H * W];
            here += k * (around - (accum)6 * here);
        }
        B[i] = (real)here;
    }
}
