"""What is made of NVML's answers; NVML itself is a stand-in with the module's names."""

from __future__ import annotations

import time

import pynvml
import pytest

from gpuexplorer.telemetry.base import Refusal
from gpuexplorer.telemetry.gpm import GpmSource
from gpuexplorer.telemetry.nvml import (
    PCIE_RX,
    PCIE_TX,
    POWER_AVERAGE,
    POWER_INSTANT,
    THROTTLE_REASONS,
    TOTAL_ENERGY,
    NvmlSource,
    field_number,
    throttle_words,
)
from tests.telemetry.stand_ins import MIG, Nvml, field, gpu

UINT = pynvml.NVML_VALUE_TYPE_UNSIGNED_INT


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A clock that stands still until its one element is changed."""
    now = [1_000_000_000]
    monkeypatch.setattr(time, "perf_counter_ns", lambda: now[0])
    return now


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


def test_pcie_rates_are_the_link_counters_differences(clock: list[int]) -> None:
    nvml = Nvml()
    reader = source(nvml)
    reader.read()
    clock[0] += 105_000_000
    nvml.fields[197], nvml.fields[198] = (UINT, 0, 1000 + 7_000_000), (UINT, 0, 5000 + 3_000_000)
    second = reader.read()
    assert second.pcie_tx_B_per_s == pytest.approx(7e6 / 0.105)
    assert second.pcie_rx_B_per_s == pytest.approx(3e6 / 0.105)
    assert second.missing == {}


def test_a_link_counter_of_32_bits_starts_over_at_4_GiB(clock: list[int]) -> None:
    nvml = Nvml()
    nvml.fields[197] = (UINT, 0, 2**32 - 1000)
    reader = source(nvml)
    reader.read()
    clock[0] += 100_000_000
    nvml.fields[197] = (UINT, 0, 4000)
    assert reader.read().pcie_tx_B_per_s == pytest.approx(5000 / 0.1)


def test_a_link_that_fills_its_counter_between_two_readings_has_no_rate(clock: list[int]) -> None:
    nvml = Nvml()
    nvml.link = (5, 16)
    reader = source(nvml)
    said = reader.read().missing
    assert set(said) == {"pcie_rx_B_per_s", "pcie_tx_B_per_s"}
    assert "may start over between two readings" in said["pcie_rx_B_per_s"]
    clock[0] += 105_000_000
    nvml.fields[197] = (UINT, 0, 2_000_000)
    later = reader.read()
    assert later.pcie_tx_B_per_s is None
    assert later.missing == {}


def test_a_value_that_cannot_be_a_byte_counter_is_none(clock: list[int]) -> None:
    nvml = Nvml()
    nvml.fields[197] = (pynvml.NVML_VALUE_TYPE_UNSIGNED_SHORT, 0, 100)
    reader = source(nvml)
    assert set(reader.read().missing) == {"pcie_tx_B_per_s"}
    clock[0] += 105_000_000
    assert reader.read().pcie_tx_B_per_s is None


def test_a_gpu_without_link_counters_says_so_once() -> None:
    nvml = Nvml()
    nvml.fields[197] = nvml.fields[198] = (UINT, pynvml.NVML_ERROR_NOT_SUPPORTED, 0)
    reader = source(nvml)
    assert set(reader.read().missing) == {"pcie_rx_B_per_s", "pcie_tx_B_per_s"}
    assert reader.read().missing == {}


def test_energy_falls_back_to_the_older_call() -> None:
    nvml = Nvml()
    nvml.fields[83] = (UINT, pynvml.NVML_ERROR_NOT_SUPPORTED, 0)
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
    assert "nvmlDeviceGetHandleByPciBusId" in nvml.calls
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


def test_another_makers_gpu_does_not_ask_for_nvidias_driver() -> None:
    nvml, other = Nvml(nvmlInit=9), gpu("0000:65:00.0")
    assert NvmlSource.find(nvml, other) is None
    assert GpmSource.find(nvml, other) is None
    assert nvml.open == 0


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


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pynvml.NVML_VALUE_TYPE_DOUBLE, 1.5),
        (pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, 2**32 - 1),
        (pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG, 2**31),
        (pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, 2**40),
        (pynvml.NVML_VALUE_TYPE_SIGNED_LONG_LONG, -(2**40)),
        (pynvml.NVML_VALUE_TYPE_SIGNED_INT, -7),
        (pynvml.NVML_VALUE_TYPE_UNSIGNED_SHORT, 65_535),
    ],
)
def test_a_field_is_read_by_its_type(kind: int, value: float) -> None:
    assert field_number(field(kind, 0, value)) == value
    assert field_number(field(kind, pynvml.NVML_ERROR_NOT_SUPPORTED, value)) is None


def test_a_field_of_a_type_from_the_future_is_none() -> None:
    unknown = pynvml.c_nvmlFieldValue_t(valueType=pynvml.NVML_VALUE_TYPE_COUNT, nvmlReturn=0)
    assert field_number(unknown) is None


def test_a_mig_instance_has_its_own_memory_and_the_rest_of_the_gpu(clock: list[int]) -> None:
    nvml = Nvml()
    found = NvmlSource.find(nvml, gpu(MIG))
    assert isinstance(found, NvmlSource)
    reading = found.read()
    assert reading.memory_used_B == 1 << 30
    assert (reading.sm_clock_Hz, reading.power_W, reading.temperature_C) == (1.98e9, 412.5, 44)
    assert reading.throttle_reasons == ("power cap", "temperature (hardware)")
    of_the_gpu = {"sm_clock_Hz", "memory_clock_Hz", "power_W", "temperature_C", "throttle_reasons"}
    assert {f for f in of_the_gpu if reading.sources[f] == "nvml of the whole GPU"} == of_the_gpu
    assert "memory_used_B" not in reading.sources
    assert reading.load is None
    assert "nvmlDeviceGetUtilizationRates" in reading.missing["load"]
    assert reading.energy_J is None
    assert "whole GPU" in reading.missing["energy_J"]
    found.close()
    assert nvml.open == 0


def test_every_throttle_bit_that_the_real_module_knows_has_a_word() -> None:
    idle = pynvml.nvmlClocksThrottleReasonGpuIdle
    assert sum(THROTTLE_REASONS) == pynvml.nvmlClocksThrottleReasonAll & ~idle


def test_the_numbers_of_fields_are_the_real_modules() -> None:
    names = ("TOTAL_ENERGY_CONSUMPTION", "POWER_AVERAGE", "POWER_INSTANT", "PCIE_COUNT_TX_BYTES",
             "PCIE_COUNT_RX_BYTES")  # fmt: skip
    real = [getattr(pynvml, f"NVML_FI_DEV_{name}") for name in names]
    assert real == [TOTAL_ENERGY, POWER_AVERAGE, POWER_INSTANT, PCIE_TX, PCIE_RX]
