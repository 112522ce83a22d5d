"""Kernels compiled while others are measured on a GPU, so that no turn waits for a compiler.

Compiling is done in processes of its own (``engine.compiler``), which give way to the engine's, and
ends up in the cache on disk, where the engine's build finds it. Nothing is compiled ahead while a
CPU device is measured: the compiler would take the very cores.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from gpuexplorer.analysis.static import CompileRequest, KernelFigures
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import Cancelled, ExplorerError
from gpuexplorer.engine.compiler import Compiler
from gpuexplorer.search.order import Key, build_key
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload

MOST_WORKERS = 4
MOST_AHEAD = 32
"""Builds that may be done before their turn; the cache on disk is not endless."""
AT_ONCE = 4
"""Builds of one process: it takes as long to start as a kernel to compile."""


class Compiles(Protocol):
    """Compiles requests; ``engine.compiler.Compiler`` does."""

    def figures(self, requests: Sequence[CompileRequest]) -> list[list[KernelFigures]]:
        """Compile all; raise ExplorerError for the first that cannot be."""

    def cancel(self) -> None:
        """Give up; from any thread."""


class BuildAhead:
    """Compiles what comes next on an NVIDIA GPU; an ``Ahead`` of ``search.sweep``."""

    def __init__(
        self,
        workload: Workload,
        devices: DeviceList,
        python: str | None = None,
        *,
        workers: int | None = None,
        compiler: Callable[[], Compiles] | None = None,
    ) -> None:
        """``python`` is the engine's interpreter; ``compiler`` makes what compiles."""
        self._workload = workload
        self._devices = {device.id: device for device in devices}
        self._workers = workers or max(1, min(MOST_WORKERS, (os.cpu_count() or 2) - 1))
        self._compiler = compiler or (lambda: Compiler(python))
        self._changed = threading.Condition()
        self._coming: Sequence[RunConfig] = ()
        self._builds: deque[int] = deque()
        """The turns whose builds were not begun yet, in order."""
        self._begun: deque[int] = deque()
        """The turns still to come whose builds were begun."""
        self._on_gpu = self._closed = False
        self._threads: list[threading.Thread] = []
        self._compilers: set[Compiles] = set()

    def begin(self, coming: Sequence[RunConfig]) -> None:
        """Take in what will be measured, in order; nothing is compiled before ``at``."""
        self._coming = coming
        seen: set[Key] = set()
        for turn, config in enumerate(coming):
            key = build_key(config)
            if key not in seen and self._compiled(config):
                if seen:  # the first is the engine's own, at once
                    self._builds.append(turn)
                seen.add(key)

    def at(self, index: int) -> None:
        """Say whose turn it is; compiling goes on only while that runs on a GPU."""
        with self._changed:
            for turns in (self._builds, self._begun):
                while turns and turns[0] <= index:
                    turns.popleft()
            self._on_gpu = self._devices[self._coming[index].device].kind == "gpu"
            if not self._on_gpu:
                self._give_up()
            self._changed.notify_all()
            if self._on_gpu and self._builds and not self._threads:
                self._start()

    def close(self) -> None:
        """Stop compiling and wait until nothing of it is left."""
        with self._changed:
            self._closed = True
            self._give_up()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _compiled(self, config: RunConfig) -> bool:
        """Whether a configuration is a kernel that is compiled for an NVIDIA GPU."""
        device = self._devices.get(config.device)
        return device is not None and device.backend == "cuda" and config.block is not None

    def _start(self) -> None:
        for number in range(self._workers):
            thread = threading.Thread(target=self._work, name=f"ahead-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _give_up(self) -> None:
        for compiler in self._compilers:
            compiler.cancel()

    def _work(self) -> None:
        while (found := self._next()) is not None:
            compiler, requests = found
            try:
                # What does not compile is the engine's to tell, when its turn comes.
                with suppress(ExplorerError, Cancelled):
                    compiler.figures(requests)
            finally:
                with self._changed:
                    self._compilers.discard(compiler)

    def _next(self) -> tuple[Compiles, list[CompileRequest]] | None:
        """Wait for builds that may be made now; None when there will be none any more."""
        with self._changed:
            while not self._closed and self._builds:
                if self._on_gpu and len(self._begun) < MOST_AHEAD:
                    count = min(AT_ONCE, len(self._builds), MOST_AHEAD - len(self._begun))
                    turns = [self._builds.popleft() for _ in range(count)]
                    self._begun.extend(turns)
                    compiler = self._compiler()
                    self._compilers.add(compiler)
                    return compiler, [r for turn in turns for r in self._requests(turn)]
                self._changed.wait()
            return None

    def _requests(self, turn: int) -> list[CompileRequest]:
        """Return what the engine will compile for a turn, as it will ask for it."""
        config = self._coming[turn]
        device = self._devices[config.device]
        plan = make_plan(self._workload, config, device)
        sources = dict.fromkeys(step.source for step in plan.steps)
        return [
            CompileRequest(
                source=source,
                files=plan.files,
                arch=exact_arch(device),
                precision=config.precision,
                defines=plan.defines,
                entries=tuple(sorted({s.entry for s in plan.steps if s.source == source})),
            )
            for source in sources
        ]


def exact_arch(device: DeviceInfo) -> str:
    """Return what the engine compiles for, such as ``sm_90a``; ``compute_90`` for PTX.

    Of a chip with instructions of its own the device lists ``sm_90`` and ``sm_90a``, in this order.
    """
    return [one for one in device.features if one.startswith(("sm_", "compute_"))][-1]
