"""A GPU as ``pynvml`` shows it, for tests without one."""

from __future__ import annotations

import ctypes
import inspect
from typing import Any, ClassVar

import pynvml

from gpuexplorer.core.device import DeviceInfo

UUID = "GPU-00112233-4455-6677-8899-aabbccddeeff"
MIG = "MIG-11112233-4455-6677-8899-aabbccddeeff"
OF_INSTANCES = {
    "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", "nvmlDeviceGetGpuInstanceId",
    "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses",
}  # fmt: skip
"""What a MIG instance's own handle may be asked."""
_MEMBERS = {
    pynvml.NVML_VALUE_TYPE_DOUBLE: "dVal", pynvml.NVML_VALUE_TYPE_UNSIGNED_INT: "uiVal",
    pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG: "ulVal",
    pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: "ullVal",
    pynvml.NVML_VALUE_TYPE_SIGNED_LONG_LONG: "sllVal", pynvml.NVML_VALUE_TYPE_SIGNED_INT: "siVal",
    pynvml.NVML_VALUE_TYPE_UNSIGNED_SHORT: "usVal",
}  # fmt: skip


def field(kind: int, status: int, value: float) -> Any:
    """Return a field value of a type as NVML fills it in."""
    made = pynvml.c_nvmlFieldValue_t(valueType=kind, nvmlReturn=status)
    setattr(made.value, _MEMBERS[kind], value)
    return made


def gpu(hardware_id: str = UUID, kind: str = "gpu", **more: Any) -> DeviceInfo:
    """Return a GPU that NVML is to find."""
    return DeviceInfo(
        id="cuda:0", hardware_id=hardware_id, name="Test", backend="cuda", kind=kind,
        driver="580", compute_units=1, **more,
    )  # fmt: skip


