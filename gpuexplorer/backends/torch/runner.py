"""One PyTorch call: on the CPU by the host's clock, on a GPU by CUDA events."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, ClassVar

import numpy as np

from gpuexplorer.backends.base import Batch, HostArray, Marks, TimingChoice
from gpuexplorer.backends.caches import FLUSH_FACTOR, cpu_flush
from gpuexplorer.backends.host import Call, LibraryRunner
from gpuexplorer.backends.numpy import check_offered
from gpuexplorer.backends.torch import clock
from gpuexplorer.backends.torch.clock import CudaClock
from gpuexplorer.backends.torch.failures import explain
from gpuexplorer.backends.torch.load import set_as_started, set_flags, set_threads
from gpuexplorer.backends.torch.memory import CountsOnCpu, CountsOnGpu
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.core.operators import Recorded
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.library import CALLS
from gpuexplorer.workloads.plan import ArrayPlan, Plan


class TorchRunner(LibraryRunner):
    """What both kinds of device share."""

    _torch: Any

    def build(self) -> None:
        """Import PyTorch, which takes seconds the first time, and check the call."""
        check_offered(self.plan, "torch")
        try:
            import torch
        except (ImportError, OSError) as error:
            raise WorkFailed(
                f"PyTorch cannot be imported: {error}", remedy="install it again"
            ) from None
        self._torch = torch
        set_as_started(torch)
        set_flags(torch)
        self._start()

    def _start(self) -> None:
        """Choose device and threads."""

    @property
    def _place(self) -> str:
        return self.device.id.partition(":")[2]

    def _empty(self, array: ArrayPlan, dtype: np.dtype[Any]) -> Any:
        torch = self._torch
        try:
            return torch.empty(array.shape, dtype=getattr(torch, dtype.name), device=self._place)
        except RuntimeError as error:  # its own out-of-memory errors are RuntimeErrors
            raise WorkFailed(
                f"{self.device.id} has no {quantity(array.nbytes, 'B')} free for '{array.name}'",
                remedy="choose a smaller size",
                detail=str(error),
            ) from None

    def _write(self, array: Any, values: HostArray) -> None:
        array.copy_(self._torch.from_numpy(values))

    def _read(self, array: Any) -> HostArray:
        values: HostArray = array.cpu().numpy()
        return values.copy() if array.device.type == "cpu" else values

    def _fill_bytes(self, array: Any, byte: int) -> None:
        array.view(-1).view(self._torch.uint8).fill_(byte)

    def launch_plain(self) -> None:
        """Call once and wait."""
        with self._torch.inference_mode():
            super().launch_plain()

    def operators(self, *, shapes: bool) -> Recorded:
        """Record the operators of the call by PyTorch's own profiler."""
        from gpuexplorer.backends.torch.operators import record

        with self._torch.inference_mode():
            return record(
                self._torch,
                self._bound(),
                self._wait,
                prepare=self._reset,
                gpu=self.device.kind == "gpu",
                shapes=shapes,
            )

    def _bind(self, operands: list[Any]) -> Call:
        torch = self._torch
        *inputs, out = operands
        calls: dict[str, Callable[[], Call]] = {
            "matmul": lambda: partial(torch.matmul, *inputs, out=out),
            "add": lambda: partial(torch.add, *inputs[:2], alpha=_factor(inputs), out=out),
            "copy": lambda: partial(out.copy_, inputs[0]),
            "transpose": lambda: partial(out.copy_, inputs[0].t()),
            "sum": lambda: partial(
                torch.sum, inputs[0].view(-1), 0, keepdim=True, dtype=out.dtype, out=out.view(1)
            ),
            "cumsum": lambda: partial(
                torch.cumsum, inputs[0].view(-1), 0, dtype=out.dtype, out=out.view(-1)
            ),
            "spmv": lambda: partial(torch.mv, _rows(torch, inputs), inputs[3], out=out),
        }
        return calls[CALLS[self.plan.library or ""].operation]()


def _rows(torch: Any, inputs: list[Any]) -> Any:
    """Return the matrix of compressed rows that three arrays are, without copying them."""
    starts, columns, values, x = inputs
    with warnings.catch_warnings():  # that it is in beta, and does not look at the numbers
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(starts, columns, values, (len(starts) - 1, len(x)))


