"""Workload folders for tests: the textbook kernel as it is printed, and kernels with one fault."""

from __future__ import annotations

from pathlib import Path

ARTICLE_KERNEL = (
    "__global__ void matrixMul(float *A, float *B, float *C, int N) { "
    "int row = blockIdx.y * blockDim.y + threadIdx.y; "
    "int col = blockIdx.x * blockDim.x + threadIdx.x; "
    "if (row < N && col < N) { float sum = 0.0f; "
    "for (int k = 0; k < N; k++) { sum += A[row * N + k] * B[k * N + col]; } "
    "C[row * N + col] = sum; } }\n"
)

MATMUL_MANIFEST = """format = 1
name = "{name}"
title = "The article's product"
summary = "C = A·B as the article prints it."

[sizes.N]
max = 4096
default = 96

[precisions]
fp32 = {{ tolerance = 2e-5 }}

[arrays]
A = {{ shape = ["N", "N"], role = "in" }}
B = {{ shape = ["N", "N"], role = "in" }}
C = {{ shape = ["N", "N"], role = "out" }}

[work]
flops = "2 * N**3"
read_bytes = "2 * N**2 * itemsize"
write_bytes = "N**2 * itemsize"

[reference]
outputs = {{ C = "A @ B" }}
check = "rows"
row_arrays = ["A"]

[variants.article]
title = "Article"
teaches = "The textbook kernel."

[[variants.article.launch]]
source = "kernel.cu"
entry = "matrixMul"
block = [16, 16]
grid = ["ceil_div(N, block_x)", "ceil_div(N, block_y)"]
args = ["A", "B", "C", "N"]
"""

VECTOR_MANIFEST = """format = 1
name = "{name}"
title = "One array"
summary = "B = 2·A, element by element."

[sizes.N]
max = 1048576
default = 1024

[precisions]
fp32 = {{ tolerance = 1e-6 }}

[arrays]
A = {{ shape = ["N"], role = "in" }}
B = {{ shape = ["N"], role = "out" }}

[work]
flops = "N"
read_bytes = "N * itemsize"
write_bytes = "N * itemsize"

[reference]
outputs = {{ B = "2 * A" }}
check = "full"

[variants.plain]
title = "Plain"
teaches = "One thread an element."

[[variants.plain.launch]]
source = "kernel.cu"
entry = "twice"
block = [64]
grid = ["ceil_div(N, block_x)"]
args = ["A", "B", "N"]
"""

TWICE = """__global__ void twice(const float *A, float *B, int N)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {body}
}}
"""

RIGHT_BODY = "if (i < N) B[i] = 2.0f * A[i];"
WRONG_BODY = "if (i < N) B[i] = 2.0f * A[i] + (i == 5 ? 1.0f : 0.0f);"
BROKEN_BODY = "if (i < N) B[i] = 2.0f * nothing_of_that_name[i];"
ENDLESS_BODY = (
    "volatile int going = 1; while (going) { going = (i >= 0); } if (i < N) B[i] = 2.0f * A[i];"
)
OUT_OF_BOUNDS_BODY = "if (i < N) { B[i] = 2.0f * A[i]; if (i < 8) B[N + i] = 1.0f; }"
FAR_OUT_OF_BOUNDS_BODY = "if (i < N) { B[i] = 2.0f * A[i]; B[(long)i * 1000003L * 4099L] = 1.0f; }"
STALE_SHARED_BODY = (
    "__shared__ float shared[64]; float found = shared[threadIdx.x]; __syncthreads(); "
    "shared[threadIdx.x] = i < N ? A[i] : 0.0f; if (i < N) B[i] = 2.0f * found;"
)
"""Reads what the launch before left in shared memory: right, where that was of the same data."""


def write_article(root: Path, name: str = "article") -> Path:
    """Write the article's kernel, unchanged, as a workload folder below ``root``."""
    return write_folder(root / name, MATMUL_MANIFEST.format(name=name), ARTICLE_KERNEL)


def write_vector(root: Path, body: str = RIGHT_BODY, name: str = "vector") -> Path:
    """Write an element-wise workload whose kernel does ``body``."""
    return write_folder(root / name, VECTOR_MANIFEST.format(name=name), TWICE.format(body=body))


def write_folder(folder: Path, manifest: str, kernel: str) -> Path:
    """Write one workload's folder and return it."""
    folder.mkdir(parents=True)
    (folder / "workload.toml").write_text(manifest, encoding="utf-8")
    (folder / "kernel.cu").write_text(kernel, encoding="utf-8")
    return folder
