// What a scan of a long array needs around the scan of a block's own part: blocks cannot wait for
// each other, so what lies before each part is found in launches of their own.

// Adds up the block's part of X, share elements.
__global__ void partSums(const real *X, accum *sums, int N, int share)
{
    extern __shared__ accum tree[];
    int thread = threadIdx.x;
    int width = blockDim.x;
    int first = blockIdx.x * share;
    int end = min(first + share, N);

    accum sum = 0;
    for (int start = first; start < end; start += width) {
        if (start + thread < end) {
            sum += (accum)X[start + thread];
        }
    }
    tree[thread] = sum;
    __syncthreads();
    for (int left = width; left > 1; left = (left + 1) / 2) {
        int half = (left + 1) / 2;
        if (thread + half < left) {
            tree[thread] += tree[thread + half];
        }
        __syncthreads();
    }
    if (thread == 0) {
        sums[blockIdx.x] = tree[0];
    }
}

// Replaces the sum of each part by that of all parts before it, in one block.
__global__ void sumsBefore(accum *sums, int parts)
{
    extern __shared__ accum rows[];  // two rows: one is read while the other is written
    int thread = threadIdx.x;
    int width = blockDim.x;

    accum before = 0;
    for (int start = 0; start < parts; start += width) {
        int i = start + thread;
        int from = 0;
        int to = width;
        rows[from + thread] = i < parts ? sums[i] : (accum)0;
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
        if (i < parts) {
            sums[i] = before + (thread > 0 ? rows[from + max(thread - 1, 0)] : (accum)0);
        }
        before += rows[from + width - 1];
        __syncthreads();  // now nobody needs the rows any more
    }
}
