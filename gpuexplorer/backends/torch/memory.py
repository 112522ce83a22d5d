"""PyTorch's own count of the memory that arrays and launches hold at most.

On a GPU the caching allocator keeps the count: ``torch.cuda.max_memory_allocated``. On a CPU no
such count exists, but ``torch.profiler`` reports every allocation and every release with its size,
among them those of oneDNN, which takes its scratch memory from the same allocator. So a run's
arrays are made once more under the profiler, two launches follow, and the largest running sum is
the peak. Unlike the process's resident set this is exact: it knows nothing of Python, of threads'
stacks, of pages that the C library keeps, or of the host's own copies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from gpuexplorer.backends.base import HostArray, Runner

GPU_COUNTER = "torch.cuda.max_memory_allocated"
GRAPH_COUNTER = "torch.cuda.max_memory_reserved"
CPU_COUNTER = "torch.profiler (allocations summed)"
LAUNCHES = "gpuexplorer launches"
"""The stretch of the profile that counts: making arrays may take more for a moment."""
COUNTED_LAUNCHES = 2
"""The first makes what stays, such as gradients; the second shows what is there beside that."""
GRAPHED = ("reduce-overhead", "max-autotune")
"""The values of the switch ``compile`` that record CUDA graphs."""

Work = Callable[[], object]


class CountsOnCpu(Runner):
    """A runner on the CPU whose memory PyTorch counts."""

    counts_memory: ClassVar[bool] = True
    _torch: Any

    def peak_memory(self, inputs: Mapping[str, HostArray]) -> tuple[float, str]:
        """Make the arrays once more under the profiler, launch, and return the largest sum."""
        self.free()

        def fill() -> None:
            self.allocate()
            self.upload(inputs)

        return peak_on_cpu(self._torch, fill, self.launch_untimed)


class CountsOnGpu(Runner):
    """A runner on an NVIDIA GPU whose memory PyTorch counts."""

    counts_memory: ClassVar[bool] = True
    _torch: Any

    def peak_memory(self, inputs: Mapping[str, HostArray]) -> tuple[float, str]:
        """Launch on fresh arrays and return the allocator's own peak."""
        place = self.device.id.partition(":")[2]
        self.free()
        self.allocate()
        self.upload(inputs)
        graphs = (
            bool(self.plan.switches.get("cuda_graph"))
            or self.plan.switches.get("compile") in GRAPHED
        )
        return peak_on_gpu(self._torch, place, self.launch_untimed, graphs=graphs)


def peak_on_cpu(torch: Any, fill: Work, launch: Work) -> tuple[float, str]:
    """Return the most that what ``fill`` makes and ``launch`` takes hold together.

    Nothing of it may be there before: the profiler does not see what was allocated earlier.
    """
    profiler = torch.profiler
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], profile_memory=True) as seen:
        fill()
        with profiler.record_function(LAUNCHES):
            for _ in range(COUNTED_LAUNCHES):
                launch()
    events = seen.profiler.kineto_results.events()
    began_ns = next(e.start_ns() for e in events if e.name() == LAUNCHES)
    changes = sorted(
        ((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]"),
        key=lambda change: change[0],
    )
    return peak_of(changes, began_ns), CPU_COUNTER


def peak_of(changes: list[tuple[int, int]], began_ns: int) -> float:
    """Return the largest sum of ``(time in ns, bytes)`` in order, from ``began_ns`` on."""
    held = peak = 0
    for time_ns, nbytes in changes:
        if time_ns >= began_ns:  # what was there at the beginning counts, too
            peak = max(peak, held, held + nbytes)
        held += nbytes
    return float(max(peak, held))


def peak_on_gpu(torch: Any, place: str, launch: Work, *, graphs: bool = False) -> tuple[float, str]:
    """Return the most that arrays which are there and ``launch`` take of a GPU together.

    A graph keeps the memory that its kernels work in for itself, in a pool whose blocks count as
    reserved and not as allocated; so with ``graphs`` it is the reserved memory that is counted.
    """
    cuda = torch.cuda
    launch()  # records a graph, and has libraries take what they keep
    cuda.synchronize(place)
    cuda.empty_cache()
    cuda.reset_peak_memory_stats(place)
    for _ in range(COUNTED_LAUNCHES):
        launch()
    cuda.synchronize(place)
    if graphs:
        return float(cuda.max_memory_reserved(place)), GRAPH_COUNTER
    return float(cuda.max_memory_allocated(place)), GPU_COUNTER
