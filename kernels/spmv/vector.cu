// One warp walks along one row, 32 elements at a time, which lie side by side. Then it adds up its
// threads' sums from register to register.
__global__ void spmvVector(const int *starts, const int *cols, const real *vals, const real *x,
                           real *y, int N)
{
    int lane = threadIdx.x;
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row < N) {
        int end = starts[row + 1];
        accum sum = 0;
        for (int i = starts[row]; i < end; i += 32) {
            if (i + lane < end) {
                sum += (accum)vals[i + lane] * (accum)x[cols[i + lane]];
            }
        }
        for (int distance = 16; distance > 0; distance /= 2) {
            sum += __shfl_down_sync(0xffffffff, sum, distance);
        }
        if (lane == 0) {
            y[row] = (real)sum;
        }
    }
}
