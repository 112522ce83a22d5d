"""What a driver's compiler says is told at the line and column that the user wrote."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpuexplorer.backends.opencl.build_log import clean_log, first_error
from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.compile.rewriter import rewrite
from gpuexplorer.core.errors import WorkFailed
from tests.backends.opencl_support import device, made_workload, ready_runner


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


LINES = [
    "    if (threadIdx.x < N) B[blockIdx.x * 16 + threadIdx.x] = A[threadIdx.x] + wrong;",
    "    long long far = 5LL * gridDim.x + wrong;",
    "\tint local = 1, global = local + wrong; B[local] = global;",
    "    extern __shared__ float s[]; s[threadIdx.x] = wrong;",
    "    unsigned int i = threadIdx.x, j = i; B[i * N + j] = A[i] + A[j] + wrong;",
    "    B[blockIdx.x * blockDim.x + threadIdx.x] = __sinf(wrong);",
    "wrong;",
    "    /* é */ B[0] = wrong;",
    "    using std::max; B[0] = std::sqrt(A[0]) + std::max<float>(A[1], 2) + max(wrong, 1);",
]


@pytest.mark.parametrize("line", LINES)
def test_the_line_is_the_users_and_the_mark_stands_below_what_is_wrong(line: str) -> None:
    source = f"__global__ void made(const float *A, float *B, int N)\n{{\n{line}\n}}\n"
    with pytest.raises(WorkFailed, match=r"made\.cu:3: .*'wrong'") as caught:
        ready_runner(made_workload(source), precision="fp32")
    said, quoted, mark = caught.value.detail.splitlines()[:3]
    at = line.index("wrong")
    assert said.startswith(f"made.cu:3:{at + 1}: error:")
    assert quoted == f"    3 | {line}"
    assert mark.partition("| ")[2].expandtabs(8).index("^") == len(line[:at].expandtabs(8))


def test_an_included_file_and_a_parameter_that_was_added_to() -> None:
    files = {"helper.cuh": "\n__device__ size_t f(size_t n) { return n + oops; }\n"}
    kernel = "__global__ void made(const float *A, float *B, size_t N) { B[0] = f(N); }"
    source = f'#include "helper.cuh"\n{kernel}\n'
    with pytest.raises(WorkFailed, match=r"helper\.cuh:2: ") as caught:
        ready_runner(made_workload(source, files=files), precision="fp32")
    assert caught.value.detail.splitlines()[1].endswith(files["helper.cuh"].strip())
    assert "helper.cuh:2:44: error" in caught.value.detail


def test_names_are_the_users() -> None:
    source = "__global__ void k(float3 *p, int local) { p[0] = p[1] + local; x = gridDim.y; }\n"
    origin = rewrite("k.cu", {"k.cu": source}).origin
    log = (
        "prelude:3:1: note: candidate is here\n    3 | #define x\n      | ^\n"
        "k.cu:1:1: error: invalid operands ('__global gpux_float3' and '__private int') of "
        "local_ and gpux_grid\n    1 | gpux_at(x)\n      | ~~^\n"
        "k.cu:1:2: error: changes address space from __local to __global\n1 error generated.\n"
    )
    said = clean_log(log, origin)
    assert "('float3' and 'int') of local and gridDim" in said
    assert "from __local to __global" in said
    assert "gpux" not in said
    assert "prelude" not in said
    error = first_error(said)
    assert error is not None
    assert error.where == "k.cu:1"


def test_every_offset_of_a_rewritten_text_comes_from_somewhere() -> None:
    source = (
        "__global__ void k(const float *A, size_t n, bool b)\n{\n"
        "    extern __shared__ float local[]; long long x = 7LL;\n"
        "    local[threadIdx.x] = A[blockIdx.x * blockDim.x + threadIdx.x] + gridDim.x;\n}\n"
    )
    made = rewrite("k.cu", {"k.cu": source})
    for number, (new, old) in enumerate(
        zip(made.source.split("\n")[1:], source.split("\n"), strict=True), start=1
    ):
        columns = []
        for column in range(1, len(new) + 2):
            place = made.origin.place("k.cu", number, column)
            assert place is not None
            assert place.text == old
            columns.append(place.column)
        assert columns == sorted(columns)
        assert columns[-1] <= len(old) + 1
    assert made.origin.place("prelude", 1, 1) is None


KERNEL = "__global__ void made(const float *A, float *B, int N) { B[0] = %s; }\n"
OTHERS = {
    "an overload": (
        "__device__ float sq(float x) { return x * x; }\n"
        "__device__ float2 sq(float2 v) { return make_float2(sq(v.x), sq(v.y)); }\n",
        "sq(make_float2(A[0], 2.0f)).y",
    ),
    "CUDA's own": (
        "__device__ float2 exp(float2 v) { return make_float2(exp(v.x), exp(v.y)); }\n",
        "exp(make_float2(A[0], A[1])).x",
    ),
    "a method": (
        "struct Stack { int n; __device__ void push(int v) { n += v; } };\n"
        "__device__ void push(Stack *s, int v) { s->push(v); }\n"
        "__device__ int pushed(int v) { Stack s; s.n = 1; push(&s, v); return s.n; }\n",
        "pushed(N)",
    ),
    "one of a namespace": (
        "namespace inner { __device__ int twice(int v) { return 2 * v; } }\n"
        "__device__ int twice(int v) { return inner::twice(v); }\n",
        "twice(N)",
    ),
}
CALLERS = {
    "one that another has the name of": (
        "__device__ float f(float x) { return x; }\n"
        "__device__ int f(int n) { return n < 2 ? 1 : f(n - 1) + f(n - 2); }\n",
        "f(N)",
        "'f'",
    ),
    "two that call each other": (
        "__device__ int f(int n);\n"
        "__device__ int g(int n) { return n < 2 ? 1 : n * f(n - 1); }\n"
        "__device__ int f(int n) { return n < 2 ? 1 : n * g(n - 1); }\n",
        "f(N)",
        "'[fg]'",
    ),
    "a method": (
        "struct Tree { int n; __device__ int sum(int d) {"
        " return d < 2 ? n : this->sum(d - 1) + this->sum(d - 2); } };\n"
        "__device__ int sum(int d) { Tree t; t.n = d; return t.sum(d); }\n",
        "sum(N)",
        "'sum'",
    ),
}


@pytest.mark.skipif("Portable" in device().driver, reason="plain C has no overloads")
@pytest.mark.parametrize("called", OTHERS)
def test_what_calls_another_of_its_name_does_not_call_itself(called: str) -> None:
    helpers, value = OTHERS[called]
    runner, _ = ready_runner(made_workload(helpers + KERNEL % value), precision="fp32")
    runner.free()


@pytest.mark.skipif("Portable" in device().driver, reason="plain C has no overloads")
@pytest.mark.parametrize("caller", CALLERS)
def test_what_calls_itself_is_refused_where_the_compiler_alone_sees_it(caller: str) -> None:
    helpers, value, name = CALLERS[caller]
    words = rf"^made\.cu:\d: {name}, which calls itself, cannot run through OpenCL"
    with pytest.raises(WorkFailed, match=words):
        ready_runner(made_workload(helpers + KERNEL % value), precision="fp32")
