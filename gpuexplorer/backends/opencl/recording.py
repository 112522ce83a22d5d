"""The accesses of one block, noted by the kernel itself while it runs alone on the CPU device."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.analysis.accesses import Notes, trace_of
from gpuexplorer.backends.opencl.program import BuiltProgram, build_program
from gpuexplorer.backends.opencl.session import OpenclSession
from gpuexplorer.compile.prelude_recording import (
    BEGIN,
    HEAD,
    LANE,
    NOTE,
    PIECE_BITS,
    SITE_BITS,
    WIDTH_BITS,
)
from gpuexplorer.core.accesses import WARP, AccessLook, AccessSite, Trace
from gpuexplorer.core.config import Block
from gpuexplorer.core.errors import (
    CannotRunHere,
    DeviceLost,
    InputError,
    WorkFailed,
    WrongResult,
)
from gpuexplorer.core.knobs import block_words
from gpuexplorer.workloads.plan import KernelLaunch, Plan

MOST_NOTES = 1 << 22
"""Of a block, or where that is too few of a warp: 96 MiB."""


class RecordedLaunch(msgspec.Struct, frozen=True):
    """One launch of a plan whose kernel takes notes."""

    session: OpenclSession
    plan: Plan
    step: KernelLaunch
    values: Sequence[Any]
    """The kernel's arguments, as the driver takes them."""
    fill: Callable[[BuiltProgram], None]
    """Fills the variables outside of functions of a program."""
    begin: Callable[[], None]
    """Leaves arrays as they are before the launch."""

    def look(self, look: AccessLook) -> Trace:
        """Run one block and return what a warp of it asked for.

        Raises InputError for a block or warp that is not there, WorkFailed with file and line for
        a source whose accesses cannot be followed.
        """
        _check(self.step, look)
        if not self._can_be_followed:
            raise CannotRunHere(
                f"accesses are counted on the CPU device, by Intel's OpenCL runtime, and "
                f"{self.session.info.id} is {self.session.info.name} by {self.session.info.driver}",
                remedy="choose the CPU device, and see 'gpuexplorer doctor'",
            )
        built = build_program(self.session, self.plan, self.step, "recorded")
        threads, first = self.step.threads_per_block, look.warp * WARP
        whole = not look.alone
        if whole:
            notes, lost = self._run(built, look, 0, threads)
            whole = not lost.any()
        if not whole:
            notes, lost = self._run(built, look, first, min(WARP, threads - first))
        assert built.sites is not None
        return trace_of(
            notes,
            built.sites.places,
            built.sites.arrays[built.kernel.signature.name],
            step_sizes_B(self.plan, self.step, notes.sizes_B),
            look,
            entry=self.step.entry,
            block=self.step.block,
            grid=self.step.grid,
            whole=whole,
            lost=int(lost.sum()),
        )

    def check_alignment(self, blocks: Iterable[Block]) -> None:
        """Raise WrongResult for an access of some blocks that a GPU would stop at.

        Where the accesses cannot be followed it is not known.
        """
        if not self._can_be_followed:
            return
        try:
            built = build_program(self.session, self.plan, self.step, use="recorded")
            for block in blocks:
                look = AccessLook(block=block)
                notes, _ = self._run(built, look, 0, self.step.threads_per_block)
                assert built.sites is not None
                _refuse_misaligned(notes, built.sites.places)
        except (WrongResult, DeviceLost):
            raise
        except (WorkFailed, InputError, CannotRunHere):
            return

    @property
    def _can_be_followed(self) -> bool:
        return self.session.probed.language == "clc++" and self.session.info.kind == "cpu"

    def _run(
        self, built: BuiltProgram, look: AccessLook, first: int, lanes: int
    ) -> tuple[Notes, Any]:
        """Launch the block alone; return the notes of these threads, and how many each lost."""
        cl, queue, session = self.session.cl, self.session.queue, self.session
        assert built.sites is not None
        arrays = built.sites.arrays[built.kernel.signature.name]
        capacity = MOST_NOTES // lanes
        head, states = np.zeros(1, HEAD), np.zeros(lanes, LANE)
        head["arrays"], head["capacity"] = len(arrays), capacity
        head["first"], head["lanes"] = first, lanes
        head["block"], head["grid"] = look.block, self.step.grid
        head["size"][0, : len(arrays)] = step_sizes_B(self.plan, self.step, [0] * len(arrays))
        found = np.empty((lanes, capacity), NOTE)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        buffers = [cl.Buffer(session.context, flags, hostbuf=a) for a in (head, states, found)]
        self.begin()
        self.fill(built)
        try:
            begin = cl.Kernel(built.program, BEGIN)
            begin.set_args(*buffers)
            cl.enqueue_nd_range_kernel(queue, begin, (1,), (1,))
            kernel = cl.Kernel(built.program, built.kernel.signature.name)
            for index, value in enumerate(self.values):
                kernel.set_arg(index, value)
            cl.enqueue_nd_range_kernel(queue, kernel, self.step.block, self.step.block).wait()
            for buffer, array in zip(buffers[:2], (head, states), strict=True):
                cl.enqueue_copy(queue, array, buffer)
            used = int(states["count"].max())
            kept = np.empty((lanes, max(used, 1)), NOTE)
            cl.enqueue_copy(
                queue, kept, buffers[2],
                buffer_origin=(0, 0, 0), host_origin=(0, 0, 0),
                buffer_pitches=(capacity * NOTE.itemsize, 0), host_pitches=(kept.strides[0], 0),
                region=(kept.strides[0], lanes, 1),
            )  # fmt: skip
            queue.finish()
        except (cl.Error, RuntimeError) as error:
            raise WorkFailed(
                f"'{self.step.entry}' could not be run to count its accesses ({error})",
                remedy="make the block or the size smaller",
            ) from None
        finally:
            for buffer in buffers:
                buffer.release()
        _refuse_bound(int(head["bound"][0]), built.sites.places)
        counts = states["count"]
        here = np.arange(kept.shape[1]) < counts[:, None]
        taken, what = kept[here], kept["what"][here]
        return (
            Notes(
                thread=first + np.nonzero(here)[0],
                site=_bits(what, 0, SITE_BITS),
                array=_bits(what, SITE_BITS + WIDTH_BITS + PIECE_BITS, 8),
                offset_B=taken["offset"].astype(np.int64),
                width_B=_bits(what, SITE_BITS, WIDTH_BITS),
                piece_B=_bits(what, SITE_BITS + WIDTH_BITS, PIECE_BITS),
                stamp=taken["stamp"],
                sizes_B=[int(size) for size in head["size"][0, : len(arrays)]],
            ),
            states["lost"],
        )


