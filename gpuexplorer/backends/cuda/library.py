"""Library calls on a GPU: cuBLAS and CuPy, on the same arrays and timed the same way."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.backends.base import Batch, Marks
from gpuexplorer.backends.cuda.runner import CudaRunner
from gpuexplorer.backends.cuda.session import CudaSession
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.workloads.fills import element_dtype, stored_dtype
from gpuexplorer.workloads.plan import Argument, Plan

SHORT_FLOPS = 1e11
SHORT_B = 8e9
"""A call with at most this much work ends within a second on any GPU, so it may be tried out."""
OPERATIONS = 8
"""Stream operations that one library call is taken to queue."""
_CUBLAS = ("cublas.gemm",)
CUDA_R_16BF = 14
"""cudaDataType_t of bf16 in CUDA's library_types.h; not every CuPy has a name for it."""


class Call(msgspec.Struct, frozen=True):
    """What a library call is made from: CuPy arrays and NumPy scalars, in the manifest's order."""

    operands: list[Any]
    precision: str


def _gemm(call: Call) -> Callable[[], None]:
    """C = A·B, row-major, through cuBLAS: which sees columns, so it is given Cᵀ = Bᵀ·Aᵀ.

    Halves and bf16 are multiplied with float32 accumulation; float32 stays float32 (no TF32).
    """
    from cupy.cuda import cublas, runtime
    from cupy.cuda.device import get_cublas_handle

    a, b, c = call.operands
    if a.ndim != 2 or b.ndim != 2 or c.shape != (a.shape[0], b.shape[1]):
        raise InputError("cublas.gemm multiplies two matrices into a third of the right shape")
    (m, k), n = a.shape, b.shape[1]
    storage = {
        "fp64": runtime.CUDA_R_64F, "fp32": runtime.CUDA_R_32F, "fp16": runtime.CUDA_R_16F,
        "bf16": CUDA_R_16BF,
    }  # fmt: skip
    kind = int(storage[call.precision])
    double = call.precision == "fp64"
    compute = int(cublas.CUBLAS_COMPUTE_64F if double else cublas.CUBLAS_COMPUTE_32F)
    scalars = np.array([1, 0], PRECISIONS[call.precision].accum_dtype)
    one, zero = scalars.ctypes.data, scalars.ctypes.data + scalars.itemsize
    handle = get_cublas_handle()
    normal, algorithm = int(cublas.CUBLAS_OP_N), int(cublas.CUBLAS_GEMM_DEFAULT)
    pointers = (b.data.ptr, a.data.ptr, c.data.ptr)

    def run(_keep: Any = scalars) -> None:  # the pointers ``one`` and ``zero`` do not hold them
        cublas.gemmEx(
            handle, normal, normal, n, m, k, one, pointers[0], kind, n, pointers[1], kind, k,
            zero, pointers[2], kind, n, compute, algorithm,
        )  # fmt: skip

    return run


def _add(call: Call) -> Callable[[], None]:
    """c = a + b, element by element."""
    import cupy

    a, b, c = call.operands
    return functools.partial(cupy.add, a, b, out=c)


def _copy(call: Call) -> Callable[[], None]:
    """The output becomes what the input is."""
    import cupy

    source, out = call.operands
    return functools.partial(cupy.copyto, out, source)


def _transpose(call: Call) -> Callable[[], None]:
    """The output becomes the input with rows and columns exchanged."""
    import cupy

    source, out = call.operands
    return functools.partial(cupy.copyto, out, source.T)


def _sum(call: Call) -> Callable[[], None]:
    """The sum of all elements; halves are added up in float32."""
    import cupy

    x, out = call.operands
    flat = x.reshape(-1)
    accum = np.dtype(PRECISIONS[call.precision].accum_dtype)
    return functools.partial(cupy.sum, flat, dtype=accum, out=out.reshape(()))


