"""The checks at first contact, on a stand-in of CUDA: each passes on a right one, and fails.

What the stand-in runs is Python; NVRTC compiles the kernels all the same. So this shows that a
check asks for what it should, in an order that works, and believes nothing that is wrong.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

import gpuexplorer
from gpuexplorer.backends import registry
from gpuexplorer.backends.cuda import activity
from gpuexplorer.backends.cuda import driver as cu
from gpuexplorer.backends.cuda.build import builder
from gpuexplorer.backends.cuda.describe import describe
from gpuexplorer.backends.cuda.kernels import KernelRunner
from gpuexplorer.backends.cuda.library import CALLS
from gpuexplorer.compile.program import Nvrtc
from gpuexplorer.core.device import Unavailable
from gpuexplorer.telemetry.base import Refusal
from gpuexplorer.telemetry.ladder import Ladder
from gpuexplorer.telemetry.nvml import NvmlSource
from tests.backends.fake_cuda import FACTS, FakeCuda, LaunchCall
from tests.backends.fake_cupti import FakeCupti
from tests.gpu.first_minutes import device, jit, results, telemetry, timing
from tests.gpu.first_minutes.check import Check, Fact, Failed, LeftOut, words
from tests.gpu.first_minutes.here import Here
from tests.telemetry.stand_ins import Nvml

EVENT_S = 1e-6


class PacedCuda(FakeCuda):
    """A device on which an event takes a moment, and that can be asked whether one has passed."""

    event_s = EVENT_S
    queries = 4
    """An event behind an open gate has passed when it was asked for so often."""
    spin_share = 1.0
    """How long the spinning kernel takes, over what it was told."""

    def rt_eventRecord(self, event: int, stream: int) -> None:
        super().rt_eventRecord(event, stream)
        self._queue.append(("moment", self._moment))

    def _moment(self) -> None:
        self._now += self.event_s

    def rt_eventQuery(self, event: int) -> int:
        if not self._queue:
            return 0
        self.queries -= 1
        if self.queries < 0:
            self._drain()
        return 600


def array(address: int, shape: tuple[int, ...], kind: Any) -> npt.NDArray[Any]:
    count = int(np.prod(shape))
    buffer = (ctypes.c_char * (count * np.dtype(kind).itemsize)).from_address(address)
    return np.frombuffer(buffer, dtype=kind).reshape(shape)


class Kernels:
    """What the checks' kernels do; ``error`` is what each adds to its result."""

    error = 0.0

    def product(self, call: LaunchCall) -> None:
        n = call.words[3] & 0xFFFFFFFF
        a, b, c = (array(word, (n, n), np.float32) for word in call.words[:3])
        c[:] = a.astype(np.float64) @ b.astype(np.float64) * (1 + self.error)

    def tensor(self, call: LaunchCall) -> None:
        n = call.words[3] & 0xFFFFFFFF
        a, b = (array(word, (n, n), np.float16) for word in call.words[:2])
        array(call.words[2], (n, n), np.float32)[:] = (
            a.astype(np.float64) @ b.astype(np.float64) * (1 + self.error)
        )

    def twice(self, call: LaunchCall) -> None:
        n = call.words[2] & 0xFFFFFFFF
        array(call.words[1], (n,), np.float32)[:] = (
            2 * array(call.words[0], (n,), np.float32) + self.error
        )


