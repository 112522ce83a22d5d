// Each block keeps COPIES histograms in shared memory, and neighbouring threads count in different
// ones: numbers that are alike, which would queue up at one counter, have COPIES of them. The copies
// of a bin lie side by side, so that they are in different memory banks, too.
__global__ void histogramCopies(const real *X, int *counts, int N, int BINS)
{
    extern __shared__ int own[];  // BINS rows of COPIES counters
    int thread = threadIdx.x;
    int width = blockDim.x;
    int copy = thread % COPIES;

    for (int first = 0; first < BINS * COPIES; first += width) {
        if (first + thread < BINS * COPIES) {
            own[first + thread] = 0;
        }
    }
    __syncthreads();

    for (int first = blockIdx.x * width; first < N; first += gridDim.x * width) {
        if (first + thread < N) {
            int bin = (int)floor((accum)X[first + thread] * (accum)(BINS / 8)) + BINS / 2;
            atomicAdd(&own[min(max(bin, 0), BINS - 1) * COPIES + copy], 1);
        }
    }
    __syncthreads();  // now all of the block have counted

    for (int first = 0; first < BINS; first += width) {
        int bin = first + thread;
        if (bin < BINS) {
            int sum = 0;
            for (int k = 0; k < COPIES; k++) {
                sum += own[bin * COPIES + (k + thread) % COPIES];
            }
            if (sum > 0) {
                atomicAdd(&counts[bin], sum);
            }
        }
    }
}
