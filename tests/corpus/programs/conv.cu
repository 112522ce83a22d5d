#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define FILTER_RADIUS 2
#define IN_TILE_DIM 32
__constant__ float F[2*FILTER_RADIUS+1][2*FILTER_RADIUS+1];
__constant__ float bias;

__global__ void convolution_2D_const_mem_kernel(float *N, float *P, int r, int width, int height) {
    int outCol = blockIdx.x*blockDim.x + threadIdx.x;
    int outRow = blockIdx.y*blockDim.y + threadIdx.y;
    if (outCol >= width || outRow >= height) return;
    float Pvalue = bias;
    for (int fRow = 0; fRow < 2*r+1; fRow++) {
        for (int fCol = 0; fCol < 2*r+1; fCol++) {
            int inRow = outRow - r + fRow;
            int inCol = outCol - r + fCol;
            if (inRow >= 0 && inRow < height && inCol >= 0 && inCol < width) {
                Pvalue += F[fRow][fCol]*N[inRow*width + inCol];
            }
        }
    }
    P[outRow*width+outCol] = Pvalue;
}

int main() {
    const int width = 256, height = 128;
    float h_F[5][5];
    float b = 0.5f;
    for (int i = 0; i < 5; i++) for (int j = 0; j < 5; j++) h_F[i][j] = 1.0f / 25;
    cudaMemcpyToSymbol(F, h_F, sizeof(h_F));
    cudaMemcpyToSymbol(bias, &b, sizeof(float));
    float *d_N, *d_P;
    cudaMalloc(&d_N, width*height*sizeof(float));
    cudaMalloc(&d_P, width*height*sizeof(float));
    dim3 block(16, 16);
    dim3 grid((width + 15) / 16, (height + 15) / 16);
    convolution_2D_const_mem_kernel<<<grid, block>>>(d_N, d_P, FILTER_RADIUS, width, height);
    cudaDeviceSynchronize();
    return 0;
}