class StandIn(Here):
    """The fake device in the place of a GPU."""

    def __init__(self, **attributes: int) -> None:
        self.kernels = Kernels()
        self.fake = PacedCuda(
            kernels={
                "spin": (2, lambda call: None),
                "matrixMul": (4, self.kernels.product),
                "matrixMulTiled": (4, self.kernels.product),
                "tensorProduct": (4, self.kernels.tensor),
                "twice": (3, self.kernels.twice),
            },
            seconds=self._seconds,
        )
        # Mangled as NVRTC does where a kernel is not extern "C".
        self.fake.kernels |= {
            "_Z9matrixMulPKfS0_Pfi": self.fake.kernels["matrixMul"],
            "_Z14matrixMulTiledPKfS0_Pfi": self.fake.kernels["matrixMulTiled"],
        }
        super().__init__(lambda: self.fake.api)
        changed = {getattr(cu, name): value for name, value in attributes.items()}
        facts = {
            **FACTS.attributes, cu.KERNEL_TIME_LIMIT: 0, cu.L2_CACHE_B: 1 << 20, **changed
        }  # fmt: skip
        self.__dict__["facts"] = cu.DeviceFacts(
            FACTS.index, FACTS.name, FACTS.uuid, FACTS.memory_B, facts
        )
        self.__dict__["driver"] = SimpleNamespace(version=(99, 0))
        self.__dict__["device"] = describe(self.facts, "580 (CUDA 13.0)", 4.9e12, ())

    @cached_property
    def backend(self) -> Any:
        return SimpleNamespace(
            runner=self._runner, versions=lambda: {"cupy": "14.2", "cuda": "13.0"},
            memory_free_B=lambda device: self.session.api.runtime.memGetInfo()[0],
        )  # fmt: skip

    def _seconds(self, call: LaunchCall) -> float:
        return call.words[1] * 1e-9 * self.fake.spin_share if len(call.words) == 2 else 1e-5

    def _runner(self, plan: Any, device: Any) -> KernelRunner:
        return KernelRunner(plan, device, self.session, builder("sm_90a"))


@pytest.fixture
def here() -> StandIn:
    return StandIn()


def found(check: Check | Any, here: Here) -> dict[str, Fact]:
    """Run a check and return the facts it noted."""
    facts: dict[str, Fact] = {}
    run = check.run if isinstance(check, Check) else check
    run(here, facts.__setitem__)
    return facts


# ---- the device


@pytest.fixture
def a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "why_no_gpu", lambda: None)


@pytest.mark.usefixtures("a_driver")
def test_the_drivers_word_is_believed_only_where_it_can_be(here: StandIn) -> None:
    here.__dict__["driver"].version = (13, 0)
    facts = found(device.driver, here)
    assert (facts["CUDA of the driver"], facts["compute capability"]) == ("13.0", "9.0")
    here.__dict__["facts"] = cu.DeviceFacts(
        0, "Test", f"GPU-{device.NO_UUID}", 1 << 30, here.facts.attributes
    )
    with pytest.raises(Failed, match="made of zeros"):
        found(device.driver, here)
    here.facts.attributes[cu.L2_CACHE_B] = None
    here.__dict__["facts"] = cu.DeviceFacts(0, "Test", FACTS.uuid, 1 << 30, here.facts.attributes)
    with pytest.raises(Failed, match=rf"does not know the attributes \[{cu.L2_CACHE_B}\]"):
        found(device.driver, here)
    here.__dict__["driver"].version = (11, 8)
    with pytest.raises(Failed, match="no CUDA 12"):
        found(device.driver, here)


def test_an_older_cupy_than_the_drivers_cuda_is_needed(
    here: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "offered", lambda: tuple(CALLS))
    here.__dict__["device"] = msgspec.structs.replace(here.device, nominal_clock_Hz=2e9)
    assert found(device.versions, here)["cupy"] == "14.2"
    here.__dict__["driver"].version = (12, 9)
    with pytest.raises(Failed, match="CuPy is built for CUDA 13"):
        found(device.versions, here)
    here.__dict__["driver"].version = (13, 0)
    monkeypatch.setattr(device, "offered", lambda: tuple(set(CALLS) - {"cublas.gemm"}))
    with pytest.raises(Failed, match=r"the libraries of cublas\.gemm"):
        found(device.versions, here)


def test_the_gate_is_compiled_for_the_device(here: StandIn) -> None:
    assert found(device.compiler, here)["compiled for"] == "sm_90a"


