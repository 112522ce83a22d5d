"""What stays open on a device between runs: context, stream, gate, events, loaded kernels."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import ReferenceType, ref

import msgspec

from gpuexplorer.backends.caches import FLUSH_FACTOR
from gpuexplorer.backends.cuda import errors, gate
from gpuexplorer.backends.cuda.driver import (
    CAN_MAP_HOST_MEMORY,
    MULTIPROCESSORS,
    DeviceFacts,
)
from gpuexplorer.core.config import Block
from gpuexplorer.core.errors import DeviceLost

_log = logging.getLogger(__name__)
_NO_GATE = "launches are not queued behind a gate: %s"
MAX_MODULES = 64
"""Modules that stay on the device though nobody holds a kernel of theirs."""
USUAL_SHARED_B = 48 * 1024
"""Above this a kernel has to be told that it may use more."""
CLUSTERS_FROM = (9, 0)
"""The first compute capability that has clusters of blocks."""
CLUSTER = (11, 12, 13)
"""A kernel's cluster along x, y, z: CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, HEIGHT and DEPTH of
cuda.h, of which CuPy has no names. All are 0 where a kernel has none."""


class Api(msgspec.Struct, frozen=True):
    """CuPy's thin wrappers of the runtime and the driver."""

    runtime: Any
    driver: Any
    make_stream: Callable[[], Any]
    """Makes a stream that waits for no other; CuPy's functions queue on it inside ``with``."""

    @staticmethod
    def of_cupy() -> Api:
        """Import them."""
        import cupy
        from cupy.cuda import driver, runtime

        make_stream = functools.partial(cupy.cuda.Stream, non_blocking=True)
        return Api(runtime=runtime, driver=driver, make_stream=make_stream)


class LoadedKernel(msgspec.Struct, frozen=True, weakref=True):
    """A function of a loaded module, and what it takes.

    Its module stays on the device as long as somebody holds this.
    """

    function: int
    registers: int
    static_shared_B: int
    local_B: int
    max_threads_per_block: int
    cluster: Block = (1, 1, 1)
    """The blocks that run together, along x, y, z: a grid is made of whole clusters."""


@dataclass
class _Module:
    """Code on the device, and its kernels by their symbols, as long as somebody holds them."""

    handle: int
    kernels: dict[str, ReferenceType[LoadedKernel]] = field(default_factory=dict)
    functions: set[int] = field(default_factory=set)

    def kernel(self, symbol: str) -> LoadedKernel | None:
        found = self.kernels.get(symbol)
        return None if found is None else found()

    @property
    def is_held(self) -> bool:
        return any(found() is not None for found in self.kernels.values())


