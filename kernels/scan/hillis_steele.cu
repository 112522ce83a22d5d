// Each block scans its part of X, blockDim.x elements at a time. In each round every thread adds
// what stands 1, 2, 4 ... places before its own: after log2(width) rounds, everything before it.
__global__ void scanHillisSteele(const real *X, const accum *sums, accum *Y, int N, int share)
{
    extern __shared__ accum rows[];  // two rows: one is read while the other is written
    int thread = threadIdx.x;
    int width = blockDim.x;
    int first = blockIdx.x * share;
    int end = min(first + share, N);

    accum before = sums[blockIdx.x];  // the sum of all parts before this one
    for (int start = first; start < end; start += width) {
        int i = start + thread;
        int from = 0;
        int to = width;
        rows[from + thread] = i < end ? (accum)X[i] : (accum)0;
        __syncthreads();
        for (int distance = 1; distance < width; distance *= 2) {
            accum sum = rows[from + thread];
            if (thread >= distance) {
                sum += rows[from + thread - distance];
            }
            rows[to + thread] = sum;
            __syncthreads();
            from = width - from;
            to = width - to;
        }
        if (i < end) {
            Y[i] = before + rows[from + thread];
        }
        before += rows[from + width - 1];
        __syncthreads();  // now nobody needs the rows any more
    }
}
