// Each block scans its part of X, two elements a thread at a time, in one row of shared memory. Up
// the tree, pairs are added, pairs of pairs and so on; down the tree, each sum is added to what
// stands behind it. That is 2 additions an element instead of log2(width).
__global__ void scanWorkEfficient(const real *X, const accum *sums, accum *Y, int N, int share)
{
    extern __shared__ accum row[];
    int thread = threadIdx.x;
    int width = blockDim.x;
    int tile = 2 * width;
    int first = blockIdx.x * share;
    int end = min(first + share, N);

    accum before = sums[blockIdx.x];  // the sum of all parts before this one
    for (int start = first; start < end; start += tile) {
        int i = start + thread;
        row[thread] = i < end ? (accum)X[i] : (accum)0;
        row[thread + width] = i + width < end ? (accum)X[i + width] : (accum)0;
        __syncthreads();

        int stride = 1;
        for (; stride < tile; stride *= 2) {
            int at = (thread + 1) * 2 * stride - 1;
            if (at < tile) {
                row[at] += row[at - stride];
            }
            __syncthreads();
        }
        for (stride /= 2; stride > 0; stride /= 2) {
            int at = (thread + 1) * 2 * stride - 1;
            if (at + stride < tile) {
                row[at + stride] += row[at];
            }
            __syncthreads();
        }

        if (i < end) {
            Y[i] = before + row[thread];
        }
        if (i + width < end) {
            Y[i + width] = before + row[thread + width];
        }
        before += row[tile - 1];
        __syncthreads();  // now nobody needs the row any more
    }
}
