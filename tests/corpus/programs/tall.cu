#include <cuda_runtime.h>

__global__ void tall(const float* x, float* y, int n) {
    int i = blockIdx.y;
    if (i < n) y[i] = x[i];
}

int main() {
    int n = 1000;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    tall<<<dim3(1, n), 1>>>(x, y, n);
}
