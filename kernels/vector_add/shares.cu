// A block walks through a share of the vectors without gaps, and a thread adds EACH pairs a round, so
// that their loads are under way together.
__global__ void vectorAddShares(const real *A, const real *B, real *C, int N, int share)
{
    int thread = threadIdx.x;
    int width = blockDim.x;
    int start = blockIdx.x * share;
    int end = min(start + share, N);

    // All threads make the same rounds, so that a CPU's vector unit runs them together.
    for (; start + EACH * width <= end; start += EACH * width) {
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            int i = start + k * width + thread;
            C[i] = (real)((accum)A[i] + (accum)B[i]);
        }
    }
    for (; start < end; start += width) {
        int i = start + thread;
        if (i < end) {
            C[i] = (real)((accum)A[i] + (accum)B[i]);
        }
    }
}
