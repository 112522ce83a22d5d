"""PyTorch's own count of the memory that arrays and launches hold at most.

On a GPU the caching allocator keeps the count: ``torch.cuda.max_memory_allocated``. On a CPU no
such count exists, but ``torch.profiler`` reports every allocation and every release with its size,
among them those of oneDNN, which takes its scratch memory from the same allocator. So a run's
arrays are made once more under the profiler, two launches follow, and the largest running sum is
the peak. Unlike the process's resident set this is exact: it knows nothing of Python, of threads'
stacks, of pages that the C library keeps, or of the host's own copies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

GPU_COUNTER = "torch.cuda.max_memory_allocated"
CPU_COUNTER = "torch.profiler, every allocation summed"
LAUNCHES = "gpuexplorer launches"
"""The stretch of the profile that counts: making arrays may take more for a moment."""
COUNTED_LAUNCHES = 2
"""The first makes what stays, such as gradients; the second shows what is there beside that."""

Work = Callable[[], object]


def peak_on_cpu(torch: Any, fill: Work, launch: Work) -> tuple[float, str]:
    """Return the most that what ``fill`` makes and ``launch`` takes hold together.

    Nothing of it may be there before: the profiler does not see what was allocated earlier.
    """
    profiler = torch.profiler
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU], profile_memory=True
    ) as seen:
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


def peak_on_gpu(torch: Any, place: str, launch: Work) -> tuple[float, str]:
    """Return the most that arrays which are there and ``launch`` take of a GPU together."""
    torch.cuda.synchronize(place)
    torch.cuda.reset_peak_memory_stats(place)
    for _ in range(COUNTED_LAUNCHES):
        launch()
    torch.cuda.synchronize(place)
    return float(torch.cuda.max_memory_allocated(place)), GPU_COUNTER
