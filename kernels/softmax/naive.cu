// One thread computes one row, in three passes: its largest element, the sum of the powers, and the
// quotients. Neighbouring threads read D elements apart.
__global__ void softmaxNaive(const real *X, real *Y, int B, int D)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < B) {
        const real *x = X + (long long)row * D;
        real *y = Y + (long long)row * D;

        accum largest = (accum)x[0];
        for (int i = 1; i < D; i++) {
            largest = max(largest, (accum)x[i]);
        }
        accum sum = 0;
        for (int i = 0; i < D; i++) {
            sum += exp((accum)x[i] - largest);
        }
        for (int i = 0; i < D; i++) {
            y[i] = (real)(exp((accum)x[i] - largest) / sum);
        }
    }
}
