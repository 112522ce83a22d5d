// The chains of chains.cu on pairs of halves. A pair's two values start apart and each takes
// 48 * R / (2 * CHAINS) steps.
__global__ void pairs(const real *X, accum *Y, float one, float step, int N, int R)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        float start = (float)(i & 7);
        __half2 a = __float2half2_rn(one);
        __half2 b = __float2half2_rn(step);
        __half2 x[CHAINS];
        #pragma unroll
        for (int j = 0; j < CHAINS; j++) {
            x[j] = __floats2half2_rn(start + j * 0.125f, start - j * 0.125f - 0.125f);
        }
        for (int k = 0; k < 48 * R; k += 2 * CHAINS) {
            #pragma unroll
            for (int j = 0; j < CHAINS; j++) {
                x[j] = __hfma2(x[j], a, b);
            }
        }
        float sum = __half2float(X[i]);
        #pragma unroll
        for (int j = 0; j < CHAINS; j++) {
            sum += __low2float(x[j]) - (start + j * 0.125f);
            sum += __high2float(x[j]) - (start - j * 0.125f - 0.125f);
        }
        Y[i] = sum;
    }
}
