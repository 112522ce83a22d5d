// Every chain adds up K / CHAINS steps, each by a multiply-add that waits for the one before it.
// The factor is 1 and comes from the host, so that no compiler can leave the product out; the
// values are whole steps, so that the sum is exact and shows that none was left out.
__global__ void chains(const real *X, accum *Y, float one, float step, int N, int K)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        real a = (real)one;
        real b = (real)step;
        real x[CHAINS];
        #pragma unroll
        for (int j = 0; j < CHAINS; j++) {
            x[j] = (real)((accum)X[i] + (accum)(j * 0.125f));
        }
        for (int k = 0; k < K; k += CHAINS) {
            #pragma unroll
            for (int j = 0; j < CHAINS; j++) {
                x[j] = x[j] * a + b;
            }
        }
        accum sum = (accum)X[i];
        #pragma unroll
        for (int j = 0; j < CHAINS; j++) {
            sum += (accum)x[j] - ((accum)X[i] + (accum)(j * 0.125f));
        }
        Y[i] = sum;
    }
}
