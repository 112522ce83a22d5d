"""Kernels that number blocks, warps or lines of threads: their blocks and their sizes."""

from __future__ import annotations

import contextlib
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.cuda_source import CudaSource
from gpuexplorer.workloads.declared_symbols import kept_by
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.kernel_manifest import kernel_manifest

THREAD = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
ROW = "for (int c = threadIdx.x; c < cols; c += blockDim.x) b[row * cols + c] = a[row * cols + c];"
HEAD = "__global__ void k(const float *a, float *b, int rows, int cols)"
HOST = "int main() {{ int rows = 50, cols = 70; {host} }}"


def made(body: str, host: str = "", head: str = HEAD, **answers: Any) -> dict[str, Any]:
    text = f"{head} {{ {body} }}\n{HOST.format(host=host) if host else ''}\n"
    return tomllib.loads(
        kernel_manifest(text, Path("mine.cu"), "mine", Answers(unchecked=True, **answers))
    )


def grid_of(manifest: dict[str, Any]) -> list[str]:
    grid: list[str] = manifest["variants"]["k"]["launch"][0]["grid"]
    return grid


@pytest.mark.parametrize(
    ("body", "launch", "grid"),
    [
        (f"int row = blockIdx.x; {ROW}", "rows, 64", ["rows"]),
        (f"int row = blockIdx.x; {ROW}", "dim3(rows), dim3(64)", ["rows"]),
        (f"const int row = (int)blockIdx.x; if (row >= rows) return; {ROW}", "50, 64", ["rows"]),
        (f"for (int row = blockIdx.x; row < rows; row += gridDim.x) {ROW}", "8, 64", ["rows"]),
        (f"int row = blockIdx.y; {ROW}", "dim3(1, rows), 64", ["1", "rows"]),
        ("int row = blockIdx.x, c = threadIdx.x; b[row * cols + c] = a[row * cols + c];",
         "rows, cols", ["rows"]),
        ("int i = blockIdx.x * cols + threadIdx.x; b[i] = a[i];", "rows, cols", ["rows"]),
        (f"int row = blockIdx.x * 4 + threadIdx.y; if (row < rows) {ROW}",
         "(rows + 3) / 4, dim3(32, 4)", ["ceil_div(rows, 4)", "1"]),
        (f"int row = blockIdx.x * blockDim.y + threadIdx.y; if (row < rows) {ROW}",
         "(rows + 3) / 4, dim3(32, 4)", ["ceil_div(rows, block_y)", "1"]),
        (f"{THREAD} int row = i / 32; if (row < rows) {ROW}",
         "rows, 32", ["ceil_div(32 * rows, block_x)"]),
        (f"{THREAD} int row = i >> 5; if (row < rows) {ROW}",
         "rows, 32", ["ceil_div(32 * rows, block_x)"]),
        ("int row = blockIdx.x * (blockDim.x / warpSize) + threadIdx.x / warpSize; "
         f"if (row < rows) {ROW}", "rows, 32", ["ceil_div(rows, max(block_x // 32, 1))"]),
    ],
)  # fmt: skip
def test_a_row_for_each_block_or_warp_has_its_blocks_and_its_shape(
    body: str, launch: str, grid: list[str]
) -> None:
    found = made(body, f"k<<<{launch}>>>(a, b, rows, cols);")
    assert grid_of(found) == grid
    assert list(found["sizes"]) == ["rows", "cols"]
    assert [array["shape"] for array in found["arrays"].values()] == [["rows", "cols"]] * 2


@pytest.mark.parametrize(
    ("body", "grid"),
    [
        (f"{THREAD} if (i < cols) b[blockIdx.x] = a[i];", ["ceil_div(cols, block_x)"]),
        ("int bx = blockIdx.x, tx = threadIdx.x; int i = bx * 16 + tx; if (i < cols) b[i] = a[i];",
         ["ceil_div(cols, block_x)"]),
        ("int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;"
         "if (i < cols) b[i] = a[i];", ["ceil_div(cols, block_x)", "ceil_div(1, block_y)"]),
        ("int i = threadIdx.x; if (i < cols) b[i] = a[i];", ["ceil_div(cols, block_x)"]),
    ],
)  # fmt: skip
def test_numbers_of_threads_are_divided_among_blocks_as_before(body: str, grid: list[str]) -> None:
    assert grid_of(made(body)) == grid


