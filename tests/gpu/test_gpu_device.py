"""The device as it is described, against CuPy and NVML."""

from __future__ import annotations

import re
import sys

import pytest

from gpuexplorer.backends.cuda import CudaBackend, nvml
from gpuexplorer.backends.cuda import driver as cu
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.telemetry.ladder import Ladder, open_source
from gpuexplorer.telemetry.nvml import NvmlSource
from tests.gpu.conftest import Measure


def test_limits_equal_cupys_properties(gpu: DeviceInfo) -> None:
    from cupy.cuda import runtime

    properties = runtime.getDeviceProperties(0)
    assert gpu.name == properties["name"].decode()
    assert gpu.compute_units == properties["multiProcessorCount"]
    assert gpu.limits.max_threads_per_block == properties["maxThreadsPerBlock"]
    assert gpu.limits.max_block == tuple(properties["maxThreadsDim"])
    assert gpu.limits.max_grid == tuple(properties["maxGridSize"])
    assert gpu.limits.max_shared_B == properties["sharedMemPerBlockOptin"]
    assert gpu.limits.memory_B == properties["totalGlobalMem"]
    assert gpu.compute_capability == (properties["major"], properties["minor"])


def test_the_nominal_peak_is_known_and_plausible(gpu: DeviceInfo) -> None:
    assert gpu.peak_bandwidth_B_per_s is not None
    assert 1e10 < gpu.peak_bandwidth_B_per_s < 2e13  # a GT 1030 with DDR4 has 1.7e10


def test_driver_and_versions_are_named(gpu: DeviceInfo, backend: CudaBackend) -> None:
    assert re.match(r"\d+\.\d+.* \(CUDA \d+\.\d+\)", gpu.driver), gpu.driver
    assert set(backend.versions()) == {"cupy", "cuda"}


def test_nvml_knows_the_device_by_its_uuid(gpu: DeviceInfo) -> None:
    import pynvml

    source = open_source(gpu)
    assert isinstance(source, Ladder)
    assert isinstance(source.rungs[-1], NvmlSource)
    reading = source.read()
    source.close()
    assert reading.sm_clock_Hz is not None
    assert 1e8 < reading.sm_clock_Hz < 5e9
    assert reading.memory_used_B is not None
    for field in ("memory_clock_Hz", "temperature_C", "power_W", "throttle_reasons"):
        assert (getattr(reading, field) is None) == (field in reading.missing), field
    assert reading.temperature_C is None or 0 < reading.temperature_C < 110
    assert reading.power_W is None or 1 < reading.power_W < 2000
    pynvml.nvmlInit()
    try:
        handle = pynvml.nvmlDeviceGetHandleByUUID(gpu.hardware_id)
        assert pynvml.nvmlDeviceGetUUID(handle) == gpu.hardware_id
        assert bool(pynvml.nvmlDeviceIsMigDeviceHandle(handle)) == gpu.hardware_id.startswith("MIG")
    finally:
        pynvml.nvmlShutdown()


def test_the_driver_alone_tells_the_same_identity(
    gpu: DeviceInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    alone = cu.Driver(cu.Driver.load()).devices()[int(gpu.id.partition(":")[2])]
    assert alone.uuid == gpu.hardware_id
    assert alone.max_clock_Hz is None


def test_the_highest_clock_is_nvmls(gpu: DeviceInfo) -> None:
    highest_Hz = nvml.max_clock_Hz(gpu.hardware_id)
    assert highest_Hz is not None
    assert gpu.nominal_clock_Hz == highest_Hz


def test_load_and_power_rise_while_something_runs(gpu: DeviceInfo, measure: Measure) -> None:
    source = open_source(gpu)
    assert source is not None
    idle = source.read()
    measure("matmul", "naive", size={"N": 2048}, block=(32, 16), seconds=2.0)
    busy = source.read()
    source.close()
    if busy.load is None:
        assert "load" in idle.missing  # as MIG instances have it
    else:
        assert busy.load > 0.3
    if idle.power_W is None:
        assert "power_W" in idle.missing  # as laptops' GPUs have it
    else:
        assert busy.power_W is not None
        assert busy.power_W > idle.power_W
