#include <stdlib.h>
#include <stdio.h>
#include <time.h>
#define THREADS 512
#define BLOCKS 32
#define NUM_VALS THREADS*BLOCKS

__global__ void bitonic_sort_step(float *dev_values, int j, int k)
{
    unsigned int i, ixj; /* Sorting partners: i and ixj */
    i = threadIdx.x + blockDim.x * blockIdx.x;
    ixj = i ^ j;
    /* The threads with the lowest ids sort the array. */
    if ((ixj) > i) {
        if ((i & k) == 0) {
            /* Sort ascending */
            if (dev_values[i] > dev_values[ixj]) {
                float temp = dev_values[i];
                dev_values[i] = dev_values[ixj];
                dev_values[ixj] = temp;
            }
        }
        if ((i & k) != 0) {
            /* Sort descending */
            if (dev_values[i] < dev_values[ixj]) {
                float temp = dev_values[i];
                dev_values[i] = dev_values[ixj];
                dev_values[ixj] = temp;
            }
        }
    }
}

void bitonic_sort(float *values)
{
    float *dev_values;
    size_t size = NUM_VALS * sizeof(float);
    cudaMalloc((void **)&dev_values, size);
    cudaMemcpy(dev_values, values, size, cudaMemcpyHostToDevice);
    dim3 blocks(BLOCKS, 1);
    dim3 threads(THREADS, 1);
    int j, k;
    for (k = 2; k <= NUM_VALS; k <<= 1) {
        for (j = k >> 1; j > 0; j = j >> 1) {
            bitonic_sort_step<<<blocks, threads>>>(dev_values, j, k);
        }
    }
    cudaMemcpy(values, dev_values, size, cudaMemcpyDeviceToHost);
    cudaFree(dev_values);
}

int main(void)
{
    float *values = (float *)malloc(NUM_VALS * sizeof(float));
    srand(time(NULL));
    for (int i = 0; i < NUM_VALS; ++i) values[i] = (float)rand() / (float)RAND_MAX;
    bitonic_sort(values);
}