def test_a_time_limit_that_the_limits_do_not_know_is_a_failure(here: StandIn) -> None:
    assert found(device.time_limit, here) == {"long kernels are ended": False}
    limited = StandIn(KERNEL_TIME_LIMIT=1)
    facts = found(device.time_limit, limited)
    assert facts["long kernels are ended"] is True
    longest_s = facts["the longest launch allowed_s"]
    assert isinstance(longest_s, float) and 0.5 < longest_s < 2.0
    limited.__dict__["device"] = here.device
    with pytest.raises(Failed, match="say something else"):
        found(device.time_limit, limited)


def test_a_device_is_closed_and_can_be_opened_again(here: StandIn) -> None:
    here.room(1000)
    held, session = here.fake.allocated, here.session
    assert found(device.closing, here) == {"memory free_B": 1 << 30}
    assert here.session is not session
    assert here.fake.allocated == held - 1  # a gate again, and the room no more


@pytest.mark.parametrize("is_slice", [False, True])
@pytest.mark.parametrize("kind", ["GPU", "MIG"])
def test_a_slice_of_a_gpu_has_a_uuid_of_its_own_kind(
    here: StandIn, monkeypatch: pytest.MonkeyPatch, kind: str, is_slice: bool
) -> None:
    monkeypatch.setitem(
        sys.modules, "pynvml",
        SimpleNamespace(
            nvmlInit=lambda: None, nvmlShutdown=lambda: None,
            nvmlDeviceGetHandleByUUID=lambda uuid: uuid, nvmlDeviceGetName=lambda handle: "Test",
            nvmlDeviceIsMigDeviceHandle=lambda handle: int(is_slice),
        ),
    )  # fmt: skip
    here.__dict__["facts"] = cu.DeviceFacts(0, "Test", f"{kind}-1", 1, here.facts.attributes)
    if is_slice == (kind == "MIG"):
        assert found(device.mig, here)["a slice of a GPU (MIG)"] is is_slice
    else:
        with pytest.raises(Failed, match=f"the UUID begins with '{kind}-'"):
            found(device.mig, here)


# ---- timing


def test_the_gate_holds_on_a_device_in_order(here: StandIn) -> None:
    assert found(timing.gate_opens, here)["registers of gpuexplorerGate"] == 32
    facts = found(timing.gate_holds, here)
    held_s = facts["held for_s"]
    assert isinstance(held_s, float) and held_s >= timing.HOLD_S


def test_why_there_is_no_gate_is_told() -> None:
    unmapped = StandIn(CAN_MAP_HOST_MEMORY=0)
    with pytest.raises(Failed, match="no host-mapped memory"):
        found(timing.gate_opens, unmapped)


def test_a_gate_that_opens_by_itself_fails(here: StandIn) -> None:
    _ = here.session
    here.fake.gate_opens_late = True
    here.fake.queries = 100
    with pytest.raises(Failed, match="the gate opened by itself"):
        found(timing.gate_holds, here)


@pytest.mark.parametrize("event_s", [0.0, 30e-6])
def test_empty_pairs_take_a_moment_and_no_longer(here: StandIn, event_s: float) -> None:
    facts = found(timing.empty_pairs, here)
    assert list(facts.values()) == [pytest.approx(EVENT_S)] * 2
    assert len(facts) == 2
    here.fake.event_s = event_s
    with pytest.raises(Failed, match="an empty pair of events without the flag is"):
        found(timing.empty_pairs, here)


def test_empty_launches_take_a_moment_and_no_longer(here: StandIn) -> None:
    assert len(found(timing.empty_batches, here)) == 2
    here.fake.event_s = 30e-6
    with pytest.raises(Failed, match="an empty launch, held back, is"):
        found(timing.empty_batches, here)


