// STREAM add: two arrays read, one written.
__global__ void streamAdd(const real *A, const real *B, real *C, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        C[i] = (real)((accum)A[i] + (accum)B[i]);
    }
}
