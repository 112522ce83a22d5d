"""NVIDIA's driver library for tests without one, called by ctypes' rules.

``test_fake_driver`` holds its functions against the declarations that come with ``cuda-bindings``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from gpuexplorer.backends.cuda import driver as cu

GPU = UUID("00112233-4455-6677-8899-aabbccddeeff")
INSTANCE = UUID("11112233-4455-6677-8899-aabbccddeeff")


@dataclass
class FakeDevice:
    """One CUDA device; ``uuid`` is a MIG instance's own, ``physical`` that of the GPU."""

    name: str = "NVIDIA Test"
    uuid: UUID = GPU
    physical: UUID | None = GPU
    """None: this driver has no function that tells it."""
    attributes: dict[int, int] = field(default_factory=dict)
    memory_B: int = 1 << 34


class FakeDriver:
    """A library with devices; an attribute that a device lacks is an invalid value."""

    def __init__(self, *devices: FakeDevice) -> None:
        self._devices = devices or (FakeDevice(),)
        if any(device.physical is None for device in self._devices):
            self.__dict__["cuDeviceGetUuid"] = None

    def cuInit(self, flags: int) -> int:
        return 0

    def cuGetErrorName(self, error: int, name: Any) -> int:
        return 1

    def cuDriverGetVersion(self, version: Any) -> int:
        version._obj.value = 13000
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = len(self._devices)
        return 0

    def cuDeviceGet(self, device: Any, ordinal: Any) -> int:
        device._obj.value = ordinal.value
        return 0

    def cuDeviceGetName(self, name: Any, length: Any, device: Any) -> int:
        name.value = self._devices[device.value].name.encode()[: length.value - 1]
        return 0

    def cuDeviceTotalMem_v2(self, size_B: Any, device: Any) -> int:
        size_B._obj.value = self._devices[device.value].memory_B
        return 0

    def cuDeviceGetUuid_v2(self, raw: Any, device: Any) -> int:
        raw._obj[:] = list(self._devices[device.value].uuid.bytes)
        return 0

    def cuDeviceGetUuid(self, raw: Any, device: Any) -> int:
        physical = self._devices[device.value].physical
        assert physical is not None
        raw._obj[:] = list(physical.bytes)
        return 0

    def cuDeviceGetAttribute(self, value: Any, attribute: Any, device: Any) -> int:
        found = self._devices[device.value].attributes.get(attribute.value)
        if found is None:
            return 1
        value._obj.value = found
        return 0


def devices(*made: FakeDevice) -> list[cu.DeviceFacts]:
    """Return what discovery says of devices."""
    return cu.Driver(FakeDriver(*made)).devices()
