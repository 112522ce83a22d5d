"""CUDA on the host, for tests of what surrounds it: one in-order queue over ordinary memory.

Only the order of things is real: what is queued runs when the host waits, and not before. Function
names and arguments are those of CuPy's wrappers; ``test_signatures`` holds them together.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from gpuexplorer.backends.cuda import driver as cu
from gpuexplorer.backends.cuda import gate
from gpuexplorer.backends.cuda.driver import DeviceFacts
from gpuexplorer.backends.cuda.session import Api

FACTS = DeviceFacts(
    index=0,
    name="NVIDIA Test",
    uuid="GPU-00112233-4455-6677-8899-aabbccddeeff",
    memory_B=1 << 30,
    attributes={
        cu.MAX_THREADS_PER_BLOCK: 1024,
        **dict(zip(cu.MAX_BLOCK_DIM, (1024, 1024, 64), strict=True)),
        **dict(zip(cu.MAX_GRID_DIM, (2**31 - 1, 65535, 65535), strict=True)),
        cu.MAX_SHARED_PER_BLOCK: 48 * 1024,
        cu.MULTIPROCESSORS: 4,
        cu.CAN_MAP_HOST_MEMORY: 1,
        cu.MEMORY_CLOCK_kHz: 3_201_000,
        cu.MEMORY_BUS_WIDTH_bit: 6144,
        cu.L2_CACHE_B: 1 << 16,
        cu.MAX_THREADS_PER_MULTIPROCESSOR: 2048,
        **dict(zip(cu.CAPABILITY, (9, 0), strict=True)),
        cu.MAX_SHARED_PER_MULTIPROCESSOR: 228 * 1024,
        cu.MAX_REGISTERS_PER_MULTIPROCESSOR: 65536,
        cu.MAX_SHARED_PER_BLOCK_OPTIN: 227 * 1024,
        cu.MAX_BLOCKS_PER_MULTIPROCESSOR: 32,
        cu.RESERVED_SHARED_PER_BLOCK: 1024,
    },
)
"""A device like an H200 with four multiprocessors."""


class CUDARuntimeError(RuntimeError):
    """An error as CuPy raises it."""

    def __init__(self, status: int) -> None:
        super().__init__(f"cudaError{status}")
        self.status = status


@dataclass(frozen=True)
class LaunchCall:
    """One kernel as it ran; ``words`` are the first 8 bytes of each argument."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_B: int
    words: tuple[int, ...]


Kernel = tuple[int, Callable[[LaunchCall], None]]
"""How many arguments it takes, and what it does."""


