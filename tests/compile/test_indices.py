"""Which unsigned indices are computed with signs, and which are left as they are in CUDA."""

from __future__ import annotations

import time

import pytest

from gpuexplorer.compile import thread_numbers
from gpuexplorer.compile.subscripts import Subscripts
from gpuexplorer.workloads.cuda_source import CudaSource


def applied(text: str, edits: list[tuple[int, str]]) -> str:
    parts, at = [], 0
    for offset, inserted in sorted(edits, key=lambda e: e[0]):
        parts += [text[at:offset], inserted]
        at = offset
    return "".join([*parts, text[at:]])


def subscripts(text: str, *, cpp: bool = True) -> str:
    return applied(text, list(Subscripts(CudaSource(text)).edits(cpp=cpp)))


def numbers(text: str) -> str:
    return applied(text, list(thread_numbers.edits(CudaSource(text))))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A[row * N + threadIdx.x]", "A[gpux_at(row * N + (int)threadIdx.x)]"),
        ("A[(t * 16 + threadIdx.y) * N]", "A[gpux_at((t * 16 + (int)threadIdx.y) * N)]"),
        ("A[b / 2 + threadIdx.x]", "A[gpux_at(b / 2 + (int)threadIdx.x)]"),
        ("A[(row - 1) * N + threadIdx.x]", "A[gpux_at((row - 1) * N + (int)threadIdx.x)]"),
        ("A[m[threadIdx.x] + 3]", "A[m[gpux_at((int)threadIdx.x)] + 3]"),
        ("unsigned i = 0, j = f(1, 2); A[j + k]", "unsigned i = 0, j = f(1, 2); A[gpux_at(j + k)]"),
        ("uint3 t = threadIdx; A[t.x]", "uint3 t = threadIdx; A[gpux_at(t.x)]"),
        ("#define tx threadIdx.x\nA[tx + 1]", "#define tx threadIdx.x\nA[gpux_at(tx + 1)]"),
        # only their own operators make signs no matter
        ("A[threadIdx.x / 32]", "A[gpux_at(threadIdx.x / 32)]"),
        ("A[threadIdx.x & 31]", "A[gpux_at(threadIdx.x & 31)]"),
        ("A[f(threadIdx.x) + 1]", "A[gpux_at(f(threadIdx.x) + 1)]"),
        ("A[(size_t)(f * threadIdx.x)]", "A[gpux_at((size_t)(f * threadIdx.x))]"),
        # a difference shows its sign in global memory, and not in shared memory
        ("A[threadIdx.x - 1]", None),
        ("A[N - (threadIdx.x + 1)]", None),
        (
            "__shared__ float s[9][9]; x = s[threadIdx.y][threadIdx.x - 1];",
            "__shared__ float s[9][9]; x = s[gpux_at((int)threadIdx.y)]"
            "[gpux_at((int)threadIdx.x - 1)];",
        ),
        # no subscripts, and nothing unsigned
        ("const unsigned n = 4; float r[n][n];", None),
        ("unsigned n; auto f = [n](int k) { return k; };", None),
        ("int i = threadIdx.x; A[i * N + 1]", None),
        ('const char *s = "A[threadIdx.x]"; // A[threadIdx.x]', None),
    ],
)  # fmt: skip
def test_subscripts(before: str, after: str | None) -> None:
    assert subscripts(before) == (before if after is None else after)


def test_without_overloaded_functions_built_in_numbers_alone_are_converted() -> None:
    assert subscripts("unsigned i; A[i] = A[threadIdx.x + i];", cpp=False) == (
        "unsigned i; A[i] = A[(int)threadIdx.x + i];"
    )


NUMBER = "(unsigned int)((int)blockIdx.x * (int)blockDim.x + (int)threadIdx.x)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("int i = blockIdx.x * blockDim.x + threadIdx.x;", f"int i = {NUMBER};"),
        ("f(blockIdx.x * blockDim.x + threadIdx.x, 1)", f"f({NUMBER}, 1)"),
        ("if (blockIdx.x * blockDim.x + threadIdx.x < N)", f"if ({NUMBER} < N)"),
        (
            "i = threadIdx.x + blockDim.x * blockIdx.x;",
            "i = (unsigned int)((int)threadIdx.x + (int)blockDim.x * (int)blockIdx.x);",
        ),
        (
            "int y = threadIdx.y; r = blockIdx.y * blockDim.y + y;",
            "int y = threadIdx.y; r = (unsigned int)((int)blockIdx.y * (int)blockDim.y + (int)y);",
        ),
        # not the number, or only a part of something that binds closer
        ("i = blockIdx.x * blockDim.y + threadIdx.x;", None),
        ("i = blockIdx.x * blockDim.x + threadIdx.x * 2;", None),
        ("i = 2 * blockIdx.x * blockDim.x + threadIdx.x;", None),
        ("i = q + blockIdx.x * blockDim.x + threadIdx.x;", None),
        ("i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;", None),
        ("i = -blockIdx.x * blockDim.x + threadIdx.x;", None),
        ("int y = threadIdx.y; y += N; r = blockIdx.y * blockDim.y + y;", None),
        ("void f(int y) { int y = threadIdx.y; r = blockIdx.y * blockDim.y + y; }", None),
        ("i = blockIdx.x * blockDim.x + N;", None),
    ],
)
def test_the_number_of_a_thread_in_the_grid(before: str, after: str | None) -> None:
    assert numbers(before) == (before if after is None else after)


@pytest.mark.parametrize(
    "text",
    [
        "A[threadIdx.x + " * 20_000,
        "A[" + "(" * 200_000 + "threadIdx.x",
        "A[threadIdx.x" + "]" * 200_000,
        "x" * 300_000 + "[threadIdx.x]",
        "unsigned a" + ", a" * 100_000,
        "A[i] = A[threadIdx.x + 1];\n" * 10_000,
    ],
)
def test_any_text_is_read_in_a_moment(text: str) -> None:
    started = time.process_time()
    subscripts(text)
    numbers(text)
    assert time.process_time() - started < 5.0