class Nvml:
    """A GPU as ``pynvml`` shows it; ``failing`` holds error codes by function.

    Constants, errors and structures are the real module's, and a call must fit the real function.
    A handle is ``gpu`` or ``instance``, a MIG instance of it, which has no clocks of its own.
    """

    def __init__(self, **failing: int) -> None:
        self.failing = failing
        self.calls: list[str] = []
        self.open = 0
        self.allocated = 0
        self.snapshots = 0
        self._taken: dict[int, int] = {}
        """Which snapshot lies at an address."""
        self.link = (4, 16)
        """Generation and lanes."""
        self.processes: dict[int, tuple[int | None, int]] = {}
        """By number: the memory that a process holds, and how busy it keeps the GPU, in %."""
        self.drawing: set[int] = set()
        """Which of them draw, too."""
        self.fields: dict[int, tuple[int, int, int]] = {
            186: (pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, 0, 412_500),
            185: (pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, 0, 400_000),
            83: (pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, 0, 9_000_000),
            197: (pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, 0, 1000),
            198: (pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, 0, 5000),
        }
        """By number: type, status and value."""

    def __getattr__(self, name: str) -> Any:
        real = getattr(pynvml, name)
        if not name.startswith("nvml"):
            return real

        def call(*arguments: Any) -> Any:
            inspect.signature(real).bind(*arguments)
            self.calls.append(name)
            if name in self.failing:
                raise pynvml.NVMLError(self.failing[name])
            if arguments[:1] == ("instance",) and name not in OF_INSTANCES:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
            return getattr(self, f"_{name}")(*arguments)

        return call

    def _nvmlInit(self) -> None:
        self.open += 1

    def _nvmlShutdown(self) -> None:
        self.open -= 1

    def _nvmlSystemGetDriverVersion(self) -> str:
        return "580.95.05"

    def _nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if uuid not in (UUID, MIG):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return "gpu" if uuid == UUID else "instance"

    def _nvmlDeviceGetHandleByPciBusId(self, address: str) -> str:
        return "gpu"

    def _nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:
        return {pynvml.NVML_CLOCK_SM: 1980, pynvml.NVML_CLOCK_MEM: 3201}[kind]

    def _nvmlDeviceGetMaxClockInfo(self, handle: str, kind: int) -> int:
        return {pynvml.NVML_CLOCK_SM: 2040, pynvml.NVML_CLOCK_MEM: 3202}[kind]

    def _nvmlDeviceGetMemoryBusWidth(self, handle: str) -> int:
        return 6144

    def _nvmlDeviceGetMaxPcieLinkGeneration(self, handle: str) -> int:
        return self.link[0]

    def _nvmlDeviceGetMaxPcieLinkWidth(self, handle: str) -> int:
        return self.link[1]

    def _nvmlDeviceGetTemperatureV(self, handle: str, sensor: int) -> int:
        return 44

    def _nvmlDeviceGetTemperature(self, handle: str, sensor: int) -> int:
        return 43

    def _nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:
        return pynvml.c_nvmlMemory_t(used=(5 if handle == "gpu" else 1) << 30)

    def _nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:
        return pynvml.c_nvmlUtilization_t(gpu=87, memory=12)

    def _nvmlDeviceGetCurrentClocksEventReasons(self, handle: str) -> int:
        return 0x4 | 0x40

    def _nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> int:
        return 0x1

    def _nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        return 390_000

    def _nvmlDeviceGetFieldValues(self, handle: str, numbers: list[int]) -> Any:
        return [field(*self.fields[number]) for number in numbers]

    def _nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> Any:
        return [
            pynvml.nvmlFriendlyObject({"pid": pid, "usedGpuMemory": memory_B})
            for pid, (memory_B, _) in self.processes.items()
        ]

    def _nvmlDeviceGetGraphicsRunningProcesses(self, handle: str) -> Any:
        return [
            pynvml.nvmlFriendlyObject({"pid": pid, "usedGpuMemory": self.processes[pid][0]})
            for pid in self.drawing
        ]

    def _nvmlDeviceGetProcessUtilization(self, handle: str, since: int) -> Any:
        busy = {pid: percent for pid, (_, percent) in self.processes.items() if percent}
        if not busy:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        made = (pynvml.c_nvmlProcessUtilizationSample_t * len(busy))()
        for sample, (pid, percent) in zip(made, busy.items(), strict=True):
            sample.pid, sample.timeStamp, sample.smUtil = pid, since + 1, percent
        return made[0 : len(busy)]

    def _nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        return 8_000_000

    # ---- performance monitoring: a snapshot is a list with the counters' time in it

    gpm_supported = 1
    gpm_values: ClassVar[dict[int, tuple[int, float]]] = {
        2: (0, 98.0), 3: (0, 62.5), 10: (0, 80.0), 20: (0, 16.0), 21: (0, 32.0)
    }  # fmt: skip

    def _nvmlGpmQueryDeviceSupport(self, handle: str) -> Any:
        return pynvml.c_nvmlGpmSupport_t(isSupportedDevice=self.gpm_supported)

    def _nvmlGpmSampleAlloc(self) -> Any:
        self.allocated += 1
        return pynvml.c_nvmlGpmSample_t(pynvml.struct_c_nvmlGpmSample_t())

    def _nvmlGpmSampleFree(self, sample: Any) -> None:
        self.allocated -= 1

    def _nvmlGpmSampleGet(self, handle: str, sample: Any) -> None:
        self._take(sample)

    def _nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, handle: str) -> str:
        assert handle == "instance"
        return "gpu"

    def _nvmlDeviceGetGpuInstanceId(self, handle: str) -> int:
        return 3

    def _nvmlGpmMigSampleGet(self, handle: str, instance: int, sample: Any) -> None:
        assert (handle, instance) == ("gpu", 3)
        self._take(sample)

    def _take(self, sample: Any) -> None:
        self.snapshots += 1
        self._taken[ctypes.addressof(sample.contents)] = self.snapshots

    def _nvmlGpmMetricsGet(self, asked: Any) -> None:
        assert asked.version == pynvml.NVML_GPM_METRICS_GET_VERSION
        times = [self._taken[ctypes.addressof(s.contents)] for s in (asked.sample1, asked.sample2)]
        assert times == sorted(times), "the older snapshot comes first"
        for metric in asked.metrics[: asked.numMetrics]:
            metric.nvmlReturn, metric.value = self.gpm_values[metric.metricId]
