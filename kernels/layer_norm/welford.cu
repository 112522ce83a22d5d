// One warp normalises one row, with mean and variance from a single pass: Welford's update keeps a
// mean and a sum of squares around it, which stays exact where a sum of squares minus the square of
// the sum loses all digits.
__global__ void layerNormWelford(const real *X, const real *g, const real *b, real *Y, int rows,
                                 int D, accum epsilon)
{
    int lane = threadIdx.x;
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row < rows) {
        const real *x = X + (long long)row * D;
        real *y = Y + (long long)row * D;

        // All threads make the same rounds, so that a CPU's vector unit runs them together.
        accum mean = 0;
        accum squares = 0;
        int count = 0;
        int start = 0;
        for (; start + 32 <= D; start += 32) {
            count++;
            accum one = (accum)x[start + lane];
            accum apart = one - mean;
            mean += apart * ((accum)1 / (accum)count);
            squares += apart * (one - mean);
        }
        if (start + lane < D) {
            count++;
            accum one = (accum)x[start + lane];
            accum apart = one - mean;
            mean += apart / (accum)count;
            squares += apart * (one - mean);
        }

        // Two threads' mean and squares become those of both; either may have seen nothing yet.
        for (int distance = 16; distance > 0; distance /= 2) {
            accum other = __shfl_xor_sync(0xffffffff, mean, distance);
            accum more = __shfl_xor_sync(0xffffffff, squares, distance);
            int seen = __shfl_xor_sync(0xffffffff, count, distance);
            accum apart = other - mean;
            accum part = (accum)seen / (accum)max(count + seen, 1);
            squares += more + apart * apart * (accum)count * part;
            mean = (accum)count * mean / (accum)max(count + seen, 1) + other * part;
            count += seen;
        }

        accum scale = rsqrt(squares / (accum)D + epsilon);
        for (start = 0; start + 32 <= D; start += 32) {
            int i = start + lane;
            y[i] = (real)(((accum)x[i] - mean) * scale * (accum)g[i] + (accum)b[i]);
        }
        int i = start + lane;
        if (i < D) {
            y[i] = (real)(((accum)x[i] - mean) * scale * (accum)g[i] + (accum)b[i]);
        }
    }
}
