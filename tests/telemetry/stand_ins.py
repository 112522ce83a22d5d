"""A GPU as ``pynvml`` shows it, for tests without one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

from gpuexplorer.core.device import DeviceInfo

UUID = "GPU-00112233-4455-6677-8899-aabbccddeeff"
MIG = "MIG-00112233-4455-6677-8899-aabbccddeeff"


def gpu(hardware_id: str = UUID, kind: str = "gpu", **more: Any) -> DeviceInfo:
    """Return a GPU that NVML is to find."""
    return DeviceInfo(
        id="cuda:0", hardware_id=hardware_id, name="Test", backend="cuda", kind=kind,
        driver="580", compute_units=1, **more,
    )  # fmt: skip


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"NVML {value}")
        self.value = value


class Nvml:
    """A GPU as ``pynvml`` shows it; ``failing`` holds error codes by function."""

    NVMLError = NVMLError
    NVML_ERROR_INVALID_ARGUMENT = 2
    NVML_ERROR_NOT_SUPPORTED = 3
    NVML_ERROR_NO_PERMISSION = 4
    NVML_ERROR_FUNCTION_NOT_FOUND = 13
    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_TEMPERATURE_GPU = 0

    def __init__(self, **failing: int) -> None:
        self.failing = failing
        self.calls: list[str] = []
        self.open = 0
        self.allocated = 0
        self.snapshots = 0
        self.fields = {
            186: (1, 0, 412_500),
            185: (1, 0, 400_000),
            83: (3, 0, 9_000_000),
            197: (3, 0, 1000),
            198: (3, 0, 5000),
        }

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            raise AttributeError(name)

        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            if name in self.failing:
                raise NVMLError(self.failing[name])
            return getattr(self, f"_{name}")(*arguments)

        return call

    def _nvmlInit(self) -> None:
        self.open += 1

    def _nvmlShutdown(self) -> None:
        self.open -= 1

    def _nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if uuid not in (UUID, MIG):
            raise NVMLError(6)
        return "handle"

    def _nvmlDeviceGetHandleByPciBusId(self, address: str) -> str:
        return f"handle of {address}"

    def _nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:
        return {1: 1980, 2: 3201}[kind]

    def _nvmlDeviceGetTemperatureV(self, handle: str, sensor: int) -> int:
        return 44

    def _nvmlDeviceGetTemperature(self, handle: str, sensor: int) -> int:
        return 43

    def _nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:
        return SimpleNamespace(used=5 << 30)

    def _nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:
        return SimpleNamespace(gpu=87, memory=12)

    def _nvmlDeviceGetCurrentClocksEventReasons(self, handle: str) -> int:
        return 0x4 | 0x40

    def _nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> int:
        return 0x1

    def _nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        return 390_000

    def _nvmlDeviceGetFieldValues(self, handle: str, numbers: list[int]) -> Any:
        return [
            SimpleNamespace(
                valueType=kind, nvmlReturn=status, value=SimpleNamespace(uiVal=value, ullVal=value)
            )
            for kind, status, value in (self.fields[number] for number in numbers)
        ]

    def _nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        return 8_000_000

    # ---- performance monitoring: a snapshot is a list with the counters' time in it

    NVML_GPM_METRICS_GET_VERSION = 1

    class c_nvmlGpmMetricsGet_t:
        def __init__(self) -> None:
            self.version = self.numMetrics = 0
            self.sample1: Any = None
            self.sample2: Any = None
            self.metrics = [SimpleNamespace(metricId=0, nvmlReturn=0, value=0.0) for _ in range(8)]

    gpm_supported = 1
    gpm_values: ClassVar[dict[int, tuple[int, float]]] = {
        2: (0, 98.0), 3: (0, 62.5), 10: (0, 80.0), 20: (0, 16.0), 21: (0, 32.0)
    }  # fmt: skip

    def _nvmlGpmQueryDeviceSupport(self, handle: str) -> Any:
        return SimpleNamespace(isSupportedDevice=self.gpm_supported)

    def _nvmlGpmSampleAlloc(self) -> list[int]:
        self.allocated += 1
        return [0]

    def _nvmlGpmSampleFree(self, sample: list[int]) -> None:
        self.allocated -= 1

    def _nvmlGpmSampleGet(self, handle: str, sample: list[int]) -> None:
        assert handle != "mig"
        self.snapshots += 1
        sample[0] = self.snapshots

    def _nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, handle: str) -> str:
        return f"parent of {handle}"

    def _nvmlDeviceGetGpuInstanceId(self, handle: str) -> int:
        return 3

    def _nvmlGpmMigSampleGet(self, handle: str, instance: int, sample: list[int]) -> None:
        assert (handle, instance) == ("parent of handle", 3)
        self.snapshots += 1
        sample[0] = self.snapshots

    def _nvmlGpmMetricsGet(self, asked: Any) -> None:
        assert asked.version == 1
        assert asked.sample1[0] < asked.sample2[0], "the older snapshot comes first"
        for metric in asked.metrics[: asked.numMetrics]:
            metric.nvmlReturn, metric.value = self.gpm_values[metric.metricId]
