// Every chain adds up 48 * R / CHAINS steps, each by a multiply-add that waits for the one before.
// The factor is 1 and comes from the host, so that no compiler can leave the product out; the
// values are whole steps and differ from thread to thread, so that the sum is exact, shows that no
// step was left out, and cannot be shared.
__global__ void chains(const real *X, accum *Y, float one, float step, int N, int R)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        float start = (float)(i & 7);
        real a = (real)one;
        real b = (real)step;
        real x[CHAINS];
        #pragma unroll
        for (int j = 0; j < CHAINS; j++) {
            x[j] = (real)(start + j * 0.125f);
        }
        for (int k = 0; k < 48 * R; k += CHAINS) {
            #pragma unroll
            for (int j = 0; j < CHAINS; j++) {
                x[j] = x[j] * a + b;
            }
        }
        accum sum = (accum)X[i];
        #pragma unroll
        for (int j = 0; j < CHAINS; j++) {
            sum += (accum)x[j] - (accum)(start + j * 0.125f);
        }
        Y[i] = sum;
    }
}
