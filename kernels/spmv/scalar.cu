// One thread walks along one row. Neighbouring threads are in rows that begin far apart, so what a
// warp fetches together does not lie together; and the warp is done when its longest row is.
__global__ void spmvScalar(const int *starts, const int *cols, const real *vals, const real *x,
                           real *y, int N)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        accum sum = 0;
        for (int i = starts[row]; i < starts[row + 1]; i++) {
            sum += (accum)vals[i] * (accum)x[cols[i]];
        }
        y[row] = (real)sum;
    }
}
