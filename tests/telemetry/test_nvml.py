"""What is made of NVML's answers; NVML itself is a stand-in with the module's names."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gpuexplorer.telemetry.base import Refusal
from gpuexplorer.telemetry.nvml import NvmlSource, field_number, throttle_words
from tests.telemetry.stand_ins import Nvml, gpu


def source(nvml: Nvml) -> NvmlSource:
    found = NvmlSource.find(nvml, gpu())
    assert isinstance(found, NvmlSource)
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
    assert reading.energy_J == 9000.0
    assert reading.pcie_rx_B_per_s is None  # one look at a counter gives no rate
    assert reading.missing == {}
    assert reading.t_ns > 0


def test_pcie_rates_are_the_link_counters_differences() -> None:
    nvml = Nvml()
    reader = source(nvml)
    first = reader.read()
    nvml.fields[197], nvml.fields[198] = (3, 0, 1000 + 7_000_000), (3, 0, 5000 + 3_000_000)
    second = reader.read()
    passed_s = (second.t_ns - first.t_ns) * 1e-9
    assert second.pcie_tx_B_per_s == pytest.approx(7e6 / passed_s)
    assert second.pcie_rx_B_per_s == pytest.approx(3e6 / passed_s)
    nvml.fields[197] = (3, 0, 5)  # the counter began anew
    assert reader.read().pcie_tx_B_per_s is None


def test_a_gpu_without_link_counters_says_so_once() -> None:
    nvml = Nvml()
    nvml.fields[197] = nvml.fields[198] = (3, 3, 0)
    reader = source(nvml)
    assert set(reader.read().missing) == {"pcie_rx_B_per_s", "pcie_tx_B_per_s"}
    assert reader.read().missing == {}


def test_energy_falls_back_to_the_older_call() -> None:
    nvml = Nvml()
    nvml.fields[83] = (3, 3, 0)
    assert source(nvml).read().energy_J == 8000.0
    nvml.failing["nvmlDeviceGetTotalEnergyConsumption"] = 3
    reading = source(nvml).read()
    assert reading.energy_J is None
    assert "nvmlDeviceGetTotalEnergyConsumption" in reading.missing["energy_J"]


def test_a_device_is_matched_by_uuid_never_by_index() -> None:
    nvml = Nvml()
    other = NvmlSource.find(nvml, gpu("GPU-ffffffff-0000-0000-0000-000000000000"))
    assert isinstance(other, Refusal)
    assert nvml.open == 0
    found = NvmlSource.find(nvml, gpu("0000:65:00.0"))
    assert isinstance(found, NvmlSource)
    assert nvml.calls[-1] == "nvmlDeviceGetHandleByPciBusId"
    found.close()
    assert nvml.open == 0


def test_other_hardware_is_not_asked_for() -> None:
    nvml = Nvml()
    assert NvmlSource.find(nvml, gpu("cpu:Some CPU")) is None
    assert nvml.calls == []
    assert NvmlSource.open(gpu(kind="cpu")) is None


def test_without_a_driver_there_is_no_source() -> None:
    refusal = NvmlSource.find(Nvml(nvmlInit=9), gpu())
    assert isinstance(refusal, Refusal)
    assert "driver" in refusal.remedy


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
    nvml.fields[186] = nvml.fields[185] = (1, 3, 0)
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
    names = set(nvml.calls) | {n for n in dir(Nvml) if n.startswith(("NVML", "_nvml", "c_nvml"))}
    for name in sorted(n.removeprefix("_") for n in names):
        assert hasattr(pynvml, name), name
    for name in (n for n in dir(Nvml) if n.startswith("NVML_")):
        assert getattr(pynvml, name) == getattr(Nvml, name), name
    for bit in (0x2, 0x4, 0x8, 0x10, 0x20, 0x40, 0x80, 0x100):
        assert pynvml.nvmlClocksThrottleReasonAll & bit
