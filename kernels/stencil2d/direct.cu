// One thread computes one point from its four neighbours and itself. The border stays as it is.
__global__ void stencilDirect(const real *A, real *B, accum k, int H, int W)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H) {
        int i = y * W + x;
        accum here = (accum)A[i];
        if (x > 0 && x < W - 1 && y > 0 && y < H - 1) {
            accum around = (accum)A[i - 1] + (accum)A[i + 1] + (accum)A[i - W] + (accum)A[i + W];
            here += k * (around - (accum)4 * here);
        }
        B[i] = (real)here;
    }
}
