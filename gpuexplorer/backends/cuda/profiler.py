"""The marks between which a profiler looks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpuexplorer.backends.cuda.driver import Driver
from gpuexplorer.core.errors import CannotRunHere


@contextmanager
def marked() -> Iterator[None]:
    """Have an attached profiler look at what is launched inside; its context must be current.

    CannotRunHere without NVIDIA's driver.
    """
    library = Driver.load()
    if library is None:
        raise CannotRunHere("no NVIDIA driver is installed, so no profiler can look")
    library.cuProfilerStart()
    try:
        yield
    finally:
        library.cuProfilerStop()
