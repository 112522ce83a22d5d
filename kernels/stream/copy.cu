// STREAM copy: no arithmetic at all.
__global__ void streamCopy(const real *A, real *C, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        C[i] = A[i];
    }
}