@pytest.mark.parametrize(
    "before",
    ["#define I (blockIdx.x * blockDim.x + threadIdx.x)\n#define NUMBER I\n",
     "__device__ int at() { return blockIdx.x * blockDim.x + threadIdx.x; }\n"
     "#define NUMBER at()\n"],
)  # fmt: skip
def test_helpers_and_macros_may_number_the_threads(before: str) -> None:
    body = "int i = NUMBER; if (i < cols) b[i] = a[i]; if (threadIdx.x == 0) b[blockIdx.x] = 1;"
    head = f"{before}{HEAD}"
    assert grid_of(made(body, "k<<<9, 64>>>(a, b, rows, cols);", head)) == [
        "ceil_div(cols, block_x)"
    ]


def test_one_block_that_goes_through_an_array_stays_one() -> None:
    body = "for (int c = threadIdx.x; c < cols; c += blockDim.x) b[c] = a[c];"
    assert grid_of(made(body, "k<<<1, 64>>>(a, b, rows, cols);")) == ["1"]


def test_rows_that_the_kernel_is_not_told_are_the_hosts_number() -> None:
    head = "__global__ void k(const float *a, float *b, int cols)"
    found = made(f"int row = blockIdx.x; {ROW}", "k<<<rows, 64>>>(a, b, cols);", head)
    assert grid_of(found) == ["50"]
    assert found["arrays"]["b"]["shape"] == [50, "cols"]


def test_without_host_code_a_number_that_the_kernel_does_not_use_counts_its_rows() -> None:
    found = made(f"int row = blockIdx.x; {ROW}")
    assert grid_of(found) == ["rows"] and found["arrays"]["b"]["shape"] == ["rows", "cols"]


def test_a_number_that_the_host_allocates_by_or_an_answer_names_is_a_size() -> None:
    body = f"{THREAD} if (i < cols) b[i] = a[i] * rows;"
    assert list(made(body)["sizes"]) == ["cols"]
    launch = "k<<<1, 64>>>(x, y, rows, cols);"
    found = made(body, f"size_t bytes = rows * sizeof(float); cudaMalloc(&x, bytes); {launch}")
    assert found["sizes"]["rows"]["default"] == 50 and "scalars" not in found
    found = made(body, launch, shapes={"a": ("rows", "cols")})
    assert found["arrays"]["a"]["shape"] == ["rows", "cols"]
    assert found["sizes"]["rows"]["default"] == 50 and "scalars" not in found


@pytest.mark.parametrize(
    "pointers",
    [
        "const float *from = a + blockIdx.x * cols; float *to = b + blockIdx.x * cols;",
        "const float *x = &a[row * cols]; const float *from = x; float *to = (row * cols + b);",
        "float *__restrict__ to = b + row * cols; const float* const from = (a + row * cols);",
    ],
)
def test_a_pointer_to_a_row_is_read_as_the_array(pointers: str) -> None:
    body = (
        f"const int row = blockIdx.x; {pointers} to[0] = *from;"
        "for (int c = threadIdx.x; c < cols; c += blockDim.x) to[c] = from[c];"
    )
    found = made(body, "k<<<rows, 64>>>(a, b, rows, cols);")
    assert {n: (a["shape"], a["role"]) for n, a in found["arrays"].items()} == {
        "a": (["rows", "cols"], "in"),
        "b": (["rows", "cols"], "out"),
    }


def test_a_pointer_that_is_set_to_another_row_is_read_as_each_array() -> None:
    body = (
        "int row = blockIdx.x, c = threadIdx.x; const float *x = a + row * cols;"
        "b[row * cols + c] = x[c]; x = b + row * cols; b[row * cols + c] = 2 * x[c];"
    )
    found = made(body, "k<<<rows, 64>>>(a, b, rows, cols);")
    assert {n: (a["shape"], a["role"]) for n, a in found["arrays"].items()} == {
        "a": (["rows", "cols"], "in"),
        "b": (["rows", "cols"], "inout"),
    }


