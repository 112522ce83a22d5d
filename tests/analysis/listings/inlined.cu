#include <cuda_fp16.h>
__device__ float twice(float x)
{
    return x * 2.0f + 1.0f;
}
__device__ float both(const float *p, int i)
{
    float a = twice(p[i]);
    return a + twice(p[i + 1]);
}
__device__ __noinline__ float far(float x, int n)
{
    for (int i = 0; i < n; i++) x = sinf(x) / 3.0f;
    return x;
}
__global__ void k(const float *A, float *B, __half *H, int n)
{
    int i = threadIdx.x;
    __shared__ float tile[64];
    tile[i] = both(A, i);
    __syncthreads();
    B[i] = far(tile[63 - i], n) / A[3];
    H[i] = __hadd(H[i], __float2half(A[i]));
    float4 v = ((const float4 *)A)[i];
    atomicAdd(B, v.x + v.y + v.z + v.w);
}
