"""A run's arrays on the device, each between two guard regions that show a stray write.

On the CPU a write past an array's end corrupts the heap or passes silently. So every array is the
middle of a larger allocation whose ends hold a pattern: a write that lands there is seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuexplorer.core.errors import WorkFailed, WrongResult
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.fills import dtype_of, poison_byte
from gpuexplorer.workloads.plan import ArrayPlan, Plan

GUARD_STEP_B = 4096
MIN_GUARD_B = 16 * GUARD_STEP_B
MAX_GUARD_B = 128 * GUARD_STEP_B
_PATTERN = np.uint8(0xA5)
_ZERO = np.uint8(0)


def guard_B(nbytes: int) -> int:
    """Return the bytes of each guard of an array: a sixteenth of it, within limits."""
    wanted = min(max(nbytes // 16, MIN_GUARD_B), MAX_GUARD_B)
    return -(-wanted // GUARD_STEP_B) * GUARD_STEP_B


class DeviceArrays:
    """Every array of one plan on one device."""

    def __init__(self, plan: Plan, cl: Any, context: Any, queue: Any) -> None:
        """Allocate; raises WorkFailed when the memory is not there."""
        self._cl, self._queue = cl, queue
        self.plans: dict[str, ArrayPlan] = {a.name: a for a in plan.arrays}
        self._precision = plan.config.precision
        self._whole: dict[str, Any] = {}
        self._pristine: dict[str, Any] = {}
        self._guarded = False
        self.buffers: dict[str, Any] = {}
        """The arrays themselves, without their guards."""
        flags = cl.mem_flags.READ_WRITE
        try:
            for array in plan.arrays:
                guard = guard_B(array.nbytes)
                whole = cl.Buffer(context, flags, array.nbytes + 2 * guard)
                self._whole[array.name] = whole
                self.buffers[array.name] = whole.get_sub_region(guard, array.nbytes, flags)
                if array.role == "inout" and array.name in plan.reset:
                    self._pristine[array.name] = cl.Buffer(context, flags, array.nbytes)
        except cl.Error as error:
            self.free()
            raise WorkFailed(
                f"the device could not allocate {quantity(plan.memory_B, 'B')} ({error})",
                remedy="choose a smaller size",
            ) from None

    def holds(self, plan: Plan) -> bool:
        """Whether these arrays are what ``plan`` would allocate."""
        keeps = {a.name for a in plan.arrays if a.role == "inout" and a.name in plan.reset}
        return tuple(self.plans.values()) == plan.arrays and keeps <= set(self._pristine)

    def upload(self, inputs: Mapping[str, npt.NDArray[Any]]) -> None:
        """Copy host arrays to the device and wait."""
        for name, values in inputs.items():
            self._cl.enqueue_copy(
                self._queue, self.buffers[name], np.ascontiguousarray(values), is_blocking=False
            )
            if name in self._pristine:
                self._cl.enqueue_copy(self._queue, self._pristine[name], self.buffers[name])
        self._queue.finish()

    def download(self, names: tuple[str, ...]) -> dict[str, npt.NDArray[Any]]:
        """Copy arrays to the host and wait."""
        found = {}
        for name in names:
            array = self.plans[name]
            found[name] = np.empty(array.shape, dtype_of(array, self._precision))
            self._cl.enqueue_copy(self._queue, found[name], self.buffers[name], is_blocking=False)
        self._queue.finish()
        return found

    def poison(self) -> None:
        """Fill outputs and scratch with poison, and all guards with their pattern."""
        for name, array in self.plans.items():
            if array.role in ("out", "scratch"):
                self._fill(self.buffers[name], np.uint8(poison_byte(array.type)), 0, array.nbytes)
            guard = guard_B(array.nbytes)
            self._fill(self._whole[name], _PATTERN, 0, guard)
            self._fill(self._whole[name], _PATTERN, guard + array.nbytes, guard)
        self._guarded = True
        self._queue.finish()

    def clear_indices(self) -> None:
        """Zero whole-number scratch arrays, so that poison in them is not taken for an index."""
        for name, array in self.plans.items():
            if array.role == "scratch" and array.type == "int":
                self._fill(self.buffers[name], _ZERO, 0, array.nbytes)

    def reset(self, names: tuple[str, ...]) -> None:
        """Queue setting arrays back: ``inout`` to what was uploaded, others to zero."""
        for name in names:
            if name in self._pristine:
                self._cl.enqueue_copy(self._queue, self.buffers[name], self._pristine[name])
            else:
                self._fill(self.buffers[name], _ZERO, 0, self.plans[name].nbytes)

    def check_guards(self) -> None:
        """Raise WrongResult naming the array outside of which something was written."""
        if not self._guarded:
            return
        for name, array in self.plans.items():
            guard = guard_B(array.nbytes)
            for place, offset in (("before", 0), ("behind", guard + array.nbytes)):
                seen = np.empty(guard, np.uint8)
                self._cl.enqueue_copy(self._queue, seen, self._whole[name], src_offset=offset)
                wrong = np.flatnonzero(seen != _PATTERN)
                if len(wrong):
                    # Distance from the array's nearest end, in whole elements.
                    gap = guard - 1 - wrong[-1] if place == "before" else wrong[0]
                    distance = int(gap) // array.itemsize_B + 1
                    raise WrongResult(
                        f"the kernel wrote outside array {name}: "
                        f"{distance} element{'s' * (distance > 1)} {place} it",
                        remedy="check the kernel's bounds for this size and block",
                    )

    def _fill(self, buffer: Any, value: np.uint8, offset: int, nbytes: int) -> None:
        if nbytes:
            pattern = value
            self._cl.enqueue_fill_buffer(self._queue, buffer, pattern, offset, nbytes)

    def free(self) -> None:
        """Release the device's memory."""
        for buffer in (*self.buffers.values(), *self._whole.values(), *self._pristine.values()):
            buffer.release()
        self.buffers.clear()
        self._whole.clear()
        self._pristine.clear()
