// Each block counts in shared memory what it reads, and adds its counts to everybody's once, at the
// end. Atomics in shared memory are close to the threads, and other blocks are not in their way.
__global__ void histogramShared(const real *X, int *counts, int N, int BINS)
{
    extern __shared__ int own[];
    int thread = threadIdx.x;
    int width = blockDim.x;

    for (int first = 0; first < BINS; first += width) {
        if (first + thread < BINS) {
            own[first + thread] = 0;
        }
    }
    __syncthreads();

    for (int first = blockIdx.x * width; first < N; first += gridDim.x * width) {
        if (first + thread < N) {
            int bin = (int)floor((accum)X[first + thread] * (accum)(BINS / 8)) + BINS / 2;
            atomicAdd(&own[min(max(bin, 0), BINS - 1)], 1);
        }
    }
    __syncthreads();  // now all of the block have counted

    for (int first = 0; first < BINS; first += width) {
        if (first + thread < BINS && own[first + thread] > 0) {
            atomicAdd(&counts[first + thread], own[first + thread]);
        }
    }
}