@pytest.mark.parametrize("share", [0.5, 2.0])
def test_events_that_tell_another_time_fail(here: StandIn, share: float) -> None:
    assert found(timing.events_tell_time, here)
    here.fake.spin_share = share
    with pytest.raises(Failed, match="a kernel of 100 µs is"):
        found(timing.events_tell_time, here)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    """NVML's stand-in, which tells a clock of 1.98 GHz."""
    made = Nvml()

    def open_nvml(device: Any) -> Any:
        return NvmlSource.find(made, device)

    monkeypatch.setattr(NvmlSource, "open", staticmethod(open_nvml))
    monkeypatch.setattr(timing, "BUSY_S", 4e-3)
    monkeypatch.setattr(telemetry, "open_source", lambda device: Ladder([open_nvml(device)]))
    return made


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_the_gates_clock_has_to_be_nvmls(here: StandIn, nvml: Nvml, share: float) -> None:
    here.fake.clock_Hz, here.fake.queries = 1.98e9, 10_000
    facts = found(timing.clock, here)
    assert facts["clock by the gate_Hz"] == pytest.approx(1.98e9, rel=0.01)
    assert facts["clock by NVML_Hz"] == pytest.approx(1.98e9)
    here.fake.clock_Hz = share * 1.98e9
    with pytest.raises(Failed, match="the clock by the gate is"):
        found(timing.clock, here)


def test_a_clock_above_the_highest_is_no_clock(here: StandIn, nvml: Nvml) -> None:
    here.fake.clock_Hz, here.fake.queries = 1.98e9, 10_000
    here.__dict__["device"] = msgspec.structs.replace(here.device, nominal_clock_Hz=1.6e9)
    with pytest.raises(Failed, match="the clock by the gate is"):
        found(timing.clock, here)


