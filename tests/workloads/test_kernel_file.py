"""CUDA files of one's own: what their text tells, the manifest it makes, and what is refused."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.cuda_source import CudaSource
from gpuexplorer.workloads.kernel_file import Answers, kernel_manifest
from gpuexplorer.workloads.kernel_text import HostText, KernelText, read_kernel
from gpuexplorer.workloads.loader import kernel_workload, load, own_workload

TEXTBOOK = """\
#include <stdio.h>
#include <cuda_runtime.h>
#define TILE 16

__global__ void matrixMul(const float* A, const float* B, float* C, int N) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < N; k++) sum += A[row * N + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

__global__ void tiled(const float* A, const float* B, float* C, int N) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int t = 0; t < (N + TILE - 1) / TILE; t++) {
        As[ty][tx] = row < N && t * TILE + tx < N ? A[row * N + t * TILE + tx] : 0;
        Bs[ty][tx] = col < N && t * TILE + ty < N ? B[(t * TILE + ty) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < N && col < N) C[row * N + col] = sum;
}

int main() {
    const int N = 192;
    size_t size = N * N * sizeof(float);
    float *h_A = (float*)malloc(size), *d_A, *d_B, *d_C;
    cudaMalloc(&d_A, size); cudaMalloc(&d_B, size); cudaMalloc(&d_C, size);
    dim3 threadsPerBlock(32, 8);
    dim3 numBlocks((N + 31) / 32, (N + 7) / 8);
    matrixMul<<<numBlocks, threadsPerBlock>>>(d_A, d_B, d_C, N);
    cudaDeviceSynchronize();
    printf("%f\\n", h_A[0]);
    return 0;
}
"""
FORMS = """\
__global__ void transpose(const float *in, float *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  out[x * height + y] = in[y * width + x];
}
__global__ void histogram(const unsigned int* data, unsigned int* bins, int n, int nbins) {
  int stride = blockDim.x * gridDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    atomicAdd(&bins[data[i] % nbins], 1u);
}
__global__ void gemm(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                     float *C) {
  const uint x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < M && y < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) tmp += A[x * K + i] * B[i * N + y];
    C[x * N + y] = alpha * tmp + beta * C[x * N + y];
  }
}
__global__ void stencil(const double* a, double* b, int nx, int ny, int nz) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; int j = blockIdx.y*blockDim.y + threadIdx.y;
  int k = blockIdx.z*blockDim.z + threadIdx.z;
  if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1 && k > 0 && k < nz - 1)
    b[(k * ny + j) * nx + i] = a[(k * ny + j) * nx + i - 1] + a[(k * ny + j) * nx + i + 1];
}
__global__ void flat(const float* a, float* b, size_t rows, size_t cols) {
  size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (rows * cols > at) b[at] = a[at];
}
"""


ALPHABET = "__global void*float()[]{}<>,;= +-%/#define\n\r\t\"'aNn0123&|!?:."


def read(text: str, name: str) -> KernelText:
    source = CudaSource(text)
    return read_kernel(source, source.kernels[name], HostText(source))


@pytest.mark.parametrize(
    ("name", "sizes", "others", "uses", "shapes", "reach"),
    [
        ("transpose", ("width", "height"), (), ("in", "out"),
         (("height", "width"), ("width", "height")), {"x": "width", "y": "height"}),
        ("histogram", ("n", "nbins"), (), ("in", "inout"), (("n",), ("nbins",)), {"x": "n"}),
        ("gemm", ("M", "N", "K"), ("alpha", "beta"), ("in", "in", "inout"),
         (("M", "K"), ("K", "N"), ("M", "N")), {"x": "M", "y": "N"}),
        ("stencil", ("nx", "ny", "nz"), (), ("in", "out"), (("nz", "ny", "nx"),) * 2,
         {"x": "nx", "y": "ny", "z": "nz"}),
        ("flat", ("rows", "cols"), (), ("in", "out"), (("rows * cols",),) * 2,
         {"x": "rows * cols"}),
    ],
)  # fmt: skip
def test_a_kernels_text_tells_sizes_shapes_and_what_is_written(
    name: str,
    sizes: tuple[str, ...],
    others: tuple[str, ...],
    uses: tuple[str, ...],
    shapes: tuple[tuple[str, ...], ...],
    reach: dict[str, str],
) -> None:
    found = read(FORMS, name)
    assert (found.sizes, found.others) == (sizes, others)
    assert tuple(found.uses.values()) == uses
    assert tuple(found.shapes.values()) == shapes
    assert found.reach == reach


def made(text: str, tmp_path: Path, answers: Answers, name: str = "mine.cu") -> dict[str, object]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    manifest = kernel_manifest(text, path, "mine", answers)
    kernel_workload(path, manifest)
    return tomllib.loads(manifest)


def test_host_code_tells_size_and_block_and_a_shared_array_fixes_it(tmp_path: Path) -> None:
    found = made(TEXTBOOK, tmp_path, Answers(reference={"": "A @ B"}))
    assert found["sizes"] == {"N": {"min": 1, "max": 2**31 - 1, "default": 192}}
    assert found["work"] == {
        "flops": "2 * N * N * N",
        "read_bytes": "N * N * itemsize + N * N * itemsize",
        "write_bytes": "N * N * itemsize",
    }
    assert found["reference"] == {"outputs": {"C": "A @ B"}, "check": "freivalds"}
    variants = found["variants"]
    assert isinstance(variants, dict)
    naive, tiled = variants["matrixMul"], variants["tiled"]
    assert naive["launch"][0]["block"] == [32, 8] and "constraints" not in naive
    assert tiled["launch"][0]["block"] == [16, 16]
    assert [c["rule"] for c in tiled["constraints"]] == ["block_x == 16", "block_y == 16"]
    assert tiled["launch"][0]["grid"] == ["ceil_div(N, block_x)", "ceil_div(N, block_y)"]


def test_answers_win_over_the_text_and_what_accumulates_is_set_back(tmp_path: Path) -> None:
    answers = Answers(
        reference={"C": "alpha * (A @ B) + beta * C"}, kernel="gemm", sizes={"M": 96},
        block=(8, 8), scalars={"beta": 0.5},
    )  # fmt: skip
    found = made(FORMS, tmp_path, answers)
    sizes, scalars, variants = found["sizes"], found["scalars"], found["variants"]
    assert isinstance(sizes, dict) and isinstance(scalars, dict) and isinstance(variants, dict)
    assert [s["default"] for s in sizes.values()] == [96, 512, 512]
    assert scalars == {
        "alpha": {"type": "real", "value": 2.0},
        "beta": {"type": "real", "value": 0.5},
    }
    assert variants["gemm"]["reset"] == ["C"]
    assert variants["gemm"]["launch"][0]["block"] == [8, 8]


@pytest.mark.parametrize(
    ("text", "answers", "words"),
    [
        ("int main() { return 0; }", Answers(unchecked=True), "no __global__ function here"),
        ("", Answers(unchecked=True), "no __global__ function here"),
        ("template <int N> __global__ void f(float* a) { a[0] = N; }", Answers(unchecked=True),
         "only template kernels here"),
        (TEXTBOOK, Answers(unchecked=True, kernel="matmul"), "no kernel 'matmul'"),
        (TEXTBOOK, Answers(reference={"D": "A @ B"}), "has no output 'D'"),
        (TEXTBOOK, Answers(reference={"": "A @ D"}), "uses 'D'"),
        (TEXTBOOK, Answers(unchecked=True, scalars={"alpha": 1.0}), "has no number 'alpha'"),
        (TEXTBOOK, Answers(unchecked=True, sizes={"N": 0}), "the size N = 0 is out of range"),
        ("__global__ void f(float* a) { a[threadIdx.x]++; }", Answers(unchecked=True),
         "mine.cu:1: how large 'a' is cannot be told"),
        ("__global__ void f(char* a, int n) { if (threadIdx.x < n) a[threadIdx.x] = 1; }",
         Answers(unchecked=True), "mine.cu:1: arrays of 'char' cannot be filled here"),
        ("struct S { int a; };\n__global__ void f(float* a, int n, S s)\n"
         "{ int i = threadIdx.x; if (i < n) a[i] = s.a; }", Answers(unchecked=True),
         "mine.cu:2: a 'S' by value cannot be handed over"),
        ("__global__ void f(float* a, int n) { int i = threadIdx.x; if (i < n) *(a + i) = 1; }",
         Answers(unchecked=True), "whether 'a' is read or written cannot be told"),
    ],
)  # fmt: skip
def test_what_cannot_be_known_is_asked_in_one_sentence(
    text: str, answers: Answers, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        made(text, tmp_path, answers)
    assert words in str(caught.value)
    assert caught.value.remedy or "D" in words


@given(st.text(alphabet=ALPHABET, max_size=400))
@settings(max_examples=300, deadline=None)
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    head = "__global__ void f(float* a, int n) { int i = threadIdx.x; if (i < n) a[i] = 1; }\n"
    for whole in (text, head + text, head.replace("a[i] = 1", text)):
        try:
            manifest = kernel_manifest(whole, Path("mine.cu"), "mine", Answers(unchecked=True))
        except InputError:
            continue
        tomllib.loads(manifest)


def test_many_kernels_are_read_in_one_pass() -> None:
    one = "__global__ void f{i}(float* a, int n) {{ int t = threadIdx.x; if (t < n) a[t] = 1; }}\n"
    text = "".join(one.format(i=i) for i in range(2000))
    found = kernel_manifest(text, Path("mine.cu"), "mine", Answers(unchecked=True))
    assert len(tomllib.loads(found)["variants"]) == 2000


def test_a_file_with_its_manifest_is_a_root_of_workloads(tmp_path: Path) -> None:
    path = tmp_path / "my kernel.cu"
    path.write_text('#include "sizes.h"\n' + TEXTBOOK, encoding="utf-8")
    (tmp_path / "sizes.h").write_text('#include "missing.h"\n#define WIDE 1\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"--reference none"):
        own_workload(path)
    text = kernel_manifest(TEXTBOOK, path, "my-kernel", Answers(unchecked=True))
    path.with_suffix(".toml").write_text(text, encoding="utf-8")
    workload = load([path])["my-kernel"]
    assert set(workload.source.files) == {"my kernel.cu", "sizes.h"}
    assert workload.reference_of("matrixMul").unchecked