def _bits(what: Any, first: int, count: int) -> Any:
    return (what >> np.uint64(first) & np.uint64((1 << count) - 1)).astype(np.int64)


def step_sizes_B(plan: Plan, step: KernelLaunch, known: Sequence[int]) -> list[int]:
    """Return the bytes of a step's arrays in the order of the notes, where the plan says them.

    Arrays in shared memory follow those that are passed; ``known`` has what the kernel said.
    """
    passed = [plan.array(a.name).nbytes for a in step.arguments if a.kind == "array"]
    sizes = [*passed, *known[len(passed) :]]
    return [size or step.shared_B for size in sizes]


def _check(step: KernelLaunch, look: AccessLook) -> None:
    if any(not 0 <= at < size for at, size in zip(look.block, step.grid, strict=True)):
        raise InputError(
            f"there is no block {','.join(map(str, look.block))} in a grid of "
            f"{block_words(step.grid)} blocks",
            remedy="count from 0 along x, y and z",
        )
    warps = -(-math.prod(step.block) // WARP)
    if not 0 <= look.warp < warps:
        raise InputError(
            f"there is no warp {look.warp} in a block of {warps} warps",
            remedy="count from 0",
        )


def _refuse_misaligned(notes: Notes, places: Sequence[AccessSite]) -> None:
    """Refuse an access that a GPU stops at; a CPU takes any address. Arrays begin aligned."""
    aligned_B = np.maximum(notes.piece_B, 1)
    whole = (aligned_B & (aligned_B - 1)) == 0  # what a copy fills up with zeros may be less
    wrong = np.flatnonzero(whole & (notes.offset_B % aligned_B != 0))
    if len(wrong):
        place = places[notes.site[wrong[0]]]
        raise WrongResult(
            f"{place.source}:{place.line}: '{place.text}' lies at an address that is no multiple "
            f"of {aligned_B[wrong[0]]}, where a GPU stops with 'misaligned address'",
            remedy="begin at a multiple of the vector's elements, or take them one by one",
        )


def _refuse_bound(bound: int, places: Sequence[AccessSite]) -> None:
    """Refuse what refers to an element, through which it may be read or written unnoted."""
    if bound:
        place = places[bound - 1]
        raise WorkFailed(
            f"{place.source}:{place.line}: what is done through the reference to '{place.text}' "
            "cannot be counted",
            remedy="name the element itself, or point to it",
        )
