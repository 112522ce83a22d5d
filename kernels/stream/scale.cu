// STREAM scale: copy with one multiplication.
__global__ void streamScale(const real *A, real *C, accum scale, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        C[i] = (real)(scale * (accum)A[i]);
    }
}
