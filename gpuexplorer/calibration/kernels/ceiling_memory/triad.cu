// C = A + scale·B, with two and with eight independent loads a thread.
__global__ void triadOne(const real *A, const real *B, real *C, accum scale, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        C[i] = (real)((accum)A[i] + scale * (accum)B[i]);
    }
}

__global__ void triadFour(const real *A, const real *B, real *C, accum scale, int N)
{
    int step = blockDim.x;
    int i = blockIdx.x * step * 4 + threadIdx.x;
    if (i + 3 * step < N) {
        accum a = A[i], b = A[i + step], c = A[i + 2 * step], d = A[i + 3 * step];
        accum e = B[i], f = B[i + step], g = B[i + 2 * step], h = B[i + 3 * step];
        C[i] = (real)(a + scale * e);
        C[i + step] = (real)(b + scale * f);
        C[i + 2 * step] = (real)(c + scale * g);
        C[i + 3 * step] = (real)(d + scale * h);
    } else {
        for (int k = 0; k < 4; k++) {
            if (i + k * step < N) {
                C[i + k * step] = (real)((accum)A[i + k * step] + scale * (accum)B[i + k * step]);
            }
        }
    }
}
