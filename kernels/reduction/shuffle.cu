// The sum in two launches, with warp shuffles: the 32 threads of a warp hand their sums to each
// other from register to register. Shared memory is needed once, for one number of each warp.

__device__ accum warpSum(accum sum)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    }
    return sum;  // complete in the warp's first thread
}

__global__ void partialSums(const real *X, accum *sums, int N)
{
    __shared__ accum warpSums[32];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int warps = blockDim.x / 32;

    accum sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) {
        sum += (accum)X[i];
    }
    sum = warpSum(sum);
    if (lane == 0) {
        warpSums[warp] = sum;
    }
    __syncthreads();

    sum = warpSum(lane < warps ? warpSums[lane] : (accum)0);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
    }
}

__global__ void finalSum(const accum *sums, accum *total, int count)
{
    __shared__ accum warpSums[32];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int warps = blockDim.x / 32;

    accum sum = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        sum += sums[i];
    }
    sum = warpSum(sum);
    if (lane == 0) {
        warpSums[warp] = sum;
    }
    __syncthreads();

    sum = warpSum(lane < warps ? warpSums[lane] : (accum)0);
    if (threadIdx.x == 0) {
        total[0] = sum;
    }
}
