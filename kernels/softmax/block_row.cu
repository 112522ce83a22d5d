// One block computes one row in the same three passes: its threads read neighbouring elements, and
// meet in a tree in shared memory for the largest element and for the sum.
__global__ void softmaxBlockRow(const real *X, real *Y, int D)
{
    extern __shared__ accum tree[];
    int thread = threadIdx.x;
    int first = min(thread, D - 1);  // a block may have more threads than a row has elements
    const real *x = X + (long long)blockIdx.x * D;
    real *y = Y + (long long)blockIdx.x * D;

    accum largest = (accum)x[first];
    for (int start = 0; start < D; start += blockDim.x) {
        if (start + thread < D) {
            largest = max(largest, (accum)x[start + thread]);
        }
    }
    tree[thread] = largest;
    __syncthreads();
    for (int left = blockDim.x; left > 1; left = (left + 1) / 2) {
        int lower = (left + 1) / 2;  // an odd one out waits for the next round
        if (thread + lower < left) {
            tree[thread] = max(tree[thread], tree[thread + lower]);
        }
        __syncthreads();
    }
    largest = tree[0];
    __syncthreads();  // now everybody has it, and the tree is free again

    accum sum = 0;
    for (int start = 0; start < D; start += blockDim.x) {
        if (start + thread < D) {
            sum += exp((accum)x[start + thread] - largest);
        }
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
    sum = tree[0];

    for (int start = 0; start < D; start += blockDim.x) {
        if (start + thread < D) {
            y[start + thread] = (real)(exp((accum)x[start + thread] - largest) / sum);
        }
    }
}
