"""One configuration on one OpenCL device."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
import numpy.typing as npt

from gpuexplorer.backends.base import Batch, HostArray, Runner
from gpuexplorer.backends.opencl.arrays import DeviceArrays
from gpuexplorer.backends.opencl.parameters import compiled_parameters
from gpuexplorer.backends.opencl.printed import take_failed, take_printed
from gpuexplorer.backends.opencl.program import BuiltProgram, MadeKernel, build_program, is_built
from gpuexplorer.backends.opencl.session import OpenclSession
from gpuexplorer.backends.opencl.symbol_copies import fill_symbols, read_symbols
from gpuexplorer.compile.arguments import bind_arguments
from gpuexplorer.compile.bound_symbols import bound_symbols, written_symbols
from gpuexplorer.compile.rewriter import PortableKernel
from gpuexplorer.core.accesses import AccessLook, Trace
from gpuexplorer.core.config import Block
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import BlockTooLarge, DeviceLost, InputError, WorkFailed
from gpuexplorer.core.knobs import block_words
from gpuexplorer.core.result import Resources
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.manifest import Role
from gpuexplorer.workloads.plan import KernelLaunch, Plan

if TYPE_CHECKING:
    from gpuexplorer.backends.opencl.recording import RecordedLaunch

PREDICT_FROM_S = 1e-3
"""A part of the grid that runs this long stands for the whole."""
PREDICT_AGAIN_BELOW_S = 10e-3
"""A part that ran shorter than this is run twice, for a neighbour's load only ever adds."""
LONGEST_WAIT_S = 0.5
"""A part that ran longer than that, and shorter than this, may have waited for a processor: it is
run up to ``TRIALS`` times more. One block that waited 20 ms would stand for minutes of a grid.
"""
TRIALS = 3
PREDICT_GROWTH = 16
WARP = 32
VECTOR_CAST = re.compile(
    r"\breinterpret_cast\b|\(\s*(?:(?:const|volatile)\s+)*\w*[234]\s*(?:const\s*)?\*\s*\)"
)
"""What may read or write several elements at an address that is aligned for one."""


_WAITS = re.compile(r"\b(?:atomic\w+|volatile)\b")
"""What a block that waits for those before it does not go without."""


@dataclass
class _Launch:
    """One step, ready to be queued."""

    step: KernelLaunch
    portable: PortableKernel
    made: MadeKernel
    built: BuiltProgram
    arguments: list[str | np.generic]
    symbols: dict[str, str | npt.NDArray[np.generic]]

    @property
    def global_size(self) -> tuple[int, int, int]:
        bx, by, bz = self.step.block
        gx, gy, gz = self.step.grid
        return bx * gx, by * gy, bz * gz


