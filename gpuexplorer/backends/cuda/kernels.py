"""A variant's own kernels on an NVIDIA GPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.analysis.occupancy import WARP, occupancy
from gpuexplorer.backends.base import Batch, HostArray, Marks
from gpuexplorer.backends.cuda import timing
from gpuexplorer.backends.cuda.arguments import PackedArguments
from gpuexplorer.backends.cuda.describe import multiprocessor_limits
from gpuexplorer.backends.cuda.driver import MULTIPROCESSORS
from gpuexplorer.backends.cuda.runner import CudaRunner
from gpuexplorer.backends.cuda.session import CudaSession, LoadedKernel
from gpuexplorer.compile.bound_symbols import written_symbols
from gpuexplorer.compile.targets import is_ptx
from gpuexplorer.core.config import Block
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import BlockTooLarge
from gpuexplorer.core.result import Resources
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.plan import KernelLaunch, Plan

DRIVER_COMPILED = "the driver compiled PTX for {}, as NVRTC does not know this GPU"


class BuiltStep(msgspec.Struct, frozen=True):
    """One step compiled: a cubin or PTX, the kernel's symbol in it, and its typed arguments."""

    code: bytes
    target: str
    """What it was compiled for: ``sm_90a``, or ``compute_90`` for PTX."""
    symbol: str
    arguments: list[str | np.generic]
    variables: dict[str, str | npt.NDArray[np.generic]] = msgspec.field(default_factory=dict)
    """What belongs to variables outside of functions, by their symbols: an array, or a number."""


Build = Callable[[Plan, KernelLaunch], BuiltStep]


@dataclass
class _Step:
    step: KernelLaunch
    kernel: LoadedKernel
    arguments: list[str | np.generic]
    variables: list[tuple[int, str | npt.NDArray[np.generic]]]
    """Addresses of variables outside of functions, and what belongs there."""
    packed: PackedArguments | None = None


