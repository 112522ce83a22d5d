"""NVIDIA's driver library asked directly, so that nothing is imported where there is no GPU.

CuPy's device properties are no substitute: it turns the UUID's 16 bytes into a C string, which
ends at the first zero byte.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import uuid
from typing import Any

import msgspec
from msgspec.structs import replace

from gpuexplorer.backends.cuda import nvml
from gpuexplorer.core.device import DISPLAY_LAUNCH_S

SUCCESS = 0
NO_DEVICE = 100
NOT_FOUND = 500
_INSTANCE = re.compile(r"\bMIG \d+[cg]\.")
"""In a device's name, a MIG instance's profile: ``NVIDIA H100 80GB HBM3 MIG 1g.10gb``."""

# CUdevice_attribute, cuda.h
MAX_THREADS_PER_BLOCK = 1
MAX_BLOCK_DIM = (2, 3, 4)
MAX_GRID_DIM = (5, 6, 7)
MAX_SHARED_PER_BLOCK = 8
CLOCK_kHz = 13
MULTIPROCESSORS = 16
KERNEL_TIME_LIMIT = 17
CAN_MAP_HOST_MEMORY = 19
MEMORY_CLOCK_kHz = 36
MEMORY_BUS_WIDTH_bit = 37
L2_CACHE_B = 38
MAX_THREADS_PER_MULTIPROCESSOR = 39
CAPABILITY = (75, 76)
MAX_SHARED_PER_MULTIPROCESSOR = 81
MAX_REGISTERS_PER_MULTIPROCESSOR = 82
MAX_SHARED_PER_BLOCK_OPTIN = 97
MAX_BLOCKS_PER_MULTIPROCESSOR = 106
RESERVED_SHARED_PER_BLOCK = 111


class DeviceFacts(msgspec.Struct, frozen=True):
    """What the driver says of one device; None for an attribute it does not know."""

    index: int
    name: str
    uuid: str
    """As NVML writes it: ``GPU-`` and the GPU's, or ``MIG-`` and the instance's."""
    memory_B: int
    attributes: dict[int, int | None]
    max_clock_Hz: float | None = None
    """The highest clock of the multiprocessors by NVML's word."""

    def attribute(self, number: int) -> int | None:
        """Return an attribute's value, or None."""
        return self.attributes.get(number)

    def needed(self, number: int) -> int:
        """Return an attribute that every device has."""
        value = self.attributes[number]
        assert value is not None
        return value

    @property
    def capability(self) -> tuple[int, int]:
        """The compute capability."""
        return self.needed(CAPABILITY[0]), self.needed(CAPABILITY[1])

    @property
    def clock_Hz(self) -> float | None:
        """The highest clock of the multiprocessors, in Hz.

        The driver's own attribute is the rated boost, which many cards exceed.
        """
        clock_kHz = self.attribute(CLOCK_kHz)
        return self.max_clock_Hz or (clock_kHz * 1e3 if clock_kHz else None)

    @property
    def max_launch_s(self) -> float | None:
        """The longest launch that may run, in seconds; None where nothing ends a long one."""
        return DISPLAY_LAUNCH_S if self.attribute(KERNEL_TIME_LIMIT) else None


class DriverError(Exception):
    """A call of the driver library failed."""

    def __init__(self, code: int, name: str) -> None:
        super().__init__(f"{name} ({code})")
        self.code = code


