// Histogram with shared-memory privatization.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define NUM_BINS 256
#define CUDA_CHECK(call)                                                      \
    do {                                                                      \
        cudaError_t err = (call);                                             \
        if (err != cudaSuccess) {                                             \
            fprintf(stderr, "CUDA error %s:%d: %s\n", __FILE__, __LINE__,     \
                    cudaGetErrorString(err));                                 \
            exit(EXIT_FAILURE);                                               \
        }                                                                     \
    } while (0)

__global__ void histogram_kernel(const unsigned char *data, unsigned int *bins, size_t length)
{
    __shared__ unsigned int local[NUM_BINS];
    for (int b = threadIdx.x; b < NUM_BINS; b += blockDim.x)
        local[b] = 0;
    __syncthreads();

    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    size_t stride = (size_t)blockDim.x * gridDim.x;
    while (i < length) {
        atomicAdd(&local[data[i]], 1u);
        i += stride;
    }
    __syncthreads();

    for (int b = threadIdx.x; b < NUM_BINS; b += blockDim.x)
        atomicAdd(&bins[b], local[b]);
}

void histogram_cpu(const unsigned char *data, unsigned int *bins, size_t length)
{
    for (int b = 0; b < NUM_BINS; ++b) bins[b] = 0;
    for (size_t i = 0; i < length; ++i) bins[data[i]]++;
}

int main(int argc, char **argv)
{
    size_t length = argc > 1 ? strtoul(argv[1], nullptr, 10) : 1 << 20;
    unsigned char *h_data = (unsigned char *)malloc(length);
    unsigned int h_bins[NUM_BINS], ref[NUM_BINS];
    for (size_t i = 0; i < length; ++i) h_data[i] = rand() & 0xff;

    unsigned char *d_data;
    unsigned int *d_bins;
    CUDA_CHECK(cudaMalloc(&d_data, length));
    CUDA_CHECK(cudaMalloc(&d_bins, NUM_BINS * sizeof(unsigned int)));
    CUDA_CHECK(cudaMemcpy(d_data, h_data, length, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(d_bins, 0, sizeof(h_bins)));

    int threads = 256;
    int blocks = (length + threads - 1) / threads;
    histogram_kernel<<<blocks, threads>>>(d_data, d_bins, length);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemcpy(h_bins, d_bins, sizeof(h_bins), cudaMemcpyDeviceToHost));
    histogram_cpu(h_data, ref, length);
    for (int b = 0; b < NUM_BINS; ++b)
        if (h_bins[b] != ref[b]) { printf("FAIL at %d\n", b); return 1; }
    printf("PASS\n");
    cudaFree(d_data); cudaFree(d_bins); free(h_data);
    return 0;
}
