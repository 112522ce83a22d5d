"""cuBLAS sees columns where the arrays hold rows: what it is told must come out as A·B."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpuexplorer.backends.cuda.library import CALLS, Call, LibraryRunner
from gpuexplorer.core import bfloat
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.precision import PRECISIONS
from tests.backends.test_cuda_runner import DEVICE, make_plan, open_fake
from tests.signatures import all_of

KINDS = {"bf16": 14, "fp16": 2, "fp32": 0, "fp64": 1}
"""cudaDataType_t of R_16BF, R_16F, R_32F and R_64F."""
COMPUTE = {"bf16": 68, "fp16": 68, "fp32": 68, "fp64": 70}
"""cublasComputeType_t: 32F for numbers of 16 bits and floats, 64F for doubles."""


class Array:
    """A host array that has CuPy's ``data.ptr``."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values
        self.shape, self.ndim = values.shape, values.ndim
        self.data = SimpleNamespace(ptr=values.ctypes.data)


def on_device(values: np.ndarray[Any, Any], precision: str) -> np.ndarray[Any, Any]:
    """Return numbers as a device holds them."""
    if precision == "bf16":
        return bfloat.packed(values)
    return values.astype(PRECISIONS[precision].dtype)


def columns(address: int, dtype: Any, leading: int, rows: int, cols: int) -> Any:
    """Return the matrix that BLAS sees: column-major, ``leading`` elements from one to the next."""
    size = np.dtype(dtype).itemsize * leading * cols
    flat = np.frombuffer((ctypes.c_char * size).from_address(address), dtype)
    return flat.reshape(cols, leading).T[:rows]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Stand in for cuBLAS with its definition: C := alpha·A·B + beta·C, column-major."""
    seen: list[tuple[int, int]] = []

    def gemm_ex(
        handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int, a: int,
        a_kind: int, lda: int, b: int, b_kind: int, ldb: int, beta: int, c: int, c_kind: int,
        ldc: int, compute: int, algorithm: int,
    ) -> None:  # fmt: skip
        assert (handle, transa, transb, algorithm) == (5, 0, 0, -1)
        assert a_kind == b_kind == c_kind
        assert lda >= max(1, m)
        assert ldb >= max(1, k)
        assert ldc >= max(1, m)
        dtype = {14: np.uint16, 2: np.float16, 0: np.float32, 1: np.float64}[a_kind]
        scalar = ctypes.c_double if compute == 70 else ctypes.c_float
        left, right = columns(a, dtype, lda, m, k), columns(b, dtype, ldb, k, n)
        out = columns(c, dtype, ldc, m, n)
        if a_kind == KINDS["bf16"]:
            assert (scalar.from_address(alpha).value, scalar.from_address(beta).value) == (1, 0)
            out[...] = bfloat.packed(bfloat.unpacked(left) @ bfloat.unpacked(right))
            seen.append((a_kind, compute))
            return
        product = left.astype(np.float64) @ right.astype(np.float64)
        factor, old = scalar.from_address(alpha).value, scalar.from_address(beta).value
        out[...] = factor * product + (old * out if old else 0)
        seen.append((a_kind, compute))

    cupy = all_of("cupy")[-1]
    functions = cupy.namespace("cublas", {"gemmEx": gemm_ex})
    cublas = SimpleNamespace(**vars(functions), **vars(cupy.constants("cublas")))
    runtime = cupy.constants("runtime")
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "cupy.cuda", SimpleNamespace(cublas=cublas, runtime=runtime))
    device = cupy.namespace("device", {"get_cublas_handle": lambda: 5})
    monkeypatch.setitem(sys.modules, "cupy.cuda.device", device)
    return seen


@pytest.mark.parametrize("precision", ["bf16", "fp16", "fp32", "fp64"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 4, 4), (3, 5, 7), (8, 1, 2)])
def test_gemm_multiplies_row_major_matrices(
    calls: list[tuple[int, int]], precision: str, shape: tuple[int, int, int]
) -> None:
    m, k, n = shape
    generator = np.random.default_rng(0)
    a, b = generator.integers(-4, 5, (m, k)), generator.integers(-4, 5, (k, n))
    one, other, out = (on_device(values, precision) for values in (a, b, np.full((m, n), np.nan)))
    CALLS["cublas.gemm"](Call([Array(one), Array(other), Array(out)], precision))()
    np.testing.assert_array_equal(out, on_device(a @ b, precision))
    assert calls == [(KINDS[precision], COMPUTE[precision])]


def test_shapes_that_do_not_multiply_are_refused(calls: list[tuple[int, int]]) -> None:
    a, b, c = (Array(np.zeros(s)) for s in ((2, 3), (3, 4), (4, 2)))
    with pytest.raises(InputError, match="right shape"):
        CALLS["cublas.gemm"](Call([a, b, c], "fp64"))
    assert calls == []


def test_every_way_to_launch_queues_a_call_on_the_stream_that_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LibraryRunner, "_bind", lambda self: None)
    _, session = open_fake()
    runner = LibraryRunner(make_plan(), DEVICE, session)
    runner.allocate()
    seen: list[bool] = []
    runner._call = lambda: seen.append(session.cupy_stream.is_current)
    runner.launch(1)
    runner.launch(3)
    runner.launch_alone()
    runner.launch_untimed()
    runner.launch_plain()
    assert seen == [True] * 7
    assert not session.cupy_stream.is_current


def test_what_the_first_call_compiles_or_loads_is_not_taken_for_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The device waits meanwhile, between the two events."""
    monkeypatch.setattr(LibraryRunner, "_bind", lambda self: None)
    fake, session = open_fake()
    fake.kernels["call"] = (0, lambda call: None)
    function = session.load(b"library", "call")
    runner = LibraryRunner(make_plan(), DEVICE, session)
    runner.allocate()
    calls = 0

    def call() -> None:
        nonlocal calls
        calls += 1
        fake.host_works(25.0 if calls == 1 else 0.0)
        session.api.driver.launchKernel(
            function.function, 1, 1, 1, 1, 1, 1, 0, session.stream, 0, 0
        )

    runner._call = call
    assert runner.predict_s() == pytest.approx(1e-5)
    assert session.gate is not None and not session.gate.took_late


@pytest.mark.parametrize("version", all_of("cupy"), ids=lambda one: one.version)
def test_a_scan_adds_halves_up_as_floats_into_the_output(
    monkeypatch: pytest.MonkeyPatch, version: Any
) -> None:
    cupy = version.namespace("cupy", {"cumsum": lambda *a, **k: np.cumsum(*a, **k)})
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    x = np.full((4, 1024), 1.0, np.float16)
    out = np.zeros((4, 1024), np.float32)
    CALLS["cupy.cumsum"](Call([x, out], "fp16"))()
    np.testing.assert_array_equal(out.reshape(-1), np.arange(1, 4097))
