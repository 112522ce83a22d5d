// The sum in two launches: every block adds up its share of X, then one block adds up the sums.
// Inside a block the threads' sums meet in a tree in shared memory: each round the upper half of
// those left is added to the lower half. It works for any number of threads.

__global__ void partialSums(const real *X, accum *sums, int N)
{
    extern __shared__ accum tree[];
    int thread = threadIdx.x;

    accum sum = 0;
    for (int i = blockIdx.x * blockDim.x + thread; i < N; i += gridDim.x * blockDim.x) {
        sum += (accum)X[i];
    }
    tree[thread] = sum;
    __syncthreads();

    for (int left = blockDim.x; left > 1; left = (left + 1) / 2) {
        int lower = (left + 1) / 2;  // an odd one out waits for the next round
        if (thread + lower < left) {
            tree[thread] += tree[thread + lower];
        }
        __syncthreads();
    }
    if (thread == 0) {
        sums[blockIdx.x] = tree[0];
    }
}

__global__ void finalSum(const accum *sums, accum *total, int count)
{
    extern __shared__ accum tree[];
    int thread = threadIdx.x;

    accum sum = 0;
    for (int i = thread; i < count; i += blockDim.x) {
        sum += sums[i];
    }
    tree[thread] = sum;
    __syncthreads();

    for (int left = blockDim.x; left > 1; left = (left + 1) / 2) {
        int lower = (left + 1) / 2;
        if (thread + lower < left) {
            tree[thread] += tree[thread + lower];
        }
        __syncthreads();
    }
    if (thread == 0) {
        total[0] = tree[0];
    }
}
