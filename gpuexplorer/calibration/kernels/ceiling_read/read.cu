// Each block adds up the rows of its own stretch of X, one column a thread.
__global__ void columnSums(const real *X, accum *Y, int R)
{
    int W = blockDim.x;
    int column = threadIdx.x;
    const real *row = X + (size_t)blockIdx.x * R * W + column;
    accum s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
    int r = 0;
    for (; r + 8 <= R; r += 8) {
        s0 += (accum)row[(r + 0) * W];
        s1 += (accum)row[(r + 1) * W];
        s2 += (accum)row[(r + 2) * W];
        s3 += (accum)row[(r + 3) * W];
        s4 += (accum)row[(r + 4) * W];
        s5 += (accum)row[(r + 5) * W];
        s6 += (accum)row[(r + 6) * W];
        s7 += (accum)row[(r + 7) * W];
    }
    for (; r < R; r++) {
        s0 += (accum)row[r * W];
    }
    Y[blockIdx.x * W + column] = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7));
}
