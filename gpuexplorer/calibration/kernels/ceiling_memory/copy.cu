// C = A, with one and with four independent loads a thread.
__global__ void copyOne(const real *A, real *C, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        C[i] = A[i];
    }
}

__global__ void copyFour(const real *A, real *C, int N)
{
    int step = blockDim.x;
    int i = blockIdx.x * step * 4 + threadIdx.x;
    if (i + 3 * step < N) {
        real a = A[i], b = A[i + step], c = A[i + 2 * step], d = A[i + 3 * step];
        C[i] = a;
        C[i + step] = b;
        C[i + 2 * step] = c;
        C[i + 3 * step] = d;
    } else {
        for (int k = 0; k < 4; k++) {
            if (i + k * step < N) {
                C[i + k * step] = A[i + k * step];
            }
        }
    }
}
