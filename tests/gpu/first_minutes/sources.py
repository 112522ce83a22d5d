"""The checks' own kernels."""

from __future__ import annotations

SPIN = "spin.cu"
SPIN_SOURCE = """\
// Keeps every multiprocessor that has a block busy for some time.
extern "C" __global__ void spin(unsigned int *done, unsigned long long wanted_ns)
{
    unsigned long long began, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(began));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - began < wanted_ns);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        done[0] += 1;
    }
}
"""

TENSOR = "tensor.cu"
TENSOR_TILE = 16
TENSOR_SOURCE = """\
#include <mma.h>

// C = A·B by tensor cores: one warp a tile of 16 by 16, halves in, float out.
extern "C" __global__ void tensorProduct(const __half *A, const __half *B, float *C, int N)
{
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    int row = blockIdx.y * 16;
    int col = blockIdx.x * 16;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < N; k += 16) {
        wmma::load_matrix_sync(a, A + row * N + k, N);
        wmma::load_matrix_sync(b, B + k * N + col, N);
        wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(C + row * N + col, sum, N, wmma::mem_row_major);
}
"""

TWICE = "twice.cu"
TWICE_SOURCE = """\
extern "C" __global__ void twice(const float *A, float *B, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        B[i] = 2.0f * A[i];
    }
}
"""

KERNELS = (
    (SPIN, SPIN_SOURCE, "spin", "fp32"),
    (TENSOR, TENSOR_SOURCE, "tensorProduct", "fp16"),
    (TWICE, TWICE_SOURCE, "twice", "fp32"),
)
"""Name, source, entry and precision of each."""
