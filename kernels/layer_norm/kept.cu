// One warp normalises one row that it keeps in shared memory: memory is asked for it once, and the
// variance comes from a second pass over what was kept, without a division for each element. A
// thread has EACH sums, so that an addition need not wait for the one before.
__global__ void layerNormKept(const real *X, const real *g, const real *b, real *Y, int rows, int D,
                              accum epsilon)
{
    extern __shared__ accum block_rows[];  // blockDim.y rows of D elements
    int lane = threadIdx.x;
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    accum *kept = block_rows + threadIdx.y * D + lane;
    if (row < rows) {
        const real *x = X + (long long)row * D + lane;
        real *y = Y + (long long)row * D + lane;

        // A thread reads again only what it wrote itself, so nobody waits at a barrier. All threads
        // make the same rounds, so that a CPU's vector unit runs them together.
        accum sums[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            sums[k] = 0;
        }
        int i = 0;
        for (; i + EACH * 32 <= D; i += EACH * 32) {
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                accum one = (accum)x[i + k * 32];
                kept[i + k * 32] = one;
                sums[k] += one;
            }
        }
        for (; i < D; i += 32) {
            if (i + lane < D) {
                kept[i] = (accum)x[i];
                sums[0] += kept[i];
            }
        }
#pragma unroll
        for (int k = 1; k < EACH; k++) {
            sums[0] += sums[k];
        }
        for (int distance = 16; distance > 0; distance /= 2) {
            sums[0] += __shfl_xor_sync(0xffffffff, sums[0], distance);
        }
        accum mean = sums[0] / (accum)D;

        accum squares[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            squares[k] = 0;
        }
        for (i = 0; i + EACH * 32 <= D; i += EACH * 32) {
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                accum apart = kept[i + k * 32] - mean;
                squares[k] += apart * apart;
            }
        }
        for (; i < D; i += 32) {
            if (i + lane < D) {
                squares[0] += (kept[i] - mean) * (kept[i] - mean);
            }
        }
#pragma unroll
        for (int k = 1; k < EACH; k++) {
            squares[0] += squares[k];
        }
        for (int distance = 16; distance > 0; distance /= 2) {
            squares[0] += __shfl_xor_sync(0xffffffff, squares[0], distance);
        }
        accum scale = rsqrt(squares[0] / (accum)D + epsilon);

        for (i = 0; i + 32 <= D; i += 32) {
            int at = i + lane;
            y[i] = (real)((kept[i] - mean) * scale * (accum)g[at] + (accum)b[at]);
        }
        if (i + lane < D) {
            int at = i + lane;
            y[i] = (real)((kept[i] - mean) * scale * (accum)g[at] + (accum)b[at]);
        }
    }
}
