// STREAM triad: one multiply-add for two reads and one write.
__global__ void streamTriad(const real *A, const real *B, real *C, accum scale, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        C[i] = (real)((accum)A[i] + scale * (accum)B[i]);
    }
}