def test_without_nvml_the_reason_is_told(here: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = Refusal("NVML does not start", "install NVIDIA's driver")
    monkeypatch.setattr(NvmlSource, "open", staticmethod(lambda device: refusal))
    with pytest.raises(Failed, match=rf"about {FACTS.uuid}: NVML does not start$"):
        found(timing.clock, here)


def test_a_clock_that_the_gate_never_tells_is_a_failure(here: StandIn, nvml: Nvml) -> None:
    here.fake.same_multiprocessor, here.fake.queries = False, 10_000
    with pytest.raises(Failed, match="the clock by the gate is not known"):
        found(timing.clock, here)


def test_without_nvmls_clock_there_is_nothing_to_agree_with(here: StandIn, nvml: Nvml) -> None:
    nvml.failing["nvmlDeviceGetClockInfo"] = 3
    here.fake.queries = 10_000
    with pytest.raises(Failed, match="NVML told no SM clock"):
        found(timing.clock, here)


@pytest.mark.parametrize("share", [0.5, 1.2])
def test_records_have_to_be_the_events(
    here: StandIn, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    cupti = FakeCupti(here.fake, share=1.0)
    monkeypatch.setattr(activity, "open_records", lambda: activity.KernelRecords(cupti))
    facts = found(timing.recorded, here)
    assert facts["by CUPTI's records_s"] == pytest.approx(1e-4, rel=1e-3)
    cupti.share = share
    with pytest.raises(Failed, match="the time by records is"):
        found(timing.recorded, here)


def test_cupti_is_left_out_where_it_is_not_installed_and_fails_where_it_refuses(
    here: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "open_records", lambda: "")
    with pytest.raises(LeftOut, match="not installed"):
        found(timing.recorded, here)
    monkeypatch.setattr(activity, "open_records", lambda: "CUPTI does not record: error 35")
    with pytest.raises(Failed, match="error 35"):
        found(timing.recorded, here)


# ---- results


@pytest.mark.parametrize("check", [results.naive, results.large_shared, results.tensor_cores])
def test_a_wrong_result_fails(here: StandIn, check: Any) -> None:
    facts = found(check, here)
    error = facts["relative error"]
    assert isinstance(error, float) and error < 1e-6
    here.kernels.error = 1e-3
    with pytest.raises(Failed, match="the relative error is 1"):
        found(check, here)


def test_a_result_that_nobody_wrote_fails(here: StandIn) -> None:
    here.fake.kernels["_Z9matrixMulPKfS0_Pfi"] = (4, lambda call: None)
    with pytest.raises(Failed, match="numbers that are none"):
        found(results.naive, here)


@pytest.mark.parametrize(("most_KiB", "taken_KiB"), [(227, 69), (99, 69), (64, 61)])
def test_the_most_shared_memory_there_is_gets_used(most_KiB: int, taken_KiB: int) -> None:
    here = StandIn(MAX_SHARED_PER_BLOCK_OPTIN=most_KiB * 1024)
    facts = found(results.large_shared, here)
    assert facts["dynamic_B"] == taken_KiB * 1024
    assert [value for _, value in here.fake.attributes] == [taken_KiB * 1024]


def test_where_48_KiB_are_the_most_a_larger_block_is_refused_in_one_sentence() -> None:
    here = StandIn(MAX_SHARED_PER_BLOCK_OPTIN=48 * 1024)
    refused = found(results.large_shared, here)["refused"]
    assert isinstance(refused, str) and "shared memory" in refused
    assert here.fake.attributes == []


def test_tensor_cores_are_asked_for_where_there_are_some() -> None:
    older = StandIn()
    older.facts.attributes[cu.CAPABILITY[0]] = 6
    with pytest.raises(LeftOut, match=r"7\.0"):
        found(results.tensor_cores, older)


def test_ptx_is_that_of_an_older_gpu_and_has_to_be_right(here: StandIn) -> None:
    facts = found(jit.ptx, here)
    assert isinstance(facts["target"], str) and facts["target"] in ("compute_89", "compute_90")
    here.kernels.error = 1.0
    with pytest.raises(Failed, match="1000 of 1000 are wrong"):
        found(jit.ptx, here)
    here.__dict__["driver"].version = (12, 0)
    with pytest.raises(LeftOut, match="newer than the driver"):
        found(jit.ptx, here)


def test_ptx_for_the_oldest_gpu_is_its_own() -> None:
    nvrtc = Nvrtc((13, 0), (75, 80, 86))
    assert jit.older_target("sm_86", nvrtc) == "compute_80"
    assert jit.older_target("sm_75", nvrtc) == "compute_75"


def test_torch_for_the_cpu_alone_is_left_out(
    here: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "lacks", lambda package: f"no {package} for CUDA")
    with pytest.raises(LeftOut, match="no torch for CUDA"):
        found(results.torch_model, here)


@pytest.mark.torch
@pytest.mark.parametrize("ran", ["fp32", "fp16"])
def test_pytorchs_model_is_held_against_numpy(
    here: StandIn, monkeypatch: pytest.MonkeyPatch, ran: str
) -> None:
    """The model runs on the processor, which is called a GPU here."""
    real = registry.create("torch", 1)
    cpus = real.discover()
    assert not isinstance(cpus, Unavailable)
    called = msgspec.structs.replace(cpus[0], kind="gpu", hardware_id=FACTS.uuid)

    def runner(plan: Any, device: Any) -> Any:
        made = real.runner(plan, cpus[0])
        told = made.arithmetic
        made.arithmetic = lambda: msgspec.structs.replace(told(), ran=ran)  # type: ignore[method-assign,type-var]
        return made

    stand_in = SimpleNamespace(discover=lambda: (called,), runner=runner)
    monkeypatch.setattr(results, "lacks", lambda package: "")
    monkeypatch.setattr(registry, "create", lambda name, threads: stand_in)
    if ran == "fp32":
        error = found(results.torch_model, here)["relative error"]
        assert isinstance(error, float) and 0 < error < 1e-5
    else:
        with pytest.raises(Failed, match="fp16 ran, not fp32"):
            found(results.torch_model, here)


def test_a_users_kernel_goes_the_whole_way(here: StandIn) -> None:
    """The whole way of a run, on the processor."""
    cpu = next(one for one in gpuexplorer.devices() if one.backend == "opencl")
    here.__dict__["device"] = cpu
    facts = found(results.own_kernel, here)
    assert isinstance(facts["samples"], int) and facts["samples"] > 1
    here.__dict__["device"] = msgspec.structs.replace(cpu, id="opencl:99")
    with pytest.raises(Failed, match=r"exit code 2: gpuexplorer: error: .*opencl:99"):
        found(results.own_kernel, here)


# ---- telemetry


def count(nvml: Nvml, nbytes: int) -> None:
    """Have the link's counter go on with each copy; between the looks nothing is moved."""
    fields = nvml.fields
    values = (1000 + nbytes * (look // 2) for look in itertools.count(1))

    def answer(handle: str, numbers: list[int]) -> Any:
        fields[198] = (3, 0, next(values))
        return Nvml._nvmlDeviceGetFieldValues(nvml, handle, numbers)

    nvml._nvmlDeviceGetFieldValues = answer  # type: ignore[method-assign]
    nvml.__dict__["_nvmlDeviceGetMaxPcieLinkGeneration"] = lambda handle: 3
    nvml.__dict__["_nvmlDeviceGetMaxPcieLinkWidth"] = lambda handle: 16


def test_the_state_is_told_with_what_crossed_the_link(
    here: StandIn, nvml: Nvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "COPIED_B", 1 << 16)
    count(nvml, 70_000)
    facts = found(telemetry.telemetry, here)
    assert facts["power_W"] == 412.5
    assert facts["PCIe's bytes over those copied"] == pytest.approx(70_000 / (1 << 16))
    count(nvml, 7_000)
    with pytest.raises(Failed, match="PCIe's bytes over those copied is 107 m"):
        found(telemetry.telemetry, here)


def test_what_is_missing_needs_a_reason_and_the_clock_may_not_be(
    here: StandIn, nvml: Nvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "COPIED_B", 1 << 16)
    nvml.fields[186] = nvml.fields[185] = (1, 3, 0)
    nvml.failing["nvmlDeviceGetPowerUsage"] = 3
    nvml.fields[197] = nvml.fields[198] = (3, 3, 0)
    facts = found(telemetry.telemetry, here)
    assert "nvmlDeviceGetPowerUsage" in str(facts["'power_W' is missing"])
    assert "PCIe" in str(facts["'pcie_rx_B_per_s' is missing"])
    nvml.failing["nvmlDeviceGetClockInfo"] = 3
    with pytest.raises(Failed, match="'sm_clock_Hz' is missing: nvmlDeviceGetClockInfo"):
        found(telemetry.telemetry, here)


def test_a_reading_that_cannot_be_is_a_failure(
    here: StandIn, nvml: Nvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "COPIED_B", 1 << 16)
    nvml.fields[186] = (1, 0, 412_500_000)
    with pytest.raises(Failed, match=r"'power_W' is 412 kW, not between 1\.00 W and 2\.00 kW"):
        found(telemetry.telemetry, here)


# ---- words


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("SM clock_Hz", 1.98e9, "SM clock = 1.98 GHz"),
        ("PCIe_B_per_s", 2.5e10, "PCIe = 25.0 GB/s"),
        ("power_W", 412.5, "power = 412 W"),
        ("a slice of a GPU (MIG)", False, "a slice of a GPU (MIG) = False"),
        ("relative error", 3.3e-7, "relative error = 3.3e-07"),
        ("highest clock_Hz", None, "highest clock = not known"),
        ("driver", "580.65 (CUDA 13.0)", "driver = 580.65 (CUDA 13.0)"),
    ],
)
def test_a_fact_is_one_line(key: str, value: Fact, line: str) -> None:
    assert words(key, value) == line
