"""Portable CUDA to OpenCL text: what changes, what must not, and what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.compile.prelude_parts import used_parts
from gpuexplorer.compile.rewriter import Rewritten, rewrite
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.workloads.cuda_source import CudaSource, blank

FIRST = '#line 1 "k.cu"\n'


def rewritten(text: str) -> Rewritten:
    return rewrite("k.cu", {"k.cu": text})


def body(text: str) -> str:
    """Return the rewritten text without the line that names the file."""
    result = rewritten(text).source
    assert result.startswith(FIRST)
    return result[len(FIRST) :]


# ---- parameters


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("float *A", "__global float *A"),
        ("const real* __restrict__ A", "__global const real* __restrict__ A"),
        ("real const *A, int N", "__global real const *A, int N"),
        ("float A[], int N", "__global float A[], int N"),
        ("float A[][8], int N", "__global float A[][8], int N"),
        ("float (*A)[8], int N", "__global float (*A)[8], int N"),
        ("size_t n, bool flag", "ulong n, uchar flag"),
        ("const size_t n", "const ulong n"),
        ("unsigned long long n", "unsigned long      n"),
        ("size_t *counts", "__global size_t *counts"),
        ("int /* size_t */ n", "int /* size_t */ n"),
        ("void", "void"),
        ("", ""),
    ],
)
def test_parameters(before: str, after: str) -> None:
    assert body(f"__global__ void k({before}) {{ }}") == f"__global__ void k({after}) {{ }}"


def test_helpers_keep_their_parameters() -> None:
    text = "__device__ float f(const float *p, size_t n) { return p[n]; }"
    assert body(text) == text


def test_kernels_are_found_with_what_the_host_must_know() -> None:
    found = rewritten(
        "// two kernels\n"
        'extern "C" __global__ void __launch_bounds__(256, 2)\n'
        "first(const real *A, bool flag) { __shared__ int x[4]; x[0] = 1; }\n"
        "static __global__ void second(float4 *B, unsigned int n)\n"
        "{ extern __shared__ float s[]; s[0] = gridDim.x; }\n"
    ).kernels
    first, second = found["first"], found["second"]
    assert [(p.name, p.type, p.is_pointer) for p in first.signature.parameters] == [
        ("A", "real", True),
        ("flag", "bool", False),
    ]
    assert first.retyped == {"flag": "uchar"}
    assert first.signature.where == "k.cu:3"
    assert not first.dynamic_shared
    assert not first.takes_grid
    assert [p.type for p in second.signature.parameters] == ["float4", "unsigned int"]
    assert second.dynamic_shared
    assert second.takes_grid
    assert second.splittable


def test_dynamic_shared_memory_becomes_a_parameter() -> None:
    result = body(
        "__global__ void k(real *A) {\n  extern __shared__ __align__(16) unsigned char s[];\n}"
    )
    assert "void k(__global real *A, __local unsigned char *s)" in result
    assert "extern" not in result


def test_a_dynamic_array_may_have_the_name_of_a_keyword() -> None:
    result = body("__global__ void k() { extern __shared__ float local[]; local[0] = 1; }")
    assert "void k(__local float *local_)" in result
    assert "local_[0] = 1;" in result


def test_a_second_dynamic_array_starts_where_the_first_does() -> None:
    result = body(
        "__global__ void k() { extern __shared__ float s[]; extern __shared__ long long t[]; }"
    )
    assert "void k(__local float *s)" in result
    assert "__local long *t = (__local long *)s;" in result


def test_the_grids_size_is_passed_so_that_a_part_of_it_can_run() -> None:
    result = body("__global__ void k(void) { int n = gridDim.x * gridDim.y; }")
    assert "uint gpux_grid_x, uint gpux_grid_y, uint gpux_grid_z)" in result
    assert "void gpux" not in result.replace("(    ", "(").split("{")[0].partition("k(")[2]
    assert "gridDim" not in result


def test_a_helper_that_asks_for_the_grid_cannot_be_split() -> None:
    text = (
        "__device__ int all() { return gridDim.x; }\n"
        "__global__ void k(int *A) { A[0] = all() + gridDim.x; }\n"
    )
    assert not rewritten(text).kernels["k"].splittable


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("long long x = 5LL;", "long      x = 5L;"),
        ("unsigned long long x = 0xFFull;", "unsigned long      x = 0xFFUL;"),
        ("x = 1llu;", "x = 1UL;"),
        ("x = callLL(1);", "x = callLL(1);"),
        ("long  \n long y;", "long  \n      y;"),
    ],
)
def test_64_bit_integers(before: str, after: str) -> None:
    assert body(f"void f() {{ {before} }}") == f"void f() {{ {after} }}"


def test_includes_and_extern_c_are_blanked() -> None:
    result = body('#include <stdio.h>\nextern "C" {\n__global__ void k(int *A) { }\n}\n')
    assert result.split("\n")[0].strip() == ""
    assert "extern" not in result
    assert result.count("{") == result.count("}") == 1


def test_warp_exchanges_mark_the_kernels_that_use_them_through_helpers_too() -> None:
    kernels = rewritten(
        "__device__ float sum(float v) { return __shfl_down_sync(~0u, v, 1); }\n"
        "#define TOTAL(v) sum(v)\n"
        "__global__ void a(float *A) { A[0] = TOTAL(1.0f); }\n"
        "__global__ void b(float *A) { A[0] = 1.0f; }\n"
        "template <class T, int N> __device__ T most(T v) { return __shfl_sync(~0u, v, N); }\n"
        "__global__ void c(float *A) { A[0] = most<float, 3>(1.0f); }\n"
    ).kernels
    assert kernels["a"].uses_warps
    assert kernels["c"].uses_warps
    assert not kernels["b"].uses_warps


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("int local = 1, global = local;", "int local_ = 1, global_ = local_;"),
        ("int half = N / 2; x = half;", "int half_ = N / 2; x = half_;"),
        ("int n = N, half = n / 2;", "int n = N, half_ = n / 2;"),
        ("half x = (half)1.0f; const half *p;", "half x = (half)1.0f; const half *p;"),
        ("int local_sum, my_half;", "int local_sum, my_half;"),
    ],
)
def test_names_that_are_opencls_keywords(before: str, after: str) -> None:
    assert body(f"void f(int N) {{ {before} }}") == f"void f(int N) {{ {after} }}"


# ---- comments, strings, lines


def test_comments_and_strings_survive() -> None:
    text = (
        '__device__ const char *s = "__global__ void k(float *A) // /* \\" long long";\n'
        "// __global__ void k(float *A) \\\n   long long 5LL\n"
        "/* extern __shared__ float s[]; \n */ __device__ char c = '\"', d = '\\'';\n"
        'auto raw = R"x(long long "quoted" )" )x";\n'
        '#define TEXT "long long" // don\'t\n'
        "int big = 1'000'000;\n"
    )
    assert body(text) == text


CHUNKS = st.sampled_from(
    [
        "int x = 1; ", "\n", "// it's a \"comment\"\n", "/* a\nb */", '"a // b \\" c"', "'\\''",
        "'{'", "long long y = 7LL;", "#include <math.h>\n", "\n#define A(x) \\\n  (x)\n", " ",
        "__global__ void k(float *A, size_t n)\n{ A[n] = 1; }\n", 'R"(x\n"y)"', "1'000",
        "extern __shared__\nfloat s[];", "__device__ void f() { }", "é", "\\\n", "\t",
    ]
)  # fmt: skip


@given(st.lists(CHUNKS, max_size=12))
def test_every_line_stays_where_it_is(chunks: list[str]) -> None:
    text = "".join(chunks)
    plain = blank(text)
    assert len(plain) == len(text)
    assert [i for i, c in enumerate(text) if c == "\n"] == [
        i for i, c in enumerate(plain) if c == "\n"
    ]
    try:
        result = rewritten(text).source
    except WorkFailed:
        return
    assert result.count("\n") == text.count("\n") + 1


@given(st.text(alphabet="\"'/*\\\n #abR(){}x1;", max_size=60))
def test_any_text_is_read_without_failing(text: str) -> None:
    assert len(blank(text)) == len(text)
    CudaSource(text).functions  # noqa: B018


@given(st.text(alphabet="ab \n", max_size=30))
def test_text_in_comments_and_strings_is_never_touched(text: str) -> None:
    quoted = text.replace("\n", " ")
    source = f'/* long long {text} */ const char *s = "5LL {quoted}"; // size_t {quoted}\n'
    assert body(source) == source


# ---- refusals

KERNEL = "__global__ void k(float *A, int N)\n{{\n    __shared__ float s[32];\n{}\n}}\n"


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        (
            "if (threadIdx.x > 5) return;\nN = __syncthreads_count(A[0] > 0);",
            "k.cu:4: a return before",
        ),
        (
            "for (int i = 0; i < N; i++)\nif (A[i] > threadIdx.x) return;\n__syncthreads();",
            "k.cu:5: a return before",
        ),
        (
            "if (threadIdx.x == 3) return;\nwhile (A[0] > 0) { __syncthreads(); A[0]--; }",
            "k.cu:4: a return before",
        ),
        ("if (threadIdx.x < 5) { __syncthreads(); }", "inside 'if' that depends"),
        ("int t = threadIdx.x, u = t * 2;\nwhile (u < N) { __syncthreads(); u++; }", "'while'"),
        ("int i = threadIdx.x;\nif (i)\n A[0] = 1;\nelse\n __syncthreads();", "k.cu:5: .*'if'"),
        ("switch (threadIdx.y) { case 0: __syncthreads(); }", "'switch'"),
        (
            "for (int i = 0; i < N; i++) { if (threadIdx.x == i) break; __syncthreads(); }",
            "'break' by some threads",
        ),
        ("do { __syncthreads(); } while (A[threadIdx.x] > 0);", "'do'"),
        ("for (int i = threadIdx.x; i < N; i += 32) { __syncthreads(); }", "'for'"),
        ("int old = atomicAdd(&N, 1);\nif (old == 3) __syncthreads();", "k.cu:5: .*'if'"),
        ("int k;\nfor (k = threadIdx.x; k < N; k++) { __syncthreads(); }", "k.cu:5: .*'for'"),
        (
            "int k;\nfor (k = 0; k < N; k++) { if (A[k] > threadIdx.x) k++; __syncthreads(); }",
            "'for'",
        ),
        (
            "int j = threadIdx.x, k;\n"
            "for (k = 0, j++; k < N; k += j) { __syncthreads(); }\nk = threadIdx.x;",
            "'for'",
        ),
        ("for (int k = 0; k < 9; k++) { if (threadIdx.x) k++; __syncthreads(); }", "'for'"),
        ('asm volatile ("nop;");', "inline assembly"),
        ("#define SYNC __syncthreads()\nif (threadIdx.x == 0) SYNC;", "inside 'if'"),
    ],
)
def test_what_would_go_wrong_silently_is_refused(inside: str, words: str) -> None:
    with pytest.raises(WorkFailed, match=words):
        rewritten(KERNEL.format(inside))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__global__ void k(int N,\n float **A) { }", "k.cu:2: 'A', a pointer to pointers"),
        ("__global__ void k(float *A[4]) { }", "pointer to pointers"),
        ("__global__ void k(float *(*A)[4]) { }", "pointer to pointers"),
        ("__global__ void k(float (*A[4])[4]) { }", "pointer to pointers"),
        (
            "template <int N> __device__ void f() { __shared__ float s[N]; }\n"
            "__global__ void k() { f<4>(); }",
            "k.cu:1: .*outside a kernel",
        ),
        (
            "__device__ void f(float *s) { __syncthreads(); }\n"
            "__global__ void k(float *A) { if (threadIdx.x == 0) f(A); }",
            "k.cu:2: .*inside 'if'",
        ),
        (
            "__device__ void f(float *s) { __syncthreads(); }\n"
            "__global__ void k(float *A) { if (threadIdx.x == 0) return; f(A); }",
            "return before",
        ),
        (
            "__device__ int f(int n) { return n < 2 ? 1 : n * f(n - 1); }\n"
            "__global__ void k(int *A) { A[0] = f(4); }",
            "k.cu:1: 'f', which calls itself",
        ),
    ],
)
def test_what_cannot_be_said_in_opencl_is_refused(text: str, words: str) -> None:
    with pytest.raises(WorkFailed, match=words):
        rewritten(text)


@pytest.mark.parametrize(
    "inside",
    [
        "__syncthreads();\nif (threadIdx.x > 5) return;\nA[0] = 1;",
        "if (N > 5) { __syncthreads(); }",
        "for (int d = blockDim.x / 2; d > 0; d >>= 1) {\n"
        "  if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];\n  __syncthreads();\n}",
        "for (int k = threadIdx.x; k < 4; k++) s[k] = 0;\n"
        "for (int k = 0; k < N; k++) { s[threadIdx.x] += k; __syncthreads(); }",
        "for (int k = 0; k < N; k++) {\n  for (int j = 0; j < 9; j++)\n"
        "    if (threadIdx.x == j) break;\n}\n__syncthreads();",
        "if (threadIdx.x == 0) s[0] = 1;\n__syncthreads();\nif (s[0] > 0) __syncthreads();",
        "auto f = [](float x) { return x * 2; };\n__syncthreads();\nA[0] = f(1);",
        "#pragma unroll\nfor (int i = 0; i < 4; i++) { __syncthreads(); }",
        "// return;\n/* if (threadIdx.x) */ __syncthreads();",
        "do { __syncthreads(); N--; } while (N > 0);\n",
        "int k;\nfor (k = 0; k < 8; k++) { s[threadIdx.x] = k; __syncthreads(); }\n"
        "for (k = threadIdx.x; k < N; k += 32) A[k] = 1;",
        "int j, k = threadIdx.x;\nA[k] = 1;\n"
        "for (j = 0, k = 0; k < 8; k++, j += k) { if (k == N) break; __syncthreads(); }",
    ],
)
def test_what_every_thread_reaches_is_accepted(inside: str) -> None:
    result = rewritten(KERNEL.format(inside))
    assert result.kernels["k"].signature.where == "k.cu:1"


def test_a_refusal_in_an_included_file_names_it() -> None:
    files = {"k.cu": '\n#include "h.cuh"\n', "h.cuh": '\n__device__ void f() { asm(""); }'}
    with pytest.raises(WorkFailed, match=r"^h\.cuh:2: "):
        rewrite("k.cu", files)


def test_where_counts_from_the_line_directive() -> None:
    text = '#line 7 "a.cu"\nint x;\n// #line 3 "b.cu"\nint y;'
    source = CudaSource(text)
    assert source.where(text.index("int x")) == "a.cu:7"
    assert source.where(text.index("int y")) == "a.cu:9"
    assert re.fullmatch(r"a\.cu:9", source.where(len(text) + 10))


def test_plain_c_is_told_where_pointers_point() -> None:
    text = (
        "__global__ void k(const float *A, float *B, int N) {\n"
        "    extern __shared__ float s[];\n"
        "    __shared__ float t[4][5];\n"
        "    float *middle = s + N / 2;\n"
        "    const float *row = &t[N][0], x = 1;\n"
        "    const float4 *wide = (const float4 *)(A + 4 * N);\n"
        "    float *again = middle;\n"
        "    float own[4]; float *mine = own;\n"
        "    for (float *p = B; p < B + N; p++) *p = x * N;\n"
        "}\n"
    )
    plain = rewrite("k.cu", {"k.cu": text}, "c").source
    for expected in (
        "__local float *middle = s + N / 2;",
        "__local const float *row = &t[N][0]",
        "__global const float4 *wide = (__global const float4 *)(A + 4 * N);",
        "__local float *again = middle;",
        " float *mine = own;",
        "for (__global float *p = B;",
        "*p = x * N;",
    ):
        assert expected in plain
    assert "__local float *middle" not in rewritten(text).source


def test_a_header_that_is_not_there_is_set_aside_and_known() -> None:
    found = rewritten('// "mine.h" follows\n#include "mine.h"\n__global__ void k(int *A) { }\n')
    assert found.without == ("mine.h",)
    assert "#include" not in found.source


@pytest.mark.parametrize(
    "line",
    ['#include "cuda_runtime.h"', '#include "cuda_fp16.h"', '#include <x.h> // not "mine.h"'],
)
def test_headers_of_the_toolkit_may_be_quoted(line: str) -> None:
    assert "include" not in body(f"{line}\n__global__ void k(int *A) {{ }}\n")


def test_a_format_that_is_not_known_beforehand_is_refused() -> None:
    kernel = "__global__ void k(int *A) { %s }\n// printf(1)\n"
    for call in (
        'printf("%300000000d", A[0]);',
        'printf("%s", "a");',
        "const char *f; printf(f, A[0]);",
    ):
        with pytest.raises(WorkFailed, match=r"k.cu:1: this printf\(\) cannot run"):
            rewritten(kernel % call)
    rewritten(kernel % "")


def test_what_threads_that_left_would_do_is_not_done() -> None:
    result = body(
        "__global__ void k(float *A, int n) {\n"
        "    int i = threadIdx.x;\n"
        "    if (i >= n) return;\n"
        "    float x = A[i];\n"
        "    __syncthreads();\n"
        "    for (int s = 1; s < 4; s *= 2) {\n"
        "        A[i] += x;\n        __syncthreads();\n    }\n"
        "}\n"
    )
    assert "if (i >= n) { gpux_live = false; }" in result
    assert "float x = gpux_live ? (A[i]) : decltype(gpux_bare(A[i]))();" in result
    assert "\n    __syncthreads();" in result
    assert "{ if (gpux_live) { A[i] += x; } }\n        __syncthreads();" in result


@pytest.mark.parametrize(
    "inside",
    [
        "int done = 0;\nif (threadIdx.x > 5) done = 1;\nif (done) return;\n"
        "N = __syncthreads_count(1);",
        "int k;\nfor (k = 0; k < N; k++) if (A[threadIdx.x] > k) break;\n"
        "if (k == N) __syncthreads();",
        "int k = 0;\nif (threadIdx.x == 3) k++;\nif (k) __syncthreads();",
        "if (threadIdx.x == 3) return;\nint rounds = A[0];\n"
        "for (int r = 0; r < rounds; r++) __syncthreads();",
        "int r = 4;\nif (threadIdx.x == 3) return;\natomicSub(&r, 1);\n"
        "for (; r > 0; r--) __syncthreads();",
    ],
)
def test_what_some_threads_alone_decide_is_not_taken_for_everyones(inside: str) -> None:
    with pytest.raises(WorkFailed, match=r"a return before|depends on the thread"):
        rewritten(KERNEL.format(inside))


def test_a_guard_leaves_an_else_with_its_if() -> None:
    result = body(
        "__global__ void k(float *A, int n, int m) {\n"
        "    if (threadIdx.x >= n) return;\n"
        "    if (m > 2) A[0] = 1; else __syncthreads();\n}\n"
    )
    assert "if (m > 2) { if (gpux_live) { A[0] = 1; } } else __syncthreads();" in result


def test_in_plain_c_they_are_refused_and_so_is_shared_memory_elsewhere() -> None:
    for text, words in (
        ("__global__ void k(int n) { if (threadIdx.x > n) return; __syncthreads(); }", "a return"),
        ("__global__ void k() { { __shared__ float t[2]; t[0] = 1; } }", "nested block"),
        ("__device__ void f() { __shared__ int s; }\n__global__ void k() { f(); }", "outside"),
        ("extern __shared__ int s[];\n__global__ void k() { s[0] = 1; }", "outside a kernel"),
    ):
        with pytest.raises(WorkFailed, match=words):
            rewrite("k.cu", {"k.cu": text}, "c")


@pytest.mark.parametrize(
    ("declared", "splittable"),
    [
        ("__device__ int kept = 0;", False),
        ("__device__ float kept[4];", False),
        ("__device__ const int kept[2] = {1, 2};", True),
        ("__constant__ int kept[2] = {1, 2};", True),
        ("__device__ int helper(int n) { return n; }\n#define kept helper(1)", True),
    ],
)
def test_a_part_of_the_grid_leaves_nothing_behind(declared: str, splittable: bool) -> None:
    made = rewritten(f"{declared}\n__global__ void k(int *A) {{ A[0] = (int)sizeof(kept); }}\n")
    assert made.kernels["k"].splittable is splittable


def test_constants_without_values_are_refused_where_a_kernel_uses_them() -> None:
    text = (
        "__constant__ float filter[2 * 3];\n"
        "__global__ void plain(float *A) { A[0] = 1; }\n"
        "__global__ void filtered(float *A) { A[0] = filter[0]; }\n"
    )
    assert "filter" not in rewrite("k.cu", {"k.cu": text}, entry="plain").source
    with pytest.raises(WorkFailed, match=r"k\.cu:1: .* has no values"):
        rewrite("k.cu", {"k.cu": text}, entry="filtered")


def test_a_source_may_define_what_a_prelude_would() -> None:
    own = "__device__ int __ffsll(long long x) { return 0; }\n"
    assert "__ffsll" in used_parts("x = __ffsll(1);", fp16=True, fp64=True)
    assert used_parts(f"{own}x = __ffsll(1);", fp16=True, fp64=True) == ""


def test_vectors_that_are_chosen_from_are_values() -> None:
    text = (
        "__global__ void k(const float4 *p, float4 *q, int n) {\n"
        "    float4 zero = make_float4(0, 0, 0, 0);\n"
        "    float4 a = n > 1 ? p[n - 1] : zero, b = n > 2 ? zero : q[0];\n"
        "    switch (n) { case 3: q[1] = a; break; }\n"
        "    q[0] = n > 4 ? p[0] : make_float4(a.x, b.x, 0, 0);\n"
        "}\n"
    )
    made = rewrite("k.cu", {"k.cu": text}, entry="k", signed=False).source
    assert (
        "n > 1 ? float4(p[n - 1]) : float4(zero), b = n > 2 ? float4(zero) : float4(q[0]);" in made
    )
    assert "case 3: q[1] = a;" in made and "? float4(p[0]) : make_float4" in made
