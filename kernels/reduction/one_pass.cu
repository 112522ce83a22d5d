// The sum in a single launch. Each thread keeps EACH sums, so that an addition need not wait for the
// one before; a block walks through a part of X without gaps. Whichever block is done last, as a
// counter that begins at 0 tells it, adds up what the others left in memory.

__device__ accum warpSum(accum sum)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    }
    return sum;  // complete in the warp's first thread
}

__global__ void sumOnePass(const real *X, accum *sums, int *done, accum *total, int N, int share)
{
    __shared__ accum warpSums[32];
    __shared__ int before;
    int thread = threadIdx.x;
    int lane = thread % 32;
    int warp = thread / 32;
    int warps = blockDim.x / 32;
    int start = blockIdx.x * share;
    int end = min(start + share, N);

    // All threads make the same rounds, so that a CPU's vector unit runs them together.
    accum part[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        part[k] = 0;
    }
    for (; start + EACH * (int)blockDim.x <= end; start += EACH * blockDim.x) {
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            part[k] += (accum)X[start + k * blockDim.x + thread];
        }
    }
    for (; start < end; start += blockDim.x) {
        if (start + thread < end) {
            part[0] += (accum)X[start + thread];
        }
    }
#pragma unroll
    for (int k = 1; k < EACH; k++) {
        part[0] += part[k];
    }

    accum sum = warpSum(part[0]);
    if (lane == 0) {
        warpSums[warp] = sum;
    }
    __syncthreads();
    sum = warpSum(lane < warps ? warpSums[lane] : (accum)0);
    if (thread == 0) {
        sums[blockIdx.x] = sum;
        __threadfence();  // whoever sees the counter go up sees this sum, too
        before = atomicAdd(done, 1);
    }
    __syncthreads();

    if (before == (int)gridDim.x - 1 && warp == 0) {
        __threadfence();
        accum all = 0;
        for (int first = 0; first < (int)gridDim.x; first += 32) {
            if (first + lane < (int)gridDim.x) {
                all += ((volatile accum *)sums)[first + lane];
            }
        }
        all = warpSum(all);
        if (thread == 0) {
            total[0] = all;
        }
    }
}
