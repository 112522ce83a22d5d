#include <cuda_runtime.h>

// a row for each line of threads of a block
__global__ void layernorm(float* out, const float* inp, const float* weight, const float* bias,
                          int N, int C)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= N) return;
    const float *x = &inp[row * C];
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < C; i += warpSize) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, d);
        squares += __shfl_xor_sync(0xffffffff, squares, d);
    }
    float mean = sum / C, scale = rsqrtf(squares / C - mean * mean + 1e-5f);
    for (int c = threadIdx.x; c < C; c += warpSize)
        out[row * C + c] = scale * (x[c] - mean) * weight[c] + bias[c];
}

int main()
{
    const int B = 8, T = 32, C = 96;
    float *out, *inp, *weight, *bias;
    cudaMalloc(&out, B * T * C * sizeof(float));
    cudaMalloc(&inp, B * T * C * sizeof(float));
    cudaMalloc(&weight, C * sizeof(float));
    cudaMalloc(&bias, C * sizeof(float));
    const int N = B * T;
    dim3 block(32, 4);
    layernorm<<<(N + block.y - 1) / block.y, block>>>(out, inp, weight, bias, N, C);
    cudaDeviceSynchronize();
}
