"""threadIdx and its kin are unsigned, as in CUDA: numbers that wrap there wrap here.

Expressions are made at random, run on the CPU device, and compared with what C says of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpuexplorer.backends.opencl import program
from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from tests.backends.opencl_support import device, made_workload, ready_runner
from tests.support.c_arithmetic import Expression, Maker, Undefined, Value

BLOCK, GRID = (8, 4), (3, 2)
THREADS = BLOCK[0] * BLOCK[1] * GRID[0] * GRID[1]
EXPRESSIONS = 120
TABLE = 4096
each_seed = pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))]
)


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


def leaves() -> dict[str, Value]:
    """Return what each thread's built-in variables and the kernel's own ones hold."""
    by, bx, ty, tx = np.meshgrid(
        np.arange(GRID[1]), np.arange(GRID[0]), np.arange(BLOCK[1]), np.arange(BLOCK[0]),
        indexing="ij",
    )  # fmt: skip
    threads = [axis.reshape(-1).astype(np.uint32) for axis in (tx, ty, bx, by)]
    names = ("threadIdx.x", "threadIdx.y", "blockIdx.x", "blockIdx.y")
    found = {n: Value("unsigned int", v) for n, v in zip(names, threads, strict=True)}
    whole = {
        "blockDim.x": BLOCK[0], "blockDim.y": BLOCK[1], "gridDim.x": GRID[0], "gridDim.y": GRID[1],
    }  # fmt: skip
    found |= {n: Value("unsigned int", np.full(THREADS, v, np.uint32)) for n, v in whole.items()}
    found["a"] = Value("int", np.full(THREADS, -3, np.int32))
    found["b"] = Value("int", np.full(THREADS, 21, np.int32))
    found["u"] = Value("unsigned int", np.full(THREADS, 7, np.uint32))
    found["w"] = Value("long long", np.full(THREADS, -5, np.int64))
    found["i"] = Value("int", (bx * BLOCK[0] + tx).reshape(-1).astype(np.int32))
    found["j"] = Value("unsigned int", (by * BLOCK[1] + ty).reshape(-1).astype(np.uint32))
    return found


def drawn(maker: Maker, ring: bool, depth: int) -> Expression:
    """Return an expression that the language defines; a subscript of the table where a ring."""
    while True:
        try:
            made = maker.ring(depth) if ring else maker.any(depth)
        except Undefined:
            continue
        values = made.value.values
        if "Idx" in made.text and (not ring or (values.min() >= 0 and values.max() < TABLE)):
            return made


KERNEL = """
__global__ void made(const int *A, int *B, int a, int b, unsigned int u, long long w)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int j = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned int *out = (unsigned int *)B;
    unsigned int thread = ((blockIdx.y * gridDim.x + blockIdx.x) * blockDim.y + threadIdx.y)
        * blockDim.x + threadIdx.x;
    unsigned long long found;
{lines}
}}
"""
STORE = """    found = (unsigned long long)({text});
    out[{e} * 2 * {threads} + thread] = (unsigned int)found;
    out[({e} * 2 + 1) * {threads} + thread] = (unsigned int)(found >> 32);"""
ARRAYS = (
    f'A = {{ shape = ["{TABLE}"], role = "in", type = "int" }}\n'
    'B = { shape = ["N"], role = "out", type = "int" }'
)
ARGUMENTS = '["A", "B", { value = "-3" }, { value = "21" }, { value = "7" }, { value = "-5" }]'


def computed(texts: list[str]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the table, and the bits that each expression gave in each thread."""
    lines = [STORE.format(e=e, text=text, threads=THREADS) for e, text in enumerate(texts)]
    workload = made_workload(
        KERNEL.format(lines="\n".join(lines)), arrays=ARRAYS, args=ARGUMENTS,
        block=str(list(BLOCK)), grid=str(list(GRID)), reference="arange(N)",
    )  # fmt: skip
    size = {"N": len(texts) * 2 * THREADS}
    runner, inputs = ready_runner(workload, size=size, precision="fp32", block=BLOCK)
    try:
        runner.launch(1)
        runner.check_guards()
        bits = runner.download(("B",))["B"].view(np.uint32).reshape(len(texts), 2, THREADS)
    finally:
        runner.free()
    return inputs["A"], bits[:, 0].astype(np.uint64) | bits[:, 1].astype(np.uint64) << np.uint64(32)


