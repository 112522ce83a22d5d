"""Who a CUDA device is and how fast its clock may be, by the driver's word and by NVML's."""

from __future__ import annotations

import sys

import pytest

from gpuexplorer.backends.cuda import driver as cu
from gpuexplorer.backends.cuda import nvml
from gpuexplorer.backends.cuda.describe import describe
from gpuexplorer.backends.frameworks import gpu_devices
from gpuexplorer.backends.opencl.backend import OpenCLBackend
from gpuexplorer.backends.opencl.drivers import ProbedDevice
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.hardware_id import in_this_machine
from tests.backends.fake_cuda import FACTS
from tests.backends.fake_driver import GPU, INSTANCE, FakeDevice, FakeDriver, devices
from tests.telemetry.stand_ins import MIG, UUID, Nvml

RATED = {cu.CLOCK_kHz: 1_590_000}


@pytest.fixture
def without_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    """NVML, which knows one GPU and one MIG instance of it."""
    made = Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", made)
    return made


@pytest.mark.usefixtures("without_nvml")
@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (FakeDevice(), UUID),
        (FakeDevice(uuid=INSTANCE), MIG),
        (FakeDevice("NVIDIA H100 80GB HBM3 MIG 1g.10gb", INSTANCE, None), MIG),
        (FakeDevice("NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb", INSTANCE, INSTANCE), MIG),
        (FakeDevice("NVIDIA MIG-29", GPU, None), UUID),
    ],
)
def test_the_driver_alone_tells_an_instance_from_a_gpu(device: FakeDevice, expected: str) -> None:
    (found,) = devices(device)
    assert found.uuid == expected


@pytest.mark.usefixtures("without_nvml")
def test_an_instance_that_was_chosen_by_its_uuid_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", MIG)
    (found,) = devices(FakeDevice(uuid=INSTANCE, physical=None))
    assert found.uuid == MIG


def test_nvml_has_the_last_word(real: Nvml) -> None:
    instance = FakeDevice("A name that says nothing", INSTANCE, INSTANCE)
    odd = FakeDevice("NVIDIA Test MIG 1g.5gb")
    assert [found.uuid for found in devices(instance, odd, FakeDevice())] == [MIG, UUID, UUID]
    assert real.open == 0
    assert real.calls.count("nvmlInit") == 1


def test_a_uuid_that_nvml_does_not_know_stays_what_the_driver_says(real: Nvml) -> None:
    real.failing["nvmlDeviceGetHandleByUUID"] = 6
    found = devices(FakeDevice(uuid=INSTANCE), FakeDevice(attributes=RATED))
    assert [facts.uuid for facts in found] == [MIG, UUID]
    assert [facts.clock_Hz for facts in found] == [None, 1.59e9]


@pytest.mark.parametrize("device", [FakeDevice(), FakeDevice(uuid=INSTANCE)])
def test_the_highest_clock_is_nvmls_and_a_mig_instances_that_of_its_gpu(
    real: Nvml, device: FakeDevice
) -> None:
    device.attributes = {**{n: v for n, v in FACTS.attributes.items() if v is not None}, **RATED}
    (found,) = devices(device)
    assert found.clock_Hz == 2.04e9
    info = describe(found, "580 (CUDA 13.0)", None, ())
    assert info.nominal_clock_Hz == 2.04e9
    assert info.hardware_id == found.uuid


@pytest.mark.usefixtures("without_nvml")
def test_without_nvml_the_rated_boost_has_to_do() -> None:
    (found,) = devices(FakeDevice(attributes=RATED))
    assert found.clock_Hz == 1.59e9


def test_an_nvml_that_cannot_tell_the_clock_leaves_the_rated_boost(real: Nvml) -> None:
    real.failing["nvmlDeviceGetMaxClockInfo"] = 3
    (found,) = devices(FakeDevice(attributes=RATED))
    assert (found.uuid, found.clock_Hz) == (UUID, 1.59e9)


def test_an_instances_memory_is_clocked_as_its_gpus(real: Nvml) -> None:
    assert nvml.memory_clock_and_width(MIG) == (3_202_000, 6144)
    assert nvml.memory_clock_and_width(UUID) == (3_202_000, 6144)
    assert nvml.max_clock_Hz(MIG) == 2.04e9


def test_frameworks_have_the_same_identity_and_clock(
    real: Nvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    attributes = {n: v for n, v in FACTS.attributes.items() if v is not None}
    library = FakeDriver(FakeDevice(uuid=INSTANCE, attributes={**attributes, **RATED}))
    monkeypatch.setattr(cu.Driver, "load", staticmethod(lambda: library))
    (info,) = gpu_devices("torch", "13.0", precisions=lambda capability: ("fp32",), models=())
    assert (info.hardware_id, info.nominal_clock_Hz) == (MIG, 2.04e9)


def opencl_device(platform: str, uuid: str | None) -> DeviceInfo:
    """Return what OpenCL's backend says of a GPU with a rated boost of 1.59 GHz."""
    probed = ProbedDevice(
        platform=platform, index=0, name="A GPU", kind="gpu", driver="1",
        compute_units=4, language="c", standard="CL1.2", extensions=(),
        max_threads_per_block=1024,
        max_block=(1024, 1024, 64), local_memory_B=1 << 15, memory_B=1 << 30,
        max_allocation_B=1 << 28, unified_memory=False, uuid=uuid, clock_Hz=1.59e9,
    )  # fmt: skip
    return OpenCLBackend(threads=1)._info("opencl:0", probed)


def test_opencl_has_the_same_identity_and_clock(real: Nvml) -> None:
    info = opencl_device("NVIDIA CUDA", str(INSTANCE))
    assert (info.hardware_id, info.nominal_clock_Hz) == (MIG, 2.04e9)
    other = opencl_device("Intel(R) OpenCL", str(INSTANCE))
    assert other.hardware_id == in_this_machine(str(INSTANCE))
    assert other.nominal_clock_Hz == 1.59e9
    assert opencl_device("NVIDIA CUDA", None).nominal_clock_Hz == 1.59e9


def test_other_backends_ask_by_the_same_words(real: Nvml) -> None:
    assert nvml.known_as(f"GPU-{INSTANCE}") == MIG
    assert nvml.known_as(f"GPU-{GPU}") == UUID
    assert nvml.known_as("GPU-ffffffff-0000-0000-0000-000000000000").startswith("GPU-ffff")