def _factor(inputs: list[Any]) -> Any:
    return inputs[2] if len(inputs) > 2 else 1


class TorchCpuRunner(CountsOnCpu, TorchRunner):
    """One call on the CPU."""

    @property
    def flush_words(self) -> str:
        """How the cache is emptied before each launch, in words."""
        return cpu_flush().words

    def _flusher(self) -> Call:
        """Return a sum, which PyTorch's own threads read; see NumPy's for why it only reads."""
        torch = self._torch
        values = torch.ones(cpu_flush().nbytes // 4, dtype=torch.float32)
        return partial(torch.sum, values)

    def __init__(self, plan: Plan, device: DeviceInfo, threads: int) -> None:
        super().__init__(plan, device)
        self._threads = threads

    def _start(self) -> None:
        set_threads(self._torch, self._threads)

    def launch(self, count: int) -> Batch:
        """Call ``count`` times and time each call."""
        with self._torch.inference_mode():
            return super().launch(count)


class TorchCudaRunner(CountsOnGpu, TorchRunner):
    """One call on a GPU, between two events each, queued while the GPU spins."""

    timed_by: ClassVar[str] = clock.TIMED_BY
    clock_step_s: ClassVar[float] = clock.RESOLUTION_S

    _clock: CudaClock
    _l2_B: int = 0

    def _start(self) -> None:
        with self._explained("choosing the device"):
            self._torch.cuda.set_device(self._torch.device(self._place))
            properties = self._torch.cuda.get_device_properties(self._place)
        self._l2_B = int(getattr(properties, "L2_cache_size", 0) or 0)
        self._clock = CudaClock(self._torch, self._place)

    @property
    def flush_words(self) -> str:
        """How the cache is emptied before each launch, in words."""
        return f"{FLUSH_FACTOR} × the {quantity(self._l2_B, 'B')} L2 cache written before each call"

    def _flusher(self) -> Call:
        """Return what writes twice the L2 cache, as the GPU benchmarks in use do."""
        if not self._l2_B:
            raise CannotRunHere(
                f"{self.device.id} does not say how large its L2 cache is, so it cannot be emptied",
                remedy="use --cache hot",
            )
        torch = self._torch
        values = torch.empty(FLUSH_FACTOR * self._l2_B, dtype=torch.uint8, device=self._place)
        return partial(values.zero_)

    def _wait(self) -> None:
        with self._explained("copying"):
            self._torch.cuda.synchronize(self._place)

    def free(self) -> None:
        """Free every array and give the memory back to the device."""
        super().free()
        if hasattr(self, "_torch"):
            self._torch.cuda.empty_cache()

    @property
    def method(self) -> str:
        """How launches are timed and what the caches hold, as it stands beside the number."""
        return f"{self._clock.words}; {self.cache_words}"

    @property
    def resolution_s(self) -> float:
        """The finest difference between two samples that can be told."""
        return self._clock.resolution_s

    def settle(self, first_s: float, earlier: TimingChoice | None = None) -> TimingChoice | None:
        """Time short calls in groups, unless something has to be done between them."""
        apart = self.cold or bool(self.plan.reset)
        return self._clock.settle(first_s, self.launch, earlier, apart=apart)

    def launch(self, count: int) -> Batch:
        """Queue ``count`` calls in stretches and return the device's time for each.

        ``count`` is rounded up to whole groups.
        """
        call = self._bound()
        before = self._prepare if self.cold or self.plan.reset else None
        with self._explained(f"running {self.plan.library}"), self._torch.inference_mode():
            return self._clock.time(call, before, count)[0]

    def launch_alone(self, marks: Marks = nullcontext) -> None:
        """Call once and wait, without a spinning kernel before it."""
        call = self._bound()
        with self._explained(f"running {self.plan.library}"), self._torch.inference_mode():
            self._prepare()
            self._torch.cuda.synchronize(self._place)
            with marks():
                call()
                self._torch.cuda.synchronize(self._place)

    def launch_plain(self) -> None:
        """Call once and wait, without events or a spinning kernel."""
        with self._explained(f"running {self.plan.library}"):
            super().launch_plain()

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        """Turn PyTorch's CUDA errors into ours; after one, the context is of no more use."""
        try:
            yield
        except RuntimeError as error:
            raise explain(self._torch, error, self.device.id, doing) from None
