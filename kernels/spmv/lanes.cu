// LANES threads of a warp walk along one row, so a warp has 32 / LANES rows: a short row leaves few
// of its threads without work.
__global__ void spmvLanes(const int *starts, const int *cols, const real *vals, const real *x,
                          real *y, int N)
{
    int lane = threadIdx.x % LANES;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    int end = row < N ? starts[row + 1] : 0;
    accum sum = 0;
    for (int i = row < N ? starts[row] + lane : 0; i < end; i += LANES) {
        sum += (accum)vals[i] * (accum)x[cols[i]];
    }
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, distance, LANES);
    }
    if (lane == 0 && row < N) {
        y[row] = (real)sum;
    }
}