@dataclass
class FakeCuda:
    """State of the one device; kernels are Python functions by symbol."""

    kernels: dict[str, Kernel] = field(default_factory=dict)
    variables: dict[str, int] = field(default_factory=dict)
    """Addresses of variables outside of functions, by their symbols."""
    seconds: Callable[[LaunchCall], float] = lambda call: 1e-5
    ran: list[str] = field(default_factory=list)
    """What ran, in order."""
    most_behind_gate: int = 0
    fail_malloc: bool = False
    fail_wait: int | None = None
    registers: int = 32
    cluster: tuple[int, int, int] = (0, 0, 0)
    """Of every kernel; zeros where they have none."""
    gate_opens_late: bool = False
    clock_Hz: float = 1.5e9
    same_multiprocessor: bool = True
    """Whether the gate's end runs where the gate ran."""

    def __post_init__(self) -> None:
        self._ids = itertools.count(1)
        self.modules: dict[int, bytes] = {}
        """What is loaded."""
        self._functions: dict[tuple[int, str], int] = {}
        self._symbols: dict[int, str] = {}
        self._memory: dict[int, Any] = {}
        self._queue: list[tuple[str, Callable[[], object]]] = []
        self._times: dict[int, float] = {}
        self._now = 0.0
        self.kernel_spans: list[tuple[str, float, float]] = []
        """Name, start and end of each kernel, in seconds."""
        self.attributes: list[tuple[int, int]] = []
        self.event_flags: dict[int, int] = {}
        """With which flags each event was made."""
        self.api = Api(
            runtime=SimpleNamespace(
                **{n.removeprefix("rt_"): getattr(self, n) for n in dir(self) if n[:3] == "rt_"},
                hostAllocMapped=2, hostAllocPortable=1, eventDefault=0, eventBlockingSync=1,
                eventDisableTiming=2, streamNonBlocking=1,
                memcpyHostToDevice=1, memcpyDeviceToHost=2, memcpyDeviceToDevice=3,
            ),
            driver=SimpleNamespace(
                **{n.removeprefix("cu_"): getattr(self, n) for n in dir(self) if n[:3] == "cu_"},
                CU_FUNC_ATTRIBUTE_NUM_REGS=4, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES=1,
                CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES=3, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK=0,
                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8,
            ),
            make_stream=lambda: _Stream(),
        )  # fmt: skip

    @property
    def allocated(self) -> int:
        """How many allocations are open."""
        return len(self._memory)

    def host_works(self, seconds: float) -> None:
        """Have so much time pass before the device is given anything more."""
        self._queue.append(("host", lambda: setattr(self, "_now", self._now + seconds)))

    # ---- memory

    def _allocate(self, size: int) -> int:
        buffer = ctypes.create_string_buffer(size)
        address = ctypes.addressof(buffer)
        self._memory[address] = buffer
        return address

    def rt_malloc(self, size: int) -> int:
        if self.fail_malloc:
            raise CUDARuntimeError(2)
        return self._allocate(size)

    def rt_free(self, ptr: int) -> None:
        del self._memory[ptr]

    def rt_hostAlloc(self, size: int, flags: int) -> int:
        return self._allocate(size)

    def rt_freeHost(self, ptr: int) -> None:
        del self._memory[ptr]

    def rt_pointerGetAttributes(self, ptr: int) -> Any:
        return SimpleNamespace(devicePointer=ptr)

    def rt_memcpyAsync(self, dst: int, src: int, size: int, kind: int, stream: int) -> None:
        self._queue.append(("copy", functools.partial(ctypes.memmove, dst, src, size)))

    def rt_memsetAsync(self, ptr: int, value: int, size: int, stream: int) -> None:
        self._queue.append(("set", functools.partial(ctypes.memset, ptr, value, size)))

    def rt_memGetInfo(self) -> tuple[int, int]:
        return 1 << 30, 1 << 30

    def rt_setDevice(self, device: int) -> None:
        assert device == 0

    # ---- streams and events

    def rt_eventCreateWithFlags(self, flags: int) -> int:
        event = next(self._ids)
        self.event_flags[event] = flags
        return event

    def rt_eventDestroy(self, event: int) -> None:
        self._times.pop(event, None)

    def rt_eventRecord(self, event: int, stream: int) -> None:
        self._queue.append(("event", lambda: self._times.__setitem__(event, self._now)))

    def rt_eventSynchronize(self, event: int) -> None:
        assert self.event_flags[event] & 1, "waiting for this event takes the processor"
        self._drain()

    def rt_streamSynchronize(self, stream: int) -> None:
        self._drain()

    def rt_eventElapsedTime(self, start: int, end: int) -> float:
        return (self._times[end] - self._times[start]) * 1e3

    def _drain(self) -> None:
        if self.fail_wait is not None:
            raise CUDARuntimeError(self.fail_wait)
        behind = 0
        for name, action in self._queue:
            behind = 0 if name == "gate" else behind + 1
            self.most_behind_gate = max(self.most_behind_gate, behind)
            self.ran.append(name)
            action()
        self._queue.clear()

    # ---- kernels

    def cu_moduleLoadData(self, image: bytes) -> int:
        module = next(self._ids)
        self.modules[module] = image
        return module

    def cu_moduleUnload(self, module: int) -> None:
        assert not self._queue  # what is launched may still run
        del self.modules[module]
        for key in [key for key in self._functions if key[0] == module]:
            del self._symbols[self._functions.pop(key)]

    def cu_moduleGetFunction(self, module: int, funcname: str) -> int:
        assert module in self.modules
        if (module, funcname) not in self._functions:
            function = self._functions[module, funcname] = next(self._ids)
            self._symbols[function] = funcname
        return self._functions[module, funcname]

    def cu_moduleGetGlobal(self, module: int, varname: str) -> int:
        return self.variables[varname]

    def cu_funcGetAttribute(self, attribute: int, f: int) -> int:
        x, y, z = self.cluster
        return {4: self.registers, 1: 1024, 3: 0, 0: 1024, 11: x, 12: y, 13: z}[attribute]

    def cu_funcSetAttribute(self, f: int, attribute: int, value: int) -> None:
        self.attributes.append((attribute, value))

    def cu_occupancyMaxActiveBlocksPerMultiprocessor(
        self, func: int, blockSize: int, dynamicSMemSize: int
    ) -> int:
        return max(1, min(32, 2048 // blockSize))

    def cu_launchKernel(
        self, f: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int,
        shared_mem_bytes: int, stream: int, kernel_params: int, extra: int,
    ) -> None:  # fmt: skip
        symbol = self._symbols[f]
        counts = {gate.ENTRY: 4, gate.END: 2}
        words = _words(kernel_params, counts.get(symbol) or self.kernels[symbol][0])
        call = LaunchCall((gx, gy, gz), (bx, by, bz), shared_mem_bytes, words)
        if symbol == gate.ENTRY:
            self._queue.append(("gate", lambda: self._gate(call)))
        elif symbol == gate.END:
            self._queue.append(("end", lambda: self._gate_end(call)))
        else:
            self._queue.append((symbol, lambda: self._kernel(symbol, call)))

    def _gate(self, call: LaunchCall) -> None:
        flag = (ctypes.c_uint32 * 2).from_address(call.words[0])
        ticket = call.words[2] & 0xFFFFFFFF
        still_shut = (flag[0] - ticket) & 0x80000000
        if still_shut or self.gate_opens_late:
            flag[1] = ticket
        else:
            self._stamp(call.words[1], ticket << 32 | 3, 0)
        self.kernel_spans.append((gate.ENTRY, self._now, self._now))

    def _gate_end(self, call: LaunchCall) -> None:
        here = (call.words[1] & 0xFFFFFFFF) << 32 | 3
        if self.same_multiprocessor and ctypes.c_uint64.from_address(call.words[0]).value == here:
            self._stamp(call.words[0], here, 3)

    def _stamp(self, address: int, here: int, first: int) -> None:
        words = (ctypes.c_uint64 * 6).from_address(address)
        words[first] = here
        words[first + 1] = round(self._now * self.clock_Hz)
        words[first + 2] = round(self._now * 1e9)

    def _kernel(self, symbol: str, call: LaunchCall) -> None:
        self.kernels[symbol][1](call)
        began = self._now
        self._now += self.seconds(call)
        self.kernel_spans.append((symbol, began, self._now))


def _words(table: int, count: int) -> tuple[int, ...]:
    """Return the first 8 bytes behind each pointer of an argument table."""
    pointers = (ctypes.c_void_p * count).from_address(table)
    return tuple(ctypes.c_uint64.from_address(pointer).value for pointer in pointers if pointer)


class _Stream(nullcontext[None]):
    """A stream on which CuPy's functions queue inside ``with``, and nowhere else."""

    ptr = 77
    is_current = False

    def __enter__(self) -> None:
        self.is_current = True

    def __exit__(self, *error: object) -> None:
        self.is_current = False
