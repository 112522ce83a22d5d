// The scan in a single launch that reads X once. A block draws its tile from a counter, scans it,
// and tells the tile's sum at once. What lies before the tile it learns from the tiles before: it
// looks back over their sums until it meets one that already knows everything before it.
//
// A block that has drawn tile t knows that the tiles before it were drawn by blocks that run or
// are done, so it waits for no block that waits for its place. With a tile's number taken from
// blockIdx that would not be sure.

#define TILE (EACH * blockDim.x)
#define AT(i) ((i) + (i) / 32)  // a spare element each 32, so that threads meet different banks
#define TOLD 1                  // the tile's sum is there
#define KNOWN 2                 // and that of everything up to its end

__device__ accum scanWarp(accum sum, int lane)
{
    for (int distance = 1; distance < 32; distance *= 2) {
        accum other = __shfl_up_sync(0xffffffff, sum, distance);
        sum += lane >= distance ? other : (accum)0;
    }
    return sum;
}

__global__ void scanLookBack(const real *X, accum *Y, int *drawn, int *state, accum *tileSums,
                             accum *sumsUpTo, int N)
{
    extern __shared__ accum tile[];
    __shared__ accum warpSums[32];
    __shared__ accum sumBefore;
    __shared__ int number;
    int thread = threadIdx.x;
    int lane = thread % 32;
    int warp = thread / 32;
    int width = blockDim.x;
    int warps = width / 32;

    if (thread == 0) {
        number = atomicAdd(drawn, 1);
    }
    __syncthreads();
    int start = number * TILE;

    // Neighbouring threads read neighbouring elements; then each takes EACH in a row.
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        int i = k * width + thread;
        tile[AT(i)] = start + i < N ? (accum)X[start + i] : (accum)0;
    }
    __syncthreads();
    accum mine[EACH];
    accum sum = 0;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        sum += tile[AT(thread * EACH + k)];
        mine[k] = sum;
    }

    accum upTo = scanWarp(sum, lane);
    if (lane == 31) {
        warpSums[warp] = upTo;
    }
    __syncthreads();
    accum all = scanWarp(lane < warps ? warpSums[lane] : (accum)0, lane);
    accum others = __shfl_sync(0xffffffff, all, max(warp - 1, 0));
    accum before = (warp > 0 ? others : (accum)0) + upTo - sum;

    if (thread == 0) {
        accum whole = 0;
        for (int k = 0; k < warps; k++) {
            whole += warpSums[k];
        }
        tileSums[number] = whole;
        __threadfence();  // whoever sees the state sees this sum, too
        atomicExch(&state[number], TOLD);

        accum found = 0;
        int at = number - 1;
        while (at >= 0) {
            int seen = atomicAdd(&state[at], 0);
            __threadfence();
            if (seen == KNOWN) {
                found += ((volatile accum *)sumsUpTo)[at];
                at = -1;
            } else if (seen == TOLD) {
                found += ((volatile accum *)tileSums)[at];
                at--;
            }
        }
        sumsUpTo[number] = found + whole;
        __threadfence();
        atomicExch(&state[number], KNOWN);
        sumBefore = found;
    }
    __syncthreads();

    before += sumBefore;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        tile[AT(thread * EACH + k)] = before + mine[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        int i = k * width + thread;
        if (start + i < N) {
            Y[start + i] = tile[AT(i)];
        }
    }
}
