// Each thread takes one number and counts it up where all blocks count.
__global__ void histogramGlobal(const real *X, int *counts, int N, int BINS)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        int bin = (int)floor((accum)X[i] * (accum)(BINS / 8)) + BINS / 2;
        atomicAdd(&counts[min(max(bin, 0), BINS - 1)], 1);
    }
}