class Driver:
    """The driver library, initialised."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._check(library.cuInit(0))

    @staticmethod
    def load() -> Any | None:
        """Return the driver library, or None when it is not installed."""
        try:
            if sys.platform == "win32":
                return ctypes.WinDLL("nvcuda.dll")
            return ctypes.CDLL("libcuda.so.1")
        except OSError:
            return None

    def _check(self, code: int) -> None:
        if code == SUCCESS:
            return
        text = ctypes.c_char_p()
        found = self._library.cuGetErrorName(code, ctypes.byref(text)) == SUCCESS
        raise DriverError(code, text.value.decode() if found and text.value else "error")

    def _number(self, function: str, *arguments: Any) -> int:
        value = ctypes.c_int()
        self._check(getattr(self._library, function)(ctypes.byref(value), *arguments))
        return value.value

    @property
    def version(self) -> tuple[int, int]:
        """The newest CUDA version this driver runs."""
        number = self._number("cuDriverGetVersion")
        return number // 1000, number % 1000 // 10

    def devices(self) -> list[DeviceFacts]:
        """Return every device, in CUDA's order; where NVML is there, with what it alone knows."""
        found = [self._facts(i) for i in range(self._number("cuDeviceGetCount"))]
        known = nvml.uuids_and_clocks([facts.uuid for facts in found])
        return [
            replace(facts, uuid=uuid, max_clock_Hz=clock_Hz)
            for facts, (uuid, clock_Hz) in zip(found, known, strict=True)
        ]

    def _facts(self, index: int) -> DeviceFacts:
        device = ctypes.c_int(self._number("cuDeviceGet", ctypes.c_int(index)))
        name = ctypes.create_string_buffer(256)
        self._check(self._library.cuDeviceGetName(name, ctypes.c_int(len(name)), device))
        memory_B = ctypes.c_size_t()
        self._check(self._library.cuDeviceTotalMem_v2(ctypes.byref(memory_B), device))
        called = name.value.decode(errors="replace")
        return DeviceFacts(
            index=index,
            name=called,
            uuid=self._uuid(device, called),
            memory_B=memory_B.value,
            attributes={number: self._attribute(number, device) for number in _ATTRIBUTES},
        )

    def _uuid(self, device: ctypes.c_int, name: str) -> str:
        """Return the UUID as NVML writes it; of the MIG instance, where the device is one.

        The newer call gives the instance's UUID and the older one the GPU's, so where they differ
        it is an instance. Its name and the variable that chose it say so, too.
        """
        newer = self._uuid_of("cuDeviceGetUuid_v2", device)
        older = self._uuid_of("cuDeviceGetUuid", device)
        number = newer or older
        if number is None:
            raise DriverError(NOT_FOUND, "CUDA_ERROR_NOT_FOUND")
        is_instance = (
            (older is not None and older != number)
            or _INSTANCE.search(name) is not None
            or f"MIG-{number}" in os.environ.get("CUDA_VISIBLE_DEVICES", "")
        )
        return f"MIG-{number}" if is_instance else f"GPU-{number}"

    def _uuid_of(self, function: str, device: ctypes.c_int) -> uuid.UUID | None:
        """Return what a function says, None where this driver does not have it."""
        call = getattr(self._library, function, None)
        raw = (ctypes.c_ubyte * 16)()
        if call is None or call(ctypes.byref(raw), device) != SUCCESS:
            return None
        return uuid.UUID(bytes=bytes(raw))

    def _attribute(self, number: int, device: ctypes.c_int) -> int | None:
        try:
            return self._number("cuDeviceGetAttribute", ctypes.c_int(number), device)
        except DriverError:
            return None


_ATTRIBUTES = (
    MAX_THREADS_PER_BLOCK, *MAX_BLOCK_DIM, *MAX_GRID_DIM, MAX_SHARED_PER_BLOCK, CLOCK_kHz,
    MULTIPROCESSORS, KERNEL_TIME_LIMIT, CAN_MAP_HOST_MEMORY, MEMORY_CLOCK_kHz,
    MEMORY_BUS_WIDTH_bit, L2_CACHE_B,
    MAX_THREADS_PER_MULTIPROCESSOR, *CAPABILITY, MAX_SHARED_PER_MULTIPROCESSOR,
    MAX_REGISTERS_PER_MULTIPROCESSOR, MAX_SHARED_PER_BLOCK_OPTIN, MAX_BLOCKS_PER_MULTIPROCESSOR,
    RESERVED_SHARED_PER_BLOCK,
)  # fmt: skip