def test_a_pointer_that_walks_through_an_array_is_not_taken_for_a_row() -> None:
    head = "__global__ void k(float *a, float *b, int rows, int cols)"
    body = f"{THREAD} float *p = a + 1; if (i < cols) b[i] = *p++;"
    with pytest.raises(InputError, match="whether 'a' is read or written cannot be told"):
        made(body, head=head)


def test_a_matrix_for_each_layer_of_blocks_has_as_many_as_the_host_launches() -> None:
    head = "__global__ void k(const float *a, float *b, int batch, int rows, int cols)"
    body = (
        "int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;"
        "int at = blockIdx.z * rows * cols + y * cols + x; if (x < cols && y < rows) b[at] = a[at];"
    )
    launch = "int batch = 3; dim3 g(5, 4, batch); k<<<g, dim3(16, 16)>>>(a, b, batch, rows, cols);"
    found = made(body, launch, head)
    assert grid_of(found) == ["ceil_div(cols, block_x)", "ceil_div(rows, block_y)", "batch"]
    assert found["arrays"]["b"]["shape"] == ["batch", "rows", "cols"]


@pytest.mark.parametrize(
    ("row", "side"),
    [("blockIdx.x * 4 + threadIdx.y", "block_y == 4"),
     ("blockIdx.x * 4 + threadIdx.x / 32", "block_x == 128"),
     ("blockIdx.x * 4 + (threadIdx.x >> 5)", "block_x == 128")],
)  # fmt: skip
def test_rows_of_a_block_by_number_fix_the_side_on_which_they_lie(row: str, side: str) -> None:
    found = made(f"int row = {row}; if (row < rows) {ROW}")
    assert [rule["rule"] for rule in found["variants"]["k"]["constraints"]] == [side]
    assert grid_of(found)[0] == "ceil_div(rows, 4)"


def test_numbers_defined_by_each_other_are_soon_read() -> None:
    chain = " ".join(f"int v{i} = v{i + 1} + v{i + 1} * v{i + 1};" for i in range(40))
    body = f"{chain} int v40 = v0 + blockIdx.x; if (v0 < cols) b[v0] = a[v0];"
    assert made(body, f"{chain.replace('v', 'w')} k<<<w0, 64>>>(a, b, rows, cols);")["sizes"]


def test_files_of_any_shape_are_read_in_time() -> None:
    """Each took from seconds to for ever, or ended in a RecursionError."""
    chain = "".join(f"int v{k + 1} = v{k} + 1; " for k in range(1500))
    table = " + ".join(f"W[{k % 5}][{k // 5 % 5}] * a[i]" for k in range(60))
    counters = "\n".join(f"__device__ int c{k};" for k in range(500))
    counted = "".join(f"atomicAdd(&c{k}, 1); " for k in range(500))
    texts = (
        f"{HEAD} {{ int v0 = blockIdx.x; {chain} if (v1500 < rows) b[v1500] = a[v1500]; }}",
        f"{HEAD} {{ int row = blockIdx.x{' + cols' * 1500}; if (row < rows) b[row] = 0; }}",
        f"{HEAD} {{ {THREAD} if (i < rows) b[i] = a[i]; }}\n"
        f"int main() {{ int v0 = 4; {chain} k<<<v1500, 32>>>(a, b, rows, cols); }}",
        f"__device__ float W[5][5];\n{HEAD} {{ {THREAD} if (i < rows) b[i] = {table}; }}",
        f"{counters}\n{HEAD} {{ {THREAD} if (i < rows) {{ b[i] = a[i]; {counted} }} }}",
    )
    began = time.process_time()
    for text in texts:
        with contextlib.suppress(InputError):
            kernel_manifest(text, Path("mine.cu"), "mine", Answers(unchecked=True))
    assert time.process_time() - began < 60


def test_what_a_kernel_only_reads_is_not_kept() -> None:
    source = CudaSource(
        "__device__ int mask, flag, sum;\n"
        f"{HEAD} {{ if (rows & mask && flag) b[0] = a[0]; atomicAdd(&sum, 1); }}"
    )
    (kernel,) = source.kernels.values()
    assert kept_by(source, kernel) == ["sum"]
