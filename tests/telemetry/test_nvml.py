"""What is made of NVML's answers; NVML itself is a stand-in with the module's names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.telemetry.nvml import NvmlSource, field_number, throttle_words

UUID = "GPU-00112233-4455-6677-8899-aabbccddeeff"


def gpu(hardware_id: str = UUID, kind: str = "gpu") -> DeviceInfo:
    return DeviceInfo(
        id="cuda:0", hardware_id=hardware_id, name="Test", backend="cuda", kind=kind,
        driver="580", compute_units=1,
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
        self.fields = {186: (1, 0, 412_500), 185: (1, 0, 400_000)}

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
        if uuid != UUID:
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
        kind, status, value = self.fields[numbers[0]]
        return [
            SimpleNamespace(
                valueType=kind, nvmlReturn=status, value=SimpleNamespace(uiVal=value, ullVal=value)
            )
        ]


def source(nvml: Nvml) -> NvmlSource:
    found = NvmlSource.find(nvml, gpu())
    assert found is not None
    return found


def test_a_reading_is_in_base_units() -> None:
    reading = source(Nvml()).read()
    assert reading.source == "nvml"
    assert reading.sm_clock_Hz == 1.98e9
    assert reading.memory_clock_Hz == 3.201e9
    assert reading.power_W == 412.5
    assert reading.temperature_C == 44
    assert reading.memory_used_B == 5 << 30
    assert reading.load == 0.87
    assert reading.throttle_reasons == ("power cap", "temperature (hardware)")
    assert reading.missing == {}
    assert reading.t_ns > 0


def test_a_device_is_matched_by_uuid_never_by_index() -> None:
    nvml = Nvml()
    assert NvmlSource.find(nvml, gpu("GPU-ffffffff-0000-0000-0000-000000000000")) is None
    assert nvml.open == 0
    found = NvmlSource.find(nvml, gpu("0000:65:00.0"))
    assert found is not None
    assert nvml.calls[-1] == "nvmlDeviceGetHandleByPciBusId"
    found.close()
    assert nvml.open == 0


def test_other_hardware_is_not_asked_for() -> None:
    nvml = Nvml()
    assert NvmlSource.find(nvml, gpu("cpu:Some CPU")) is None
    assert nvml.calls == []
    assert NvmlSource.open(gpu(kind="cpu")) is None


def test_without_a_driver_there_is_no_source() -> None:
    assert NvmlSource.find(Nvml(nvmlInit=9), gpu()) is None


@pytest.mark.parametrize("code", [3, 4, 15])
def test_a_failure_is_none_and_said_once_if_it_lasts(code: int) -> None:
    nvml = Nvml(nvmlDeviceGetUtilizationRates=code)
    reader = source(nvml)
    first, second = reader.read(), reader.read()
    assert first.load is None
    assert "nvmlDeviceGetUtilizationRates" in first.missing["load"]
    assert second.load is None
    asked = nvml.calls.count("nvmlDeviceGetUtilizationRates")
    lasting = code in (3, 4)
    assert asked == (1 if lasting else 2)
    assert ("load" in second.missing) is not lasting


def test_older_names_are_used_where_the_newer_ones_fail() -> None:
    nvml = Nvml(nvmlDeviceGetTemperatureV=13, nvmlDeviceGetCurrentClocksEventReasons=13)
    reader = source(nvml)
    for _ in range(2):
        reading = reader.read()
        assert reading.temperature_C == 43
        assert reading.throttle_reasons == ()
        assert reading.missing == {}
    assert nvml.calls.count("nvmlDeviceGetTemperatureV") == 1


def test_power_falls_back_to_the_average_and_then_to_the_old_call() -> None:
    nvml = Nvml()
    nvml.fields[186] = (1, 3, 0)
    assert source(nvml).read().power_W == 400.0
    nvml.fields[185] = (1, 3, 0)
    assert source(nvml).read().power_W == 390.0
    failing = Nvml(nvmlDeviceGetFieldValues=3, nvmlDeviceGetPowerUsage=3)
    reading = source(failing).read()
    assert reading.power_W is None
    assert "nvmlDeviceGetPowerUsage" in reading.missing["power_W"]


def test_throttle_bits_in_words() -> None:
    assert throttle_words(0) == ()
    assert throttle_words(0x1) == ()
    assert throttle_words(0x8 | 0x80) == ("hardware slowdown", "power brake")
    assert throttle_words(0x4 | 0x10000) == ("power cap", "reason 0x10000")


def test_a_field_is_read_by_its_type() -> None:
    value = SimpleNamespace(dVal=1.5, uiVal=7, ullVal=9)
    for kind, expected in ((0, 1.5), (1, 7.0), (3, 9.0)):
        field = SimpleNamespace(valueType=kind, nvmlReturn=0, value=value)
        assert field_number(field) == expected
    assert field_number(SimpleNamespace(valueType=1, nvmlReturn=3, value=value)) is None


def test_the_real_module_has_every_name_that_is_used() -> None:
    pynvml = pytest.importorskip("pynvml", reason="nvidia-ml-py is part of the CUDA extras")
    nvml = Nvml()
    source(nvml).read()
    names = set(nvml.calls) | {n for n in dir(Nvml) if n.startswith(("NVML", "_nvml"))}
    for name in sorted(n.removeprefix("_") for n in names):
        assert hasattr(pynvml, name), name
    for name in (n for n in dir(Nvml) if n.startswith("NVML_")):
        assert getattr(pynvml, name) == getattr(Nvml, name), name
    for bit in (0x2, 0x4, 0x8, 0x10, 0x20, 0x40, 0x80, 0x100):
        assert pynvml.nvmlClocksThrottleReasonAll & bit