@pytest.fixture(params=[True, False], ids=["signed subscripts", "arrays of 2 GiB"])
def subscripts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms in which a source is built."""
    if not request.param:
        monkeypatch.setattr(program, "SIGNED_BELOW_B", 0)


@each_seed
def test_expressions_are_worth_what_they_are_in_cuda(seed: int, subscripts: None) -> None:
    maker = Maker(Random(seed), leaves())
    made = [drawn(maker, ring=False, depth=3) for _ in range(EXPRESSIONS)]
    _, got = computed([one.text for one in made])
    for one, bits in zip(made, got, strict=True):
        signed = np.issubdtype(one.value.values.dtype, np.signedinteger)
        wide = one.value.values.astype(np.int64 if signed else np.uint64).astype(np.uint64)
        assert np.array_equal(bits, wide), (one.text, one.value.type)


@each_seed
def test_subscripts_find_what_they_find_in_cuda(seed: int, subscripts: None) -> None:
    maker = Maker(Random(100 + seed), leaves())
    made = [drawn(maker, ring=True, depth=3) for _ in range(EXPRESSIONS)]
    table, got = computed([f"A[{one.text}]" for one in made])
    for one, bits in zip(made, got, strict=True):
        expected = table[one.value.values.astype(np.int64)].astype(np.int64).astype(np.uint64)
        assert np.array_equal(bits, expected), one.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("threadIdx.x - 1 < 10u", lambda x, d: np.isin(x, range(1, 11))),
        ("(threadIdx.x - 5) / 2", lambda x, d: (x - 5) % 2**32 // 2),
        ("(int)threadIdx.x - (int)blockDim.x < 0", lambda x, d: np.ones_like(x)),
        ("threadIdx.x - blockDim.x < 0", lambda x, d: np.zeros_like(x)),
        ("-1 < threadIdx.x", lambda x, d: np.zeros_like(x)),
        ("min(threadIdx.x, 3)", lambda x, d: np.minimum(x, 3)),
        ("max((int)threadIdx.x - 5, 0)", lambda x, d: np.maximum(x - 5, 0)),
        ("max(threadIdx.x - 5, 0)", lambda x, d: (x - 5) % 2**32),
        ("(threadIdx.x ? threadIdx.x : 0) - 1 > 5", lambda x, d: (x - 1) % 2**32 > 5),
        ("(long long)(threadIdx.x - 1)", lambda x, d: (x - 1) % 2**32),
        ("(unsigned long long)((float)(threadIdx.x - 1) > 1e9f)", lambda x, d: x == 0),
        ("blockDim.x * 1000000u * 1000u", lambda x, d: d * 10**9 % 2**32),
        ("threadIdx.x * 1103515245 + 12345", lambda x, d: (x * 1103515245 + 12345) % 2**32),
        (
            "(long long)(int)(threadIdx.x * 1103515245) < 0",
            lambda x, d: x * 1103515245 % 2**32 > 2**31,
        ),
        ("(threadIdx.x + blockIdx.x * blockDim.x - i - 1) / 2", lambda x, d: 0 * x + 2**31 - 1),
        ("blockDim.x * blockIdx.x + threadIdx.x - i - 1 < 5", lambda x, d: 0 * x),
    ],
)
def test_what_wraps_in_cuda_wraps_here(text: str, expected: Any) -> None:
    _, (got,) = computed([text])
    x = leaves()["threadIdx.x"].values.astype(np.int64)
    d = np.full_like(x, BLOCK[0])
    assert np.array_equal(got, np.asarray(expected(x, d)).astype(np.uint64)), text


def test_indices_have_their_types_in_templates_and_deductions() -> None:
    source = """
template <typename T> __device__ bool is_unsigned(T x) { return (T)-1 > (T)0; }
struct Where { unsigned int x, y; };
__global__ void made(const real *A, real *B, int N) {
    auto thread = threadIdx.x;
    thread -= blockDim.x;
    dim3 size = blockDim;
    uint3 place = threadIdx;
    Where where = {threadIdx.x, place.y};
    int narrow[2] = {threadIdx.x, blockDim.x};
    bool right = is_unsigned(threadIdx.x) && is_unsigned(blockDim.y) && is_unsigned(gridDim.z);
    right = right && thread > 1000 && size.x == blockDim.x && size.z == 1 && where.y == 0;
    right = right && narrow[1] == 64;
    switch (place.x) { case 0: right = right && where.x == 0; break; default: break; }
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) B[i] = right ? A[i] : (real)0;
}
"""
    if "Portable" in device().driver:
        pytest.skip("templates need C++ for OpenCL")
    runner, inputs = ready_runner(made_workload(source), size={"N": 256}, block=(64,))
    runner.launch(1)
    runner.check_guards()
    assert np.array_equal(runner.download(("B",))["B"], inputs["A"])
    runner.free()
