// The textbook kernel: one thread computes one element of C.
__global__ void matrixMul(const real *A, const real *B, real *C, int N)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && col < N) {
        accum sum = 0;
        for (int k = 0; k < N; k++) {
            sum += (accum)A[row * N + k] * (accum)B[k * N + col];
        }
        C[row * N + col] = (real)sum;
    }
}