class CudaSession:
    """One device, opened for the life of the process; used from one thread."""

    def __init__(
        self, facts: DeviceFacts, api: Api, compile_gate: Callable[[], bytes] | None
    ) -> None:
        """Open the device; ``compile_gate`` returns the gate's cubin or PTX, None for no gate."""
        self.facts = facts
        self.api = api
        self.gate: gate.Gate | None = None
        self._lost = False
        self._modules: dict[bytes, _Module] = {}
        """By their code, those used lately last."""
        self._gate_kernels: list[LoadedKernel] = []
        self._launched: set[int] = set()
        self._dynamic_B: dict[int, int] = {}
        """The dynamic shared memory that each function was allowed, in bytes."""
        self._events: list[int] = []
        self._flush: tuple[int, int] | None = None
        with self.explained("opening the device"):
            self.activate()
            self.cupy_stream = api.make_stream()
            self.stream = int(self.cupy_stream.ptr)
            waiting = api.runtime.eventBlockingSync | api.runtime.eventDisableTiming
            self._done = int(api.runtime.eventCreateWithFlags(waiting))
        if compile_gate is not None:
            self._try_gate(compile_gate)

    def activate(self) -> None:
        """Make this device current, with its context."""
        self.api.runtime.setDevice(self.facts.index)
        self.api.runtime.memGetInfo()  # the driver's calls need the context to exist

    def _try_gate(self, compile_gate: Callable[[], bytes]) -> None:
        """Have a gate if one works here; without one, launches are timed as they come.

        A profiler may make every launch wait for its end, the compiler may not know the device.
        """
        if gate.launches_block():
            return
        if not self.facts.attribute(CAN_MAP_HOST_MEMORY):
            _log.warning(_NO_GATE, "no host-mapped memory")
            return
        try:
            with self.explained("opening the gate"):
                self.gate = self._opened_gate(compile_gate())
        except DeviceLost:
            raise
        except Exception as error:  # noqa: BLE001  all but the gate may work
            _log.warning(_NO_GATE, error)

    def _opened_gate(self, code: bytes) -> gate.Gate | None:
        """Return a gate that holds launches back; None where something makes each one wait.

        After an error its memory stays: its kernel may still be looking at it.
        """
        self._gate_kernels = [self.load(code, entry) for entry in gate.ENTRIES]
        opening, end = (kernel.function for kernel in self._gate_kernels)
        multiprocessors = self.facts.needed(MULTIPROCESSORS)
        made = gate.Gate(self.api, (opening, end), self.stream, multiprocessors)
        made.load()
        late = False
        for _ in range(2):  # the first loads the kernel
            with made.closed():
                self.api.runtime.eventRecord(self._done, self.stream)
            self.wait()
            late = made.take_late()
        made.take_clock_Hz()  # of no batch
        if not late:
            return made
        _log.warning(_NO_GATE, "something makes each one wait")
        made.close()
        return None

    @contextmanager
    def explained(self, action: str) -> Iterator[None]:
        """Turn CuPy's errors into sentences; ``action`` is what was tried, in the -ing form."""
        try:
            yield
        except Exception as error:
            known = errors.explain(error, action)
            if known is None:
                raise
            self._lost = self._lost or isinstance(known, DeviceLost)
            raise known from error

    @property
    def lost(self) -> bool:
        """Whether an error ended the context, so that no call works any more."""
        return self._lost

    def wait(self) -> None:
        """Wait for the stream without using the processor."""
        self.api.runtime.eventRecord(self._done, self.stream)
        self.api.runtime.eventSynchronize(self._done)

    def events(self, count: int) -> list[int]:
        """Return at least ``count`` events for timing, the same ones each time."""
        while len(self._events) < count:
            flags = self.api.runtime.eventDefault  # blocking ones would cost time
            self._events.append(int(self.api.runtime.eventCreateWithFlags(flags)))
        return self._events

    def load(self, code: bytes, symbol: str) -> LoadedKernel:
        """Return a kernel of a cubin or of PTX, which the driver compiles, loaded once."""
        driver, module = self.api.driver, self._module(code)
        kernel = module.kernel(symbol)
        if kernel is None:
            function = int(driver.moduleGetFunction(module.handle, symbol))

            def attribute(name: str) -> int:
                number = getattr(driver, f"CU_FUNC_ATTRIBUTE_{name}")
                return int(driver.funcGetAttribute(number, function))

            def cluster() -> Block:
                if self.facts.capability < CLUSTERS_FROM:
                    return 1, 1, 1
                x, y, z = (max(1, int(driver.funcGetAttribute(n, function))) for n in CLUSTER)
                return x, y, z

            kernel = LoadedKernel(
                function=function,
                registers=attribute("NUM_REGS"),
                static_shared_B=attribute("SHARED_SIZE_BYTES"),
                local_B=attribute("LOCAL_SIZE_BYTES"),
                max_threads_per_block=attribute("MAX_THREADS_PER_BLOCK"),
                cluster=cluster(),
            )
            module.kernels[symbol] = ref(kernel)
            module.functions.add(function)
        return kernel

    def variable(self, code: bytes, symbol: str) -> int:
        """Return the address of a variable outside of functions.

        It stays there as long as somebody holds a kernel of the same code.
        """
        return int(self.api.driver.moduleGetGlobal(self._module(code).handle, symbol))

    def _module(self, code: bytes) -> _Module:
        module = self._modules.pop(code, None)
        if module is None:
            self._unload_oldest()
            module = _Module(int(self.api.driver.moduleLoadData(code)))
        self._modules[code] = module
        return module

    def _unload_oldest(self) -> None:
        """Make room for a module: of those of whose kernels nobody holds one, some stay loaded."""
        free = [code for code, module in self._modules.items() if not module.is_held]
        for code in free[: max(0, len(free) - MAX_MODULES + 1)]:
            self.wait()  # for what was launched of it last
            module = self._modules.pop(code)
            self.api.driver.moduleUnload(module.handle)
            self._launched -= module.functions  # another function may get the same handle
            for function in module.functions:
                self._dynamic_B.pop(function, None)

    def allow_dynamic(self, kernel: LoadedKernel, dynamic_B: int) -> None:
        """Let a kernel use so much dynamic shared memory, in bytes; it may use more already.

        Runners share a function, and one that asks for less must not take from another.
        """
        usual_B = USUAL_SHARED_B - kernel.static_shared_B
        if dynamic_B <= max(usual_B, self._dynamic_B.get(kernel.function, 0)):
            return
        driver = self.api.driver
        attribute = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        driver.funcSetAttribute(kernel.function, attribute, dynamic_B)
        self._dynamic_B[kernel.function] = dynamic_B

    def was_launched(self, function: int) -> bool:
        """Return whether a kernel was launched before, so that its code is on the device."""
        return function in self._launched

    def remember_launched(self, function: int) -> None:
        """Note that a kernel was launched."""
        self._launched.add(function)

    def flush_span(self, l2_B: int) -> tuple[int, int]:
        """Return address and length of memory whose writing empties the L2 cache."""
        if self._flush is None:
            nbytes = FLUSH_FACTOR * l2_B
            self._flush = (int(self.api.runtime.malloc(nbytes)), nbytes)
            # Once now: what writes so much may have to be loaded, for which a closed gate is shut.
            self.api.runtime.memsetAsync(self._flush[0], 0, nbytes, self.stream)
            self.wait()
        return self._flush

    def close(self) -> None:
        """Give everything back, unless the context is lost."""
        if self._lost:
            return
        with self.explained("closing the device"):
            self.activate()
            self.api.runtime.streamSynchronize(self.stream)
            if self.gate is not None:
                self.gate.close()
            for event in [*self._events, self._done]:
                self.api.runtime.eventDestroy(event)
            if self._flush is not None:
                self.api.runtime.free(self._flush[0])
            for module in self._modules.values():
                self.api.driver.moduleUnload(module.handle)
            del self.cupy_stream
