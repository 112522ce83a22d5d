// Each block scans its part of X, blockDim.x elements at a time. The threads of a warp hand their
// sums on from register to register; shared memory sees one number of each warp, and two barriers
// are enough.

__device__ accum scanWarp(accum sum, int lane)
{
    for (int distance = 1; distance < 32; distance *= 2) {
        accum other = __shfl_up_sync(0xffffffff, sum, distance);
        sum += lane >= distance ? other : (accum)0;
    }
    return sum;
}

__global__ void scanShuffle(const real *X, const accum *sums, accum *Y, int N, int share)
{
    __shared__ accum warpSums[32];
    int thread = threadIdx.x;
    int lane = thread % 32;
    int warp = thread / 32;
    int width = blockDim.x;
    int warps = width / 32;
    int first = blockIdx.x * share;
    int end = min(first + share, N);

    accum before = sums[blockIdx.x];  // the sum of all parts before this one
    for (int start = first; start < end; start += width) {
        int i = start + thread;
        accum sum = scanWarp(i < end ? (accum)X[i] : (accum)0, lane);
        if (lane == 31) {
            warpSums[warp] = sum;
        }
        __syncthreads();  // now the warps' sums are there

        // Every warp scans them for itself, which costs less than another barrier.
        accum all = scanWarp(lane < warps ? warpSums[lane] : (accum)0, lane);
        accum others = __shfl_sync(0xffffffff, all, max(warp - 1, 0));
        if (i < end) {
            Y[i] = before + (warp > 0 ? others : (accum)0) + sum;
        }
        before += __shfl_sync(0xffffffff, all, 31);
        __syncthreads();  // now nobody needs them any more
    }
}