def _cumsum(call: Call) -> Callable[[], None]:
    """The sums of all elements up to each; halves are added up in float32."""
    import cupy

    x, out = call.operands
    return functools.partial(cupy.cumsum, x.reshape(-1), dtype=out.dtype, out=out.reshape(-1))


CALLS: dict[str, Callable[[Call], Callable[[], None]]] = {
    "cublas.gemm": _gemm,
    "cupy.add": _add,
    "cupy.copy": _copy,
    "cupy.cumsum": _cumsum,
    "cupy.sum": _sum,
    "cupy.transpose": _transpose,
}
"""Every library call by the name that manifests use."""


@functools.cache
def offered() -> tuple[str, ...]:
    """Return the calls whose library is installed."""
    try:
        from cupy.cuda import cublas  # noqa: F401
    except (ImportError, RuntimeError):
        return tuple(name for name in CALLS if name not in _CUBLAS)
    return tuple(CALLS)


class LibraryRunner(CudaRunner):
    """Runs one library call."""

    def __init__(self, plan: Plan, device: DeviceInfo, session: CudaSession) -> None:
        super().__init__(plan, device, session)
        # A long call gains nothing from being held back until queued, and cannot be tried out.
        self._gated = (
            plan.flops <= SHORT_FLOPS
            and plan.compulsory_read_B + plan.compulsory_write_B <= SHORT_B
        )
        self._call: Callable[[], None] | None = None

    def build(self) -> None:
        """Check that the call is there, and open its library."""
        if self.plan.library not in offered():
            raise CannotRunHere(
                f"{self.device.id} does not offer the library call {self.plan.library}",
                remedy="'gpuexplorer devices' lists what each device offers",
            )
        super().build()
        if self.plan.library in _CUBLAS:
            from cupy.cuda.device import get_cublas_handle

            with self.session.explained("opening cuBLAS"):
                get_cublas_handle()

    def predict_s(self) -> float | None:
        """Return the seconds of one call, tried out; None for one that may be long.

        The trial also tells whether the call ever waits for the device, as one that allocates does:
        then its launches are not held back.
        """
        if not self._gated or self.session.gate is None:
            return None
        self.launch_alone()  # which compiles or loads what is called, and may take many seconds
        with self.session.explained(f"trying out {self.plan.library}"):
            plain = self._timed(1, gated=False)
            self._loaded = True
            self._timed(1, gated=True)
            if self.session.gate.took_late:
                self._gated = False
        return float(plain.seconds[0])

    def launch_alone(self, marks: Marks = nullcontext) -> None:
        """Call once and wait, without events or the gate."""
        with self.session.cupy_stream:
            super().launch_alone(marks)

    def launch_plain(self) -> None:
        """Call once on inputs just uploaded and wait, without events or the gate."""
        with self.session.cupy_stream:
            super().launch_plain()

    def _bind(self) -> None:
        import cupy

        arrays = self._allocated
        precision = self.plan.config.precision

        def operand(argument: Argument) -> Any:
            if argument.kind == "scalar":
                return element_dtype(argument.type, precision).type(argument.value)
            array = self.plan.array(argument.name)
            memory = cupy.cuda.UnownedMemory(
                arrays.pointers[array.name], array.nbytes, arrays, self.session.facts.index
            )
            pointer = cupy.cuda.MemoryPointer(memory, 0)
            return cupy.ndarray(array.shape, stored_dtype(array.type, precision), memptr=pointer)

        operands = [operand(a) for a in self.plan.library_arguments]
        assert self.plan.library is not None
        with self.session.explained(f"preparing {self.plan.library}"), self.session.cupy_stream:
            self._call = CALLS[self.plan.library](Call(operands, precision))

    def _run_once(self) -> None:
        assert self._call is not None
        self._call()

    @property
    def _operations(self) -> int:
        return OPERATIONS

    def _timed(self, count: int, *, gated: bool) -> Batch:
        with self.session.cupy_stream:
            return super()._timed(count, gated=gated)
