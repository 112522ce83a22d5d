// One block normalises one row: mean and variance in two passes over it, as the formula has them,
// and the result in a third. The threads meet in a tree in shared memory for each of the two sums.
__global__ void layerNormTwoPasses(const real *X, const real *g, const real *b, real *Y, int D,
                                   accum epsilon)
{
    extern __shared__ accum tree[];
    int thread = threadIdx.x;
    const real *x = X + (long long)blockIdx.x * D;
    real *y = Y + (long long)blockIdx.x * D;

    accum sum = 0;
    for (int start = 0; start < D; start += blockDim.x) {
        if (start + thread < D) {
            sum += (accum)x[start + thread];
        }
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
    accum mean = tree[0] / (accum)D;
    __syncthreads();  // now everybody has it, and the tree is free again

    accum squares = 0;
    for (int start = 0; start < D; start += blockDim.x) {
        if (start + thread < D) {
            accum apart = (accum)x[start + thread] - mean;
            squares += apart * apart;
        }
    }
    tree[thread] = squares;
    __syncthreads();
    for (int left = blockDim.x; left > 1; left = (left + 1) / 2) {
        int lower = (left + 1) / 2;
        if (thread + lower < left) {
            tree[thread] += tree[thread + lower];
        }
        __syncthreads();
    }
    accum scale = rsqrt(tree[0] / (accum)D + epsilon);

    for (int start = 0; start < D; start += blockDim.x) {
        int i = start + thread;
        if (i < D) {
            y[i] = (real)(((accum)x[i] - mean) * scale * (accum)g[i] + (accum)b[i]);
        }
    }
}
