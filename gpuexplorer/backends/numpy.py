"""NumPy on the CPU: what a library makes of the same work, without a GPU."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from gpuexplorer.backends.base import Backend, HostArray, Runner
from gpuexplorer.backends.caches import FLUSH_STEP_B, cpu_flush, last_level_cache_B
from gpuexplorer.backends.cpu import (
    cpu_hardware_id,
    cpu_name,
    memory_total_B,
    nominal_clock_Hz,
)
from gpuexplorer.backends.host import Call, LibraryRunner
from gpuexplorer.core.device import DeviceInfo, DeviceLimits, Unavailable
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.workloads.library import CALLS, calls_of
from gpuexplorer.workloads.plan import ArrayPlan, Plan


class NumpyBackend(Backend):
    """The CPU through NumPy.

    Its BLAS takes the number of threads from the environment when NumPy is imported, which the
    engine's start sees to; element-wise calls use one thread whatever it is.
    """

    name: ClassVar[str] = "numpy"

    def discover(self) -> tuple[DeviceInfo, ...] | Unavailable:
        """Return the CPU."""
        return (
            DeviceInfo(
                id="numpy:cpu",
                hardware_id=cpu_hardware_id(),
                name=cpu_name(),
                backend=self.name,
                kind="cpu",
                driver=f"NumPy {np.__version__}, {blas_name()}",
                compute_units=self.threads,
                last_level_cache_B=last_level_cache_B(),
                nominal_clock_Hz=nominal_clock_Hz(),
                limits=DeviceLimits(memory_B=memory_total_B()),
                precisions=("fp64", "fp32", "fp16"),
                libraries=calls_of(self.name),
                threads=self.threads,
            ),
        )

    def runner(self, plan: Plan, device: DeviceInfo) -> Runner:
        """Return a runner for one library call."""
        return NumpyRunner(plan, device)

    def versions(self) -> dict[str, str]:
        """Return NumPy's version."""
        return {"numpy": np.__version__}


def reading_flush() -> Call:
    """Return a product of a matrix and a vector: BLAS reads the matrix with its own threads.

    The matrix is read and never written: lines that were only read leave the cache silently, while
    those written would have to be written back at the next launch's cost.
    """
    columns = FLUSH_STEP_B // 4
    matrix = np.ones((cpu_flush().nbytes // FLUSH_STEP_B, columns), np.float32)
    return partial(
        np.matmul, matrix, np.ones(columns, np.float32), out=np.empty(len(matrix), np.float32)
    )


def blas_name() -> str:
    """Return name and version of the BLAS that NumPy was built with."""
    config: Any = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'no BLAS')} {blas.get('version', '')}".strip()


class NumpyRunner(LibraryRunner):
    """One NumPy call on arrays of its own."""

    def build(self) -> None:
        """Check that the call is one of NumPy's."""
        check_offered(self.plan, "numpy")

    def _empty(self, array: ArrayPlan, dtype: np.dtype[Any]) -> HostArray:
        return np.empty(array.shape, dtype)

    def _write(self, array: HostArray, values: HostArray) -> None:
        np.copyto(array, values)

    def _read(self, array: HostArray) -> HostArray:
        return array.copy()

    def _fill_bytes(self, array: HostArray, byte: int) -> None:
        array.reshape(-1).view(np.uint8).fill(byte)

    @property
    def flush_words(self) -> str:
        """How the cache is emptied before each launch, in words."""
        return cpu_flush().words

    def _flusher(self) -> Call:
        return reading_flush()

    def _bind(self, operands: list[Any]) -> Call:
        *inputs, out = operands
        match CALLS[self.plan.library or ""].operation:
            case "matmul":
                return partial(np.matmul, *inputs, out=out)
            case "add":
                return partial(np.add, *inputs, out=out)
            case "copy":
                return partial(np.copyto, out, inputs[0])
            case "transpose":
                return partial(np.copyto, out, inputs[0].T)
            case "sum":
                return partial(np.sum, inputs[0], dtype=out.dtype, out=out.reshape(()))
            case "cumsum":
                return partial(np.cumsum, inputs[0], dtype=out.dtype, out=out.reshape(-1))
            case "spmv":
                raise AssertionError("NumPy has no sparse matrices")


def check_offered(plan: Plan, backend: str) -> None:
    """Raise CannotRunHere for a plan that is not one of a backend's library calls."""
    if plan.library not in calls_of(backend):
        raise CannotRunHere(
            f"'{plan.config.variant}' is not a library call of {backend}",
            remedy=f"it offers {', '.join(calls_of(backend))}",
        )
