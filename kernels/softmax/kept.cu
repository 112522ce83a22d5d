// One warp computes one row, and memory is asked for it once: the warp keeps it in shared memory,
// first as it is, then as powers. Each power is computed once.
__global__ void softmaxKept(const real *X, real *Y, int B, int D)
{
    extern __shared__ accum rows[];  // blockDim.y rows of D elements
    int lane = threadIdx.x;
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    int whole = D - D % 32;          // so many elements occupy all threads of the warp
    bool one_more = whole + lane < D;
    accum *kept = rows + threadIdx.y * D;
    if (row < B) {
        const real *x = X + (long long)row * D;
        real *y = Y + (long long)row * D;

        // A thread reads again only what it wrote itself, so nobody waits at a barrier.
        accum largest = (accum)x[min(whole + lane, D - 1)];
        if (one_more) {
            kept[whole + lane] = largest;
        }
        for (int i = 0; i < whole; i += 32) {
            kept[i + lane] = (accum)x[i + lane];
            largest = max(largest, kept[i + lane]);
        }
        for (int distance = 16; distance > 0; distance /= 2) {
            largest = max(largest, __shfl_xor_sync(0xffffffff, largest, distance));
        }

        accum sum = 0;
        if (one_more) {
            kept[whole + lane] = exp(kept[whole + lane] - largest);
            sum = kept[whole + lane];
        }
        for (int i = 0; i < whole; i += 32) {
            kept[i + lane] = exp(kept[i + lane] - largest);
            sum += kept[i + lane];
        }
        for (int distance = 16; distance > 0; distance /= 2) {
            sum += __shfl_xor_sync(0xffffffff, sum, distance);
        }

        accum share = (accum)1 / sum;
        if (one_more) {
            y[whole + lane] = (real)(kept[whole + lane] * share);
        }
        for (int i = 0; i < whole; i += 32) {
            y[i + lane] = (real)(kept[i + lane] * share);
        }
    }
}
