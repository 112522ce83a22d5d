"""Library calls that return when they are done, timed by the host's clock one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import Any, ClassVar

import numpy as np

from gpuexplorer.backends.base import Batch, HostArray, Runner
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.fills import dtype_of, poison_byte
from gpuexplorer.workloads.plan import ArrayPlan

TRIED_ROWS = 64
"""Rows of a product that are computed to estimate the time of the whole."""
TRIALS = 3
"""How often those rows are computed at the most."""
TRIED_S = 0.05
"""They are not computed again once that took so long, in seconds."""
SHORT_FLOP = 1e9
"""A product below this takes well under a second and needs no estimate."""

Call = Callable[[], object]


class LibraryRunner(Runner):
    """Arrays and one library call on them; subclasses say what an array and a call are."""

    timed_by: ClassVar[str] = "host clock around each call, its dispatch included"
    clock_step_s: ClassVar[float] = 1e-7

    _arrays: dict[str, Any]
    _inputs: Mapping[str, HostArray]
    _call: Call | None = None
    _flush: Call | None = None

    @abstractmethod
    def _empty(self, array: ArrayPlan, dtype: np.dtype[Any]) -> Any:
        """Return an uninitialised array."""

    @abstractmethod
    def _write(self, array: Any, values: HostArray) -> None:
        """Copy the host's values into an array."""

    @abstractmethod
    def _read(self, array: Any) -> HostArray:
        """Copy an array to the host."""

    @abstractmethod
    def _fill_bytes(self, array: Any, byte: int) -> None:
        """Set every byte of an array."""

    @abstractmethod
    def _bind(self, operands: list[Any]) -> Call:
        """Return the call on these arrays and numbers, in the manifest's order."""

    @abstractmethod
    def _flusher(self) -> Call:
        """Return a call that empties the last-level cache of the processors that run the calls."""

    def _wait(self) -> None:
        """Wait until the device has done everything."""

    # ---- the textbook program

    def allocate(self) -> None:
        """Allocate every array of the plan, uninitialised."""
        self.free()
        precision = self.plan.config.precision
        arrays: dict[str, Any] = {}
        try:
            for array in self.plan.arrays:
                arrays[array.name] = self._empty(array, dtype_of(array, precision))
        except MemoryError:
            raise WorkFailed(
                f"{self.device.id} has no {quantity(self.plan.memory_B, 'B')} of memory free",
                remedy="choose a smaller size",
            ) from None
        self._arrays = arrays

    def upload(self, inputs: Mapping[str, HostArray]) -> None:
        """Copy the host's inputs and wait."""
        self._inputs = {**getattr(self, "_inputs", {}), **inputs}
        for name, values in inputs.items():
            self._write(self._arrays[name], values)
        self._wait()

    def poison(self) -> None:
        """Fill outputs and scratch arrays with poison."""
        for array in self.plan.arrays:
            if array.role in ("out", "scratch"):
                self._fill_bytes(self._arrays[array.name], poison_byte(array.type))
        self._wait()

    def predict_s(self) -> float | None:
        """Estimate a long product's time from its first rows; None for everything else.

        The shortest of several trials counts: the first one fills caches, and any may be disturbed.
        """
        if not (self.plan.library or "").endswith(".matmul") or self.plan.flops < SHORT_FLOP:
            return None
        left, right, out = self._operands()
        rows = min(TRIED_ROWS, len(left))
        trial = self._bind([left[:rows], right, out[:rows]])
        self._wait()
        tried_ns: list[int] = []
        while len(tried_ns) < TRIALS and sum(tried_ns) * 1e-9 < TRIED_S:
            started = perf_counter_ns()
            trial()
            self._wait()
            tried_ns.append(perf_counter_ns() - started)
        return min(tried_ns) * 1e-9 * len(left) / rows

    def launch(self, count: int) -> Batch:
        """Call ``count`` times and time each call."""
        call = self._bound()
        durations_ns = np.empty(count)
        start_ns = self.now_ns()
        for i in range(count):
            self._prepare()
            before = perf_counter_ns()
            call()
            durations_ns[i] = perf_counter_ns() - before
        return Batch(start_ns=start_ns, seconds=durations_ns * 1e-9)

    def launch_plain(self) -> None:
        """Call once and wait; what was uploaded stays as it is."""
        for name in self.plan.reset:
            if name not in self._inputs:
                self._fill_bytes(self._arrays[name], 0)
        self._bound()()
        self._wait()

    def launch_untimed(self) -> None:
        """Call once, untimed."""
        self._reset()
        self._bound()()

    def download(self, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy arrays back to the host."""
        return {name: self._read(self._arrays[name]) for name in names}

    def free(self) -> None:
        """Free every array."""
        self._arrays = {}
        self._inputs = {}
        self._call = self._flush = None

    def adopt(self, other: Runner) -> bool:
        """Take over the arrays of a runner of the same kind, with the same arrays."""
        if type(other) is not type(self) or not isinstance(other, LibraryRunner):
            return False
        same = other.plan.arrays == self.plan.arrays and other.device.id == self.device.id
        if not same or not getattr(other, "_arrays", None):
            return False
        self._arrays, self._inputs = other._arrays, other._inputs
        self._flush = other._flush  # kept while the arrays are, for going to and fro is common
        other.free()
        return True

    # ---- helpers

    def _operands(self) -> list[Any]:
        arguments = self.plan.library_arguments
        return [self._arrays[a.name] if a.kind == "array" else a.value for a in arguments]

    def _bound(self) -> Call:
        if self._call is None:
            self._call = self._bind(self._operands())
        return self._call

    def _prepare(self) -> None:
        """Do what comes before each launch and is not timed."""
        self._reset()
        if self.cold:
            if self._flush is None:  # made here, where no phase is timed
                self._flush = self._made_flusher()
            self._flush()

    def _made_flusher(self) -> Call:
        try:
            return self._flusher()
        except MemoryError:
            raise WorkFailed(
                f"{self.device.id} has no memory free to empty its cache with",
                remedy="use --cache hot",
            ) from None

    def _reset(self) -> None:
        for name in self.plan.reset:
            if name in self._inputs:
                self._write(self._arrays[name], self._inputs[name])
            else:
                self._fill_bytes(self._arrays[name], 0)