class KernelRunner(CudaRunner):
    """Compiles, loads and launches the steps of a variant."""

    def __init__(self, plan: Plan, device: DeviceInfo, session: CudaSession, build: Build) -> None:
        """``build`` compiles one step for the device's exact architecture."""
        super().__init__(plan, device, session)
        self._build = build
        self._steps: list[_Step] = []
        self._ptx = ""
        """The architecture of the PTX that the driver compiled; empty where NVRTC did it all."""

    @property
    def method(self) -> str:
        """How launches are timed, what the caches hold, and who compiled, where that is unusual."""
        if not self._ptx:
            return super().method
        return f"{super().method}; {DRIVER_COMPILED.format(self._ptx)}"

    def build(self) -> None:
        """Compile every step and check that the device can launch it."""
        super().build()
        self._steps = []
        for step in self.plan.steps:
            built = self._build(self.plan, step)
            with self.session.explained(f"loading '{step.entry}'"):
                kernel = self.session.load(built.code, built.symbol)
                variables = [
                    (self.session.variable(built.code, symbol), value)
                    for symbol, value in built.variables.items()
                ]
            self._ptx = built.target if is_ptx(built.target) else ""
            _check(step, kernel, self.device)
            self._allow_shared(kernel, step.entry, step.shared_B)
            self._steps.append(_Step(step, kernel, built.arguments, variables))
        self._loaded = all(self.session.was_launched(s.kernel.function) for s in self._steps)
        if self.arrays is not None:
            self._bind()

    def launch(self, count: int) -> Batch:
        """Run ``count`` launches; the very first of a kernel is not held back until queued."""
        self._fill_variables()
        batch = super().launch(count)
        self._remember_launched()
        return batch

    def launch_alone(self, marks: Marks = nullcontext) -> None:
        """Run one launch and wait, without events or the gate."""
        self._fill_variables()
        super().launch_alone(marks)

    def launch_plain(self) -> None:
        """Run one launch on inputs just uploaded and wait, without events or the gate."""
        self._fill_variables()
        super().launch_plain()

    def download(self, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy arrays to the host and wait, those of variables outside of functions from there."""
        with self.session.explained(f"reading the variables of {self._what}"):
            for step in self._steps:
                written = written_symbols(self.plan, step.step)
                for address, value in step.variables:
                    if isinstance(value, str) and value in written and value in names:
                        self._allocated.copy_from(address, value)
        return super().download(names)

    def _were_set_back(self) -> None:
        for step in self._steps:
            for address, value in step.variables:
                if isinstance(value, str) and value in self.plan.reset:
                    self._allocated.copy_to(address, value)

    def _fill_variables(self) -> None:
        """Fill variables outside of functions, which all runners of a program share."""
        if not any(step.variables for step in self._steps):
            return
        with self.session.explained(f"filling the variables of {self._what}"):
            for step in self._steps:
                for address, value in step.variables:
                    self._allocated.copy_to(address, value)
            self.session.wait()

    def predict_s(self) -> float:
        """Estimate one launch's seconds from parts of each step's grid.

        Each part begins with the arrays set back, and no step takes for an index what a scratch
        array held before: poison, or a longer run's numbers.
        """
        self._fill_variables()
        with self.session.explained(f"running a part of {self._what}"):
            self._clear_indices("scratch")
            total_s = sum(self._predict_step_s(step) for step in self._steps)
        self._remember_launched()
        return total_s

    def resources(self) -> Resources:
        """Return what the step with the sliders' block takes, and how full a multiprocessor is."""
        first = self._steps[self.plan.main_step]
        threads = first.step.threads_per_block
        shared_B = first.kernel.static_shared_B + first.step.shared_B
        limits = multiprocessor_limits(self.session.facts)
        share = limiter = None
        if limits is not None:
            share = self.resident_blocks(self.plan.main_step) * -(-threads // WARP) / limits.warps
            limiter = occupancy(limits, threads, first.kernel.registers, shared_B).limiter
        return Resources(
            registers_per_thread=first.kernel.registers,
            shared_B=shared_B,
            local_B=first.kernel.local_B,
            occupancy=share,
            occupancy_limiter=limiter,
        )

    # ---- what the driver says of the kernels

    @property
    def kernels(self) -> tuple[LoadedKernel, ...]:
        """The loaded kernel of each step, with what it takes."""
        return tuple(step.kernel for step in self._steps)

    def resident_blocks(
        self, index: int = 0, threads: int | None = None, dynamic_B: int | None = None
    ) -> int:
        """Return how many blocks of step ``index`` one multiprocessor holds, by the driver's word.

        ``threads`` a block and ``dynamic_B`` (dynamic shared memory of a block, in bytes) are the
        step's own unless given. Nothing is launched.
        """
        step = self._steps[index]
        if dynamic_B is None:
            dynamic_B = step.step.shared_B
        self._allow_shared(step.kernel, step.step.entry, dynamic_B)
        return self._resident(step.kernel, threads or step.step.threads_per_block, dynamic_B)

    def _resident(self, kernel: LoadedKernel, threads: int, dynamic_B: int) -> int:
        with self.session.explained(f"asking for the occupancy of {self._what}"):
            query = self.session.api.driver.occupancyMaxActiveBlocksPerMultiprocessor
            return int(query(kernel.function, threads, dynamic_B))

    def _allow_shared(self, kernel: LoadedKernel, entry: str, dynamic_B: int) -> None:
        """Tell the driver that a kernel may use more shared memory than the usual."""
        with self.session.explained(f"giving '{entry}' more shared memory"):
            self.session.allow_dynamic(kernel, dynamic_B)

    # ---- launching

    def _bind(self) -> None:
        pointers = self._allocated.pointers
        for step in self._steps:
            step.packed = PackedArguments(step.arguments, pointers)

    def _run_once(self) -> None:
        for step in self._steps:
            self._queue(step, step.step.grid)

    @property
    def _operations(self) -> int:
        return len(self._steps)

    def _queue(self, step: _Step, grid: Block) -> None:
        assert step.packed is not None
        self.session.api.driver.launchKernel(
            step.kernel.function,
            *grid,
            *step.step.block,
            step.step.shared_B,
            self.session.stream,
            step.packed.address,
            0,
        )

    def _remember_launched(self) -> None:
        self._loaded = True
        for step in self._steps:
            self.session.remember_launched(step.kernel.function)

    # ---- prediction

    def _predict_step_s(self, step: _Step) -> float:
        threads, shared_B = step.step.threads_per_block, step.step.shared_B
        resident = max(1, self._resident(step.kernel, threads, shared_B))
        resident *= self.session.facts.needed(MULTIPROCESSORS)

        set_back = self._set_back if self.plan.reset else None

        def time_s(grid: Block) -> float:
            work = timing.Work(lambda: self._queue(step, grid), set_back, 1)
            batch = timing.time_launches(self.session, work, 1, gated=False)
            return float(batch.seconds[0])

        at_once = min(resident, math.prod(step.step.grid))
        return predict_s(step.step.grid, at_once, time_s, step.kernel.cluster)


def _check(step: KernelLaunch, kernel: LoadedKernel, device: DeviceInfo) -> None:
    """Raise BlockTooLarge when the compiled kernel cannot be launched with this block."""
    if step.threads_per_block > kernel.max_threads_per_block:
        raise BlockTooLarge(
            f"'{step.entry}' with its {kernel.registers} registers a thread and its "
            f"__launch_bounds__, if any, takes blocks of at most {kernel.max_threads_per_block} "
            f"threads, not {step.threads_per_block}",
            remedy="make the block smaller",
        )
    shared_B = kernel.static_shared_B + step.shared_B
    if shared_B > device.limits.max_shared_B:
        raise BlockTooLarge(
            f"'{step.entry}' needs {quantity(shared_B, 'B')} of shared memory, and {device.id} "
            f"gives a block {quantity(device.limits.max_shared_B, 'B')}",
            remedy="make the tile or the block smaller",
        )


# ---- how long a launch takes
# How long a launch will take, from launches of a part of its grid.


LONG_ENOUGH_S = 0.002
"""A probe this long is well above what a launch itself costs."""
TOO_LONG_TO_REPEAT_S = 0.1
GROWTH = 4


def partial_grid(grid: Block, blocks: int, cluster: Block = (1, 1, 1)) -> Block:
    """Return the part of a grid with about ``blocks`` blocks, filled along x, then y, then z.

    It is made of whole clusters, as the grid is.
    """

    def along(axis: int, wanted: int) -> int:
        return min(grid[axis], -(-max(1, wanted) // cluster[axis]) * cluster[axis])

    x = along(0, blocks)
    y = along(1, -(-blocks // x))
    return x, y, along(2, -(-blocks // (x * y)))


def predict_s(
    grid: Block,
    resident_blocks: int,
    time_s: Callable[[Block], float],
    cluster: Block = (1, 1, 1),
) -> float:
    """Estimate the seconds of a whole grid.

    ``resident_blocks`` is how many blocks run on the device at once; ``time_s`` runs a part of the
    grid and returns its seconds. The probes grow from one resident set until one takes long enough
    to tell, and the rest is extrapolated along the line through the last two. A kernel that strides
    by its grid does all of its work in every probe; its line is flat, and the estimate is then the
    probe's own time. Where only one probe could be afforded the estimate is the upper bound: every
    further resident set takes as long as the first.
    """
    total = math.prod(grid)
    part = partial_grid(grid, max(1, resident_blocks), cluster)
    blocks, seconds = math.prod(part), time_s(part)
    if seconds < TOO_LONG_TO_REPEAT_S:
        seconds = time_s(part)  # the first may have waited for the kernel to be loaded
    while blocks < total:
        if seconds >= TOO_LONG_TO_REPEAT_S:
            return seconds * math.ceil(total / blocks)
        larger = partial_grid(grid, blocks * GROWTH, cluster)
        larger_blocks, larger_s = math.prod(larger), time_s(larger)
        per_block_s = max(0.0, (larger_s - seconds) / (larger_blocks - blocks))
        blocks, seconds = larger_blocks, larger_s
        if seconds >= LONG_ENOUGH_S:
            return seconds + per_block_s * (total - blocks)
    return seconds
