// The chains of chains.cu on pairs of halves. A pair's two values start apart and each takes
// K / (2 · CHAINS) steps.
__global__ void pairs(const real *X, accum *Y, float one, float step, int N, int K)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        float start = __half2float(X[i]);
        __half2 a = __float2half2_rn(one);
        __half2 b = __float2half2_rn(step);
        __half2 x[CHAINS];
        #pragma unroll
        for (int j = 0; j < CHAINS; j++) {
            x[j] = __floats2half2_rn(start + j * 0.125f, start - j * 0.125f - 0.125f);
        }
        for (int k = 0; k < K; k += 2 * CHAINS) {
            #pragma unroll
            for (int j = 0; j < CHAINS; j++) {
                x[j] = __hfma2(x[j], a, b);
            }
        }
        float sum = start;
        #pragma unroll
        for (int j = 0; j < CHAINS; j++) {
            sum += __low2float(x[j]) - (start + j * 0.125f);
            sum += __high2float(x[j]) - (start - j * 0.125f - 0.125f);
        }
        Y[i] = sum;
    }
}