class OpenCLRunner(Runner):
    """Builds, launches and times one plan; the device's own profiling events give the times.

    With several steps, a launch's time is the sum of the steps' times: what lies between them is
    the host's and the driver's.
    """

    timed_by: ClassVar[str] = "OpenCL profiling events, steps summed"

    def __init__(self, plan: Plan, device: DeviceInfo, session: OpenclSession) -> None:
        super().__init__(plan, device)
        self._session = session
        self._cl = session.cl
        self._queue = session.queue
        self._launches: list[_Launch] = []
        self._mark = object()
        """Stands for this runner in the kernels it set the arguments of."""
        self._arrays: DeviceArrays | None = None
        self._printed: str | None = None
        self._holds = False
        """Whether a launch has shown that what the kernels assert holds."""

    @property
    def resolution_s(self) -> float:
        """The step of the device's own clock, by its driver's word; NVIDIA's is a microsecond."""
        step_ns = int(self._session.device.profiling_timer_resolution)
        return max(self.clock_step_s, step_ns * 1e-9)

    # ---- build

    @property
    def is_built(self) -> bool:
        """Whether every program is there, built by this process."""
        return all(is_built(self._session, self.plan, step) for step in self.plan.steps)

    def build(self) -> None:
        """Compile or find each step's program and check what the device can launch."""
        self._launches = []
        for step in self.plan.steps:
            self._launches.append(self._prepare(step))
        if self._arrays is not None:
            self._set_arguments()

    def _prepare(self, step: KernelLaunch) -> _Launch:
        built = build_program(self._session, self.plan, step)
        portable = built.kernel
        precision = self.plan.config.precision
        compiled = compiled_parameters(self._session, built, precision)
        arguments = bind_arguments(step, self.plan, portable.signature, compiled)
        if portable.uses_warps:
            self._check_warps(step, portable)
        if step.shared_B and not portable.dynamic_shared:
            raise InputError(
                f"{portable.signature.where}: '{step.entry}' declares no extern __shared__ array, "
                f"and the manifest gives it {step.shared_B} bytes",
                remedy="correct 'shared_bytes' of that launch in the manifest",
            )
        if portable.needs_shared and not step.shared_B:
            raise InputError(
                f"{portable.signature.where}: '{step.entry}' uses an extern __shared__ array, and "
                "the launch gives it no bytes",
                remedy="give them as the third argument in <<<...>>>, or as 'shared_bytes' of that "
                "launch in the manifest",
            )
        bounds = portable.bounds
        allowed = bounds.most_threads(self.plan.defines) if bounds is not None else None
        if bounds is not None and allowed is not None and step.threads_per_block > allowed:
            raise BlockTooLarge(
                f"{bounds.where}: the __launch_bounds__ of '{step.entry}' allow a block at most "
                f"{allowed} threads, not {step.threads_per_block}",
                remedy="make the block smaller",
            )
        if built.asserted:
            build_program(self._session, self.plan, step, "asserting")
        made = self._made(built)
        static_B, most = made.static_shared_B, made.most_threads
        limit = self.device.limits.max_shared_B
        if static_B + step.shared_B > limit:
            raise InputError(
                f"'{step.entry}' uses {quantity(static_B + step.shared_B, 'B')} of shared memory, "
                f"and {self.device.id} gives a block {quantity(limit, 'B')}",
                remedy="make the tile or the block smaller",
            )
        if step.threads_per_block > most:
            raise InputError(
                f"'{step.entry}' can run at most {most} threads in a block on {self.device.id}",
                remedy="make the block smaller",
            )
        return _Launch(step, portable, made, built, arguments, bound_symbols(self.plan, step))

    def _made(self, built: BuiltProgram) -> MadeKernel:
        """Return the kernel of a step, made once a program: its wrapper takes a millisecond.

        Runners share it and set their own arguments; one that a plan launches twice is two.
        """
        ordinal = sum(launch.portable is built.kernel for launch in self._launches)
        if ordinal not in built.made:
            kernel = self._cl.Kernel(built.program, built.kernel.signature.name)
            info, device = self._cl.kernel_work_group_info, self._session.device
            built.made[ordinal] = MadeKernel(
                kernel,
                int(kernel.get_work_group_info(info.LOCAL_MEM_SIZE, device)),
                int(kernel.get_work_group_info(info.WORK_GROUP_SIZE, device)),
            )
        return built.made[ordinal]

    def _check_warps(self, step: KernelLaunch, portable: PortableKernel) -> None:
        if "shuffle" not in self.device.features:
            raise InputError(
                f"{portable.signature.where}: '{step.entry}' exchanges values within a warp, which "
                f"{self.device.id} ({self.device.name}) cannot",
                remedy="choose another variant or device",
            )
        if step.block[0] % WARP:
            raise InputError(
                f"'{step.entry}' exchanges values within a warp, and on {self.device.id} warps "
                f"lie along x: {step.block[0]} threads in x are not a multiple of {WARP}",
                remedy=f"make the block a multiple of {WARP} wide",
            )

    # ---- arrays

    def allocate(self) -> None:
        """Allocate the arrays with what surrounds them."""
        if not self.cold:  # gives back what a cold run before this one read through
            self._session.flush.release()
        self._arrays = DeviceArrays(self.plan, self._session)
        if self._launches:
            self._set_arguments()

    def adopt(self, other: Runner) -> bool:
        """Take over another runner's arrays when they are what this plan would allocate."""
        if not isinstance(other, OpenCLRunner) or other._session is not self._session:
            return False
        same = other.plan.config.precision == self.plan.config.precision
        if other._arrays is None or not same or not other._arrays.holds(self.plan):
            return False
        self._arrays, other._arrays = other._arrays, None
        if self._launches:
            self._set_arguments()
        return True

    @property
    def flush_words(self) -> str:
        """How the cache is emptied before each launch, in words."""
        return self._session.flush.pass_.words

    def _set_arguments(self) -> None:
        for launch in self._launches:
            for index, value in enumerate(self._values(launch)):
                launch.made.kernel.set_arg(index, value)
            launch.made.owner = self._mark

    def _values(self, launch: _Launch) -> list[Any]:
        """Return a launch's arguments as the driver takes them."""
        buffers = self._owned().buffers
        values = [buffers[a] if isinstance(a, str) else a for a in launch.arguments]
        if launch.portable.dynamic_shared:
            values.append(self._cl.LocalMemory(max(launch.step.shared_B, 1)))
        if launch.portable.takes_grid:
            values += [np.int32(size) for size in launch.step.grid]
        return values

    def _claim(self) -> None:
        """Set the arguments again where another runner has used a kernel meanwhile.

        Variables outside of functions are filled, which all runners of a program share.
        """
        if any(launch.made.owner is not self._mark for launch in self._launches):
            self._set_arguments()
        self._fill()

    def _fill(self, arrays: Collection[str] | None = None) -> None:
        """Queue filling the variables, or those of some arrays."""
        for launch in self._launches:
            symbols = {n: v for n, v in launch.symbols.items() if arrays is None or n in arrays}
            fill_symbols(self._session, launch.built, symbols, self._owned().buffers)

    def _owned(self) -> DeviceArrays:
        if self._arrays is None:
            raise RuntimeError("the runner has no arrays: allocate or adopt first")
        return self._arrays

    def upload(self, inputs: Mapping[str, HostArray]) -> None:
        """Copy the inputs to the device and wait."""
        self._owned().upload(inputs)

    def clear_indices(self) -> None:
        """Zero every array of whole numbers: what memory held before is no index."""
        self._owned().clear_indices(*get_args(Role))

    def poison(self) -> None:
        """Fill outputs and scratch with poison and notice from now on what strays outside.

        Before that, once, a launch of its own looks at what kernels assert; WorkFailed where it
        does not hold.
        """
        self._take_printed()
        if not self._holds and any(l.built.asserted for l in self._launches):
            self._refuse_failed_assertion()
            self._holds = True
        self._owned().poison()

    def _refuse_failed_assertion(self) -> None:
        arrays, enqueue = self._owned(), self._cl.enqueue_nd_range_kernel
        try:
            with arrays.kept():
                self._set_back()
                arrays.clear_indices("out", "scratch")
                for launch in self._launches:
                    built = build_program(self._session, self.plan, launch.step, "asserting")
                    kernel = self._cl.Kernel(built.program, built.kernel.signature.name)
                    for index, value in enumerate(self._values(launch)):
                        kernel.set_arg(index, value)
                    fill_symbols(self._session, built, launch.symbols, arrays.buffers)
                    enqueue(self._queue, kernel, launch.global_size, launch.step.block).wait()
                    if failed := take_failed(self._session, built):
                        raise WorkFailed(
                            f"{failed.where}: the assertion '{failed.text}' failed",
                            remedy="correct the kernel, its launch or its arguments",
                        )
        except (self._cl.Error, RuntimeError) as error:
            raise self._failure(error) from None

    def download(self, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy arrays back and wait."""
        for launch in self._launches:
            written = [n for n in written_symbols(self.plan, launch.step) if n in names]
            read_symbols(self._session, launch.built, written, self._owned().buffers)
        return self._owned().download(names)

    def check_guards(self) -> None:
        """Raise WrongResult naming the array outside of which a launch read or wrote."""
        self._printed = self._take_printed()
        self._owned().check_guards()

    def printed(self) -> str | None:
        """Return what the kernels printed in the launch that was checked."""
        return self._printed

    def _take_printed(self) -> str | None:
        """Return what was printed since this was asked last."""
        programs = {id(l.built): l.built for l in self._launches}.values()
        texts = [t for b in programs if b.printed and (t := take_printed(self._session, b))]
        return "".join(texts) or None

    def free(self) -> None:
        """Release the arrays."""
        if self._arrays is not None:
            self._queue.finish()
            self._arrays.free()
            self._arrays = None

    # ---- launches

    def launch(self, count: int) -> Batch:
        """Queue ``count`` launches, wait for the last, and return the device's time for each."""
        queue = self._queue
        flush = self._session.flush if self.cold else None
        enqueue = self._cl.enqueue_nd_range_kernel
        self._claim()
        steps = [(l.made.kernel, l.global_size, l.step.block) for l in self._launches]
        events = []
        start_ns = self.now_ns()
        try:
            for _ in range(count):
                self._set_back()
                if flush is not None:
                    flush.queue()
                for kernel, global_size, block in steps:
                    events.append(enqueue(queue, kernel, global_size, block))
            events[-1].wait()  # blocks; polling would take a core from the kernel on a CPU
        except (self._cl.Error, RuntimeError) as error:
            raise self._failure(error) from None
        return Batch(start_ns, self._durations_s(events).reshape(count, len(steps)).sum(axis=1))

    def _set_back(self) -> None:
        """Queue setting back what each launch begins with."""
        if self.plan.reset:
            self._owned().reset(self.plan.reset)
            self._fill(self.plan.reset)

    def _durations_s(self, events: list[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
        began, ended = self._cl.profiling_info.START, self._cl.profiling_info.END
        return (
            np.array(
                [e.get_profiling_info(ended) - e.get_profiling_info(began) for e in events],
                dtype=np.float64,
            )
            * 1e-9
        )

    def _failure(self, error: Exception) -> WorkFailed | InputError:
        text = str(error).splitlines()[0]
        if "WORK_GROUP_SIZE" in text or "WORK_ITEM_SIZE" in text:
            block = block_words(self._launches[0].step.block)
            return InputError(
                f"{self.device.id} refuses the block {block} ({text})",
                remedy="make the block smaller",
            )
        scarce = any(word in text for word in ("OUT_OF_RESOURCES", "OUT_OF_HOST", "ALLOCATION"))
        if scarce and self.device.kind == "cpu":
            return WorkFailed(
                f"{self.device.id} has no resources for this launch ({text})",
                remedy="make block, shared memory or size smaller",
            )
        return DeviceLost(f"the launch failed on {self.device.id} ({text})")

    def predict_s(self) -> float | None:
        """Estimate a launch from parts of its grid, growing until they run ``PREDICT_FROM_S``.

        Blocks run in waves, one block a CPU thread (or compute unit); the estimate is the part's
        time scaled by waves. None when a kernel's work depends on the grid in a way that a part
        of it cannot show.
        """
        arrays = self._owned()
        self._claim()
        if any(not l.portable.splittable for l in self._launches):
            return None
        arrays.clear_indices("scratch")
        try:
            return sum(self._predict_step(launch) for launch in self._launches)
        except (self._cl.Error, RuntimeError) as error:
            raise self._failure(error) from None

    def _predict_step(self, launch: _Launch) -> float:
        at_once = self.device.threads or self.device.compute_units
        blocks = 1
        while True:
            part = _part_of(launch.step.grid, blocks)
            size = tuple(g * b for g, b in zip(part, launch.step.block, strict=True))
            seconds = self._time_part(launch, size)
            trials = 1 if seconds < PREDICT_AGAIN_BELOW_S else TRIALS
            while trials and PREDICT_FROM_S <= seconds < LONGEST_WAIT_S:
                seconds, trials = min(seconds, self._time_part(launch, size)), trials - 1
            ran = math.prod(part)
            waves = math.ceil(launch.step.blocks / at_once) / math.ceil(ran / at_once)
            fine = ran == launch.step.blocks or seconds >= PREDICT_FROM_S
            if fine or seconds * waves <= self.rough_below_s:
                return seconds * waves
            wanted = 1.2 * PREDICT_FROM_S / max(seconds, 1e-9)
            blocks = ran * math.ceil(min(max(wanted, 2), PREDICT_GROWTH))

    def _time_part(self, launch: _Launch, size: tuple[int, ...]) -> float:
        self._set_back()
        event = self._cl.enqueue_nd_range_kernel(
            self._queue, launch.made.kernel, size, launch.step.block
        )
        event.wait()
        return float(self._durations_s([event])[0])

    def accesses(self, look: AccessLook) -> Trace:
        """Have one block note what it asks for; the launches before its own run as they are."""
        if not 0 <= look.launch < len(self._launches):
            raise InputError(
                f"there is no launch {look.launch} among the {len(self._launches)} of "
                f"'{self.plan.config.variant}'",
                remedy="count from 0",
            )
        return self._recorded(look.launch).look(look)

    def check_alignment(self) -> None:
        """Raise WrongResult for an access that a GPU would stop at: a CPU takes any address."""
        for number, launch in enumerate(self._launches):
            text = self.plan.files[launch.step.source]
            if VECTOR_CAST.search(text):
                blocks = {(0, 0, 0)}
                if not _WAITS.search(text):
                    blocks.add(_middle(launch.step.grid))
                self._recorded(number).check_alignment(blocks)

    def _recorded(self, number: int) -> RecordedLaunch:
        """Return a launch that takes notes when it is looked at."""
        from gpuexplorer.backends.opencl.recording import RecordedLaunch

        arrays, enqueue = self._owned(), self._cl.enqueue_nd_range_kernel
        self._claim()

        def begin() -> None:
            self._set_back()
            if number:
                arrays.clear_indices("scratch")
            for before in self._launches[:number]:
                enqueue(self._queue, before.made.kernel, before.global_size, before.step.block)

        launch = self._launches[number]
        values, buffers = self._values(launch), self._owned().buffers

        def fill(built: BuiltProgram) -> None:
            fill_symbols(self._session, built, launch.symbols, buffers)

        return RecordedLaunch(self._session, self.plan, launch.step, values, fill, begin)

    def resources(self) -> Resources:
        """Return the shared memory of the hungriest step; a CPU has no registers to count."""
        shared = [l.made.static_shared_B + l.step.shared_B for l in self._launches]
        return Resources(shared_B=max(shared, default=None))


def _part_of(grid: tuple[int, int, int], blocks: int) -> tuple[int, int, int]:
    """Return a corner of the grid with at least ``blocks`` blocks, or all of it."""
    x = min(grid[0], blocks)
    y = min(grid[1], -(-blocks // x))
    z = min(grid[2], -(-blocks // (x * y)))
    return x, y, z


def _middle(grid: Block) -> Block:
    """Return a block of the middle, of an odd row where there are several."""
    x, y, z = (min(blocks // 2 | 1, blocks - 1) for blocks in grid)
    return x, y, z
