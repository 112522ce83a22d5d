"""A run's arrays on the device, each in surroundings that show what strays outside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuexplorer.backends.opencl.fences import BOUNDS
from gpuexplorer.backends.opencl.session import OpenclSession
from gpuexplorer.backends.opencl.surroundings import Fenced, Patterned
from gpuexplorer.core.errors import WorkFailed, WrongResult
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.fills import WHOLE, loaded, poison_byte, stored, stored_dtype
from gpuexplorer.workloads.manifest import Role
from gpuexplorer.workloads.plan import ArrayPlan, Plan

_ZERO = np.uint8(0)


class DeviceArrays:
    """Every array of one plan on one device."""

    def __init__(self, plan: Plan, session: OpenclSession) -> None:
        """Allocate; raises WorkFailed when the memory is not there."""
        cl, context = session.cl, session.context
        self._cl, self._context, self._queue = cl, context, session.queue
        self.plans: dict[str, ArrayPlan] = {a.name: a for a in plan.arrays}
        self._precision = plan.config.precision
        self._places: dict[str, Fenced | Patterned] = {}
        self._pristine: dict[str, Any] = {}
        self._armed = False
        self.buffers: dict[str, Any] = {}
        """The arrays themselves, without what surrounds them."""
        kind = Fenced if session.fences_arrays else Patterned
        try:
            for array in plan.arrays:
                place = self._places[array.name] = kind(session, array)
                self.buffers[array.name] = place.buffer
                if array.role == "inout" and array.name in plan.reset:
                    flags = cl.mem_flags.READ_WRITE
                    self._pristine[array.name] = cl.Buffer(context, flags, array.nbytes)
        except (cl.Error, MemoryError) as error:
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
            bits = stored(self.plans[name], self._precision, values)
            self._cl.enqueue_copy(self._queue, self.buffers[name], bits, is_blocking=False)
            if name in self._pristine:
                self._cl.enqueue_copy(self._queue, self._pristine[name], self.buffers[name])
        self._queue.finish()

    def download(self, names: tuple[str, ...]) -> dict[str, npt.NDArray[Any]]:
        """Copy arrays to the host and wait."""
        found = {}
        for name in names:
            array = self.plans[name]
            found[name] = np.empty(array.shape, stored_dtype(array.type, self._precision))
            self._cl.enqueue_copy(self._queue, found[name], self.buffers[name], is_blocking=False)
        self._queue.finish()
        plans, precision = self.plans, self._precision
        return {name: loaded(plans[name], precision, bits) for name, bits in found.items()}

    def poison(self) -> None:
        """Fill outputs and scratch with poison, and make ready to notice what strays outside."""
        for name, array in self.plans.items():
            if array.role in ("out", "scratch"):
                self._fill(self.buffers[name], np.uint8(poison_byte(array.type)), array.nbytes)
            self._places[name].arm()
        self._armed = True
        self._queue.finish()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Set back afterwards what launches that belong to no run change of ``inout`` arrays."""
        cl, flags = self._cl, self._cl.mem_flags.READ_WRITE
        copies = {}
        try:
            for name, array in self.plans.items():
                if array.role == "inout":
                    copies[name] = cl.Buffer(self._context, flags, array.nbytes)
                    cl.enqueue_copy(self._queue, copies[name], self.buffers[name])
            yield
        finally:
            for name, copy in copies.items():
                cl.enqueue_copy(self._queue, self.buffers[name], copy)
                copy.release()

    def clear_indices(self, *roles: Role) -> None:
        """Queue zeroing the arrays of whole numbers that have one of some roles.

        So nothing that they held before is taken for an index.
        """
        for name, array in self.plans.items():
            if array.role in roles and array.type in WHOLE:
                self._fill(self.buffers[name], _ZERO, array.nbytes)
                if name in self._pristine:
                    self._fill(self._pristine[name], _ZERO, array.nbytes)

    def reset(self, names: tuple[str, ...]) -> None:
        """Queue setting arrays back: ``inout`` to what was uploaded, others to zero."""
        for name in names:
            if name in self._pristine:
                self._cl.enqueue_copy(self._queue, self.buffers[name], self._pristine[name])
            else:
                self._fill(self.buffers[name], _ZERO, self.plans[name].nbytes)

    def check_guards(self) -> None:
        """Raise WrongResult naming the array outside of which something was touched."""
        if not self._armed:
            return
        for place in self._places.values():
            place.disarm()
        strays = [
            (stray.distance_B, stray.words(name, array.itemsize_B))
            for name, array in self.plans.items()
            if (stray := self._places[name].stray()) is not None
        ]
        if strays:  # one that goes far may come to another array's surroundings: the nearest counts
            raise WrongResult(min(strays)[1], remedy=BOUNDS)

    def _fill(self, buffer: Any, value: np.uint8, nbytes: int) -> None:
        if nbytes:
            self._cl.enqueue_fill_buffer(self._queue, buffer, value, 0, nbytes)

    def free(self) -> None:
        """Release the device's memory."""
        for buffer in self._pristine.values():
            buffer.release()
        for place in self._places.values():
            place.free()
        self.buffers.clear()
        self._places.clear()
        self._pristine.clear()
