"""One PyTorch call: on the CPU by the host's clock, on a GPU by CUDA events."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from gpuexplorer.backends.base import Batch, HostArray
from gpuexplorer.backends.caches import FLUSH_FACTOR, cpu_flush
from gpuexplorer.backends.cuda.timing import GROUP_S, short_launch_s
from gpuexplorer.backends.host import Call, LibraryRunner
from gpuexplorer.backends.numpy import check_offered
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, DeviceLost, WorkFailed
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.library import CALLS
from gpuexplorer.workloads.plan import ArrayPlan, Plan

MAX_SPIN_S = 0.030
"""Longest time a GPU spins so that calls queue up behind it."""
GROUPED = "CUDA events around {} calls at a time queued behind a spinning kernel, their mean"
MAX_QUEUED = 128
"""Calls queued at once: below the thousand or so operations at which the host has to wait."""


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
        }
        return calls[CALLS[self.plan.library or ""].operation]()


def _factor(inputs: list[Any]) -> Any:
    return inputs[2] if len(inputs) > 2 else 1


class TorchCpuRunner(TorchRunner):
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
        self._torch.set_num_threads(self._threads)

    def launch(self, count: int) -> Batch:
        """Call ``count`` times and time each call."""
        with self._torch.inference_mode():
            return super().launch(count)


class TorchCudaRunner(TorchRunner):
    """One call on a GPU, between two events each, queued while the GPU spins."""

    timed_by: ClassVar[str] = "CUDA events around each call, queued behind a spinning kernel"
    clock_step_s: ClassVar[float] = 0.5e-6

    _queue_s: float = 2e-5
    """What queueing one call takes the host, as last seen."""
    _spin_Hz: float = 1e9
    _l2_B: int = 0
    _group: int = 1
    """Calls between two events; a sample is their mean."""

    def _start(self) -> None:
        with self._explained("choosing the device"):
            self._torch.cuda.set_device(self._torch.device(self._place))
            properties = self._torch.cuda.get_device_properties(self._place)
        self._l2_B = int(getattr(properties, "L2_cache_size", 0) or 0)
        self._spin_Hz = float(getattr(properties, "clock_rate", 0) or 2e6) * 1e3

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
        words = GROUPED.format(self._group) if self._group > 1 else self.timed_by
        return f"{words}; {self.cache_words}"

    @property
    def resolution_s(self) -> float:
        """The finest difference between two samples that can be told."""
        return self.clock_step_s / self._group

    def settle(self, first_s: float) -> None:
        """Time short calls in groups, unless something has to be done between them."""
        self._group = 1
        if self.cold or self.plan.reset:
            return
        call_s = short_launch_s(first_s, self.launch)
        if call_s is not None:
            self._group = min(math.ceil(GROUP_S / max(call_s, 1e-7)), MAX_QUEUED)

    def launch(self, count: int) -> Batch:
        """Queue ``count`` calls in stretches and return the device's time for each.

        ``count`` is rounded up to whole groups.
        """
        start_ns = self.now_ns()
        samples, together = -(-count // self._group), MAX_QUEUED // self._group
        with self._explained(f"running {self.plan.library}"), self._torch.inference_mode():
            parts = [
                self._stretch(min(together, samples - done)) for done in range(0, samples, together)
            ]
        return Batch(start_ns=start_ns, seconds=np.concatenate(parts), launches=self._group)

    def launch_alone(self) -> None:
        """Call once and wait, without a spinning kernel before it."""
        with self._explained(f"running {self.plan.library}"), self._torch.inference_mode():
            self._prepare()
            self._bound()()
            self._torch.cuda.synchronize(self._place)

    def _stretch(self, samples: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Time calls that are all queued before the first runs, as far as the spin lasts."""
        cuda = self._torch.cuda
        call, count = self._bound(), samples * self._group
        events = [
            (cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)) for _ in range(samples)
        ]
        last = cuda.Event(blocking=True)
        spin_s = min(MAX_SPIN_S, 1.5 * self._queue_s * count)
        cuda._sleep(math.ceil(spin_s * self._spin_Hz))
        started = perf_counter()
        for before, after in events:
            self._prepare()
            before.record()
            for _ in range(self._group):
                call()
            after.record()
        self._queue_s = (perf_counter() - started) / count
        last.record()
        last.synchronize()
        whole_ms = np.array([before.elapsed_time(after) for before, after in events])
        return whole_ms * (1e-3 / self._group)

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        """Turn PyTorch's CUDA errors into ours; after one, the context is of no more use."""
        try:
            yield
        except RuntimeError as error:
            if isinstance(error, self._torch.OutOfMemoryError):
                raise WorkFailed(
                    f"{self.device.id} ran out of memory while {doing}",
                    remedy="choose a smaller size",
                    detail=str(error),
                ) from None
            raise DeviceLost(
                f"{self.device.id} failed while {doing}: {str(error).splitlines()[0]}",
                remedy="the engine starts afresh",
                detail=str(error),
            ) from None
