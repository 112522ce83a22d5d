"""What PyTorch offers is known without importing it; its GPUs are the driver's."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from gpuexplorer.backends.cuda import driver as cuda
from gpuexplorer.backends.torch import TorchBackend
from gpuexplorer.backends.torch.clock import MAX_QUEUED, CudaClock
from gpuexplorer.backends.torch.runner import TorchCudaRunner
from gpuexplorer.core.device import DeviceInfo, Unavailable
from gpuexplorer.core.errors import CannotRunHere, DeviceLost, WorkFailed
from gpuexplorer.workloads.loader import load
from tests.support.problems import plan_of

FACTS = cuda.DeviceFacts(
    index=0,
    name="Some GPU",
    uuid="GPU-00000000-0000-0000-0000-000000000001",
    memory_B=2**34,
    attributes={cuda.MULTIPROCESSORS: 80, cuda.CAPABILITY[0]: 9, cuda.CAPABILITY[1]: 0},
)


def installed(monkeypatch: pytest.MonkeyPatch, folder: Path, cuda_version: str) -> None:
    """Let a folder stand for an installed PyTorch built for ``cuda_version``."""
    (folder / "version.py").write_text(
        f"__version__ = '9.9'\ncuda: Optional[str] = {cuda_version}\nhip = None\n"
    )
    spec = ModuleSpec("torch", None, origin=str(folder / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "9.9")


class WorkingDriver:
    """A driver library with one GPU."""

    def __init__(self, library: Any) -> None:
        pass

    @staticmethod
    def load() -> object:
        return object()

    def devices(self) -> list[cuda.DeviceFacts]:
        return [FACTS]


class FailingDriver(WorkingDriver):
    """A driver library that cannot be used."""

    def devices(self) -> list[cuda.DeviceFacts]:
        raise cuda.DriverError(100, "CUDA_ERROR_NO_DEVICE")


def found(threads: int = 2) -> tuple[DeviceInfo, ...]:
    devices = TorchBackend(threads).discover()
    assert not isinstance(devices, Unavailable)
    return devices


def test_without_pytorch_the_remedy_is_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    missing = TorchBackend(1).discover()
    assert isinstance(missing, Unavailable)
    assert "not installed" in missing.reason and "pip install torch" in missing.remedy
    assert TorchBackend(1).versions() == {}


def test_a_build_for_the_cpu_asks_no_driver(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(monkeypatch, tmp_path, "None")
    monkeypatch.setattr(cuda, "Driver", None)
    assert [d.id for d in found()] == ["torch:cpu"]
    assert TorchBackend(1).versions() == {"torch": "9.9"}


def test_a_gpu_is_the_same_silicon_as_the_cuda_backends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(monkeypatch, tmp_path, "'13.0'")
    monkeypatch.setattr(cuda, "Driver", WorkingDriver)
    cpu, gpu = found()
    assert (cpu.id, gpu.id) == ("torch:cpu", "torch:cuda:0")
    assert gpu.hardware_id == FACTS.uuid
    assert gpu.kind == "gpu" and gpu.threads is None
    assert (gpu.compute_units, gpu.compute_capability) == (80, (9, 0))
    assert gpu.limits.memory_B == 2**34
    assert TorchBackend(1).versions() == {"torch": "9.9", "cuda": "13.0"}


def test_a_framework_knows_of_a_gpu_whose_system_ends_long_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class WithDisplay(WorkingDriver):
        def devices(self) -> list[cuda.DeviceFacts]:
            attributes = {**FACTS.attributes, cuda.KERNEL_TIME_LIMIT: 1}
            return [msgspec.structs.replace(FACTS, attributes=attributes)]

    installed(monkeypatch, tmp_path, "'13.0'")
    monkeypatch.setattr(cuda, "Driver", WithDisplay)
    assert [d.limits.max_launch_s for d in found()] == [None, 1.5]


def test_a_driver_that_fails_leaves_the_cpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(monkeypatch, tmp_path, "'13.0'")
    monkeypatch.setattr(cuda, "Driver", FailingDriver)
    assert [d.id for d in found()] == ["torch:cpu"]


class FakeEvent:
    """An event that remembers when, in queued operations, it was recorded."""

    queue: list[str]

    def __init__(self, **_: bool) -> None:
        self.at = -1

    def record(self) -> None:
        self.queue.append("event")
        self.at = len(self.queue)

    def synchronize(self) -> None:
        self.queue.append("wait")

    def elapsed_time(self, end: FakeEvent) -> float:
        return float(end.at - self.at)


class OutOfMemory(RuntimeError):
    """Stands for PyTorch's error of that kind."""


class NoContext:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def queue() -> list[str]:
    return []


@pytest.fixture
def runner(queue: list[str], monkeypatch: pytest.MonkeyPatch) -> TorchCudaRunner:
    """A runner on a pretended GPU, whose stream is a list of what was queued."""
    gpu = DeviceInfo(
        id="torch:cuda:0",
        hardware_id=FACTS.uuid,
        name="Some GPU",
        backend="torch",
        kind="gpu",
        driver="",
        compute_units=80,
        libraries=("torch.add",),
    )
    monkeypatch.setattr(FakeEvent, "queue", queue, raising=False)
    made = TorchCudaRunner(plan_of(load()["vector_add"], gpu, variant="torch"), gpu)
    made._torch = SimpleNamespace(
        cuda=SimpleNamespace(
            Event=FakeEvent,
            _sleep=lambda cycles: queue.append("spin"),
            synchronize=lambda place: queue.append("wait"),
            get_device_properties=lambda place: object(),
        ),
        inference_mode=NoContext,
        OutOfMemoryError=OutOfMemory,
    )
    made._clock = CudaClock(made._torch, "cuda:0")
    made._call = lambda: queue.append("call")
    return made


def test_calls_are_queued_behind_a_spin_and_timed_one_by_one(
    runner: TorchCudaRunner, queue: list[str]
) -> None:
    batch = runner.launch(3)
    assert queue == ["spin", *["event", "call", "event"] * 3, "event", "wait"]
    assert np.allclose(batch.seconds, 2e-3)


def test_a_long_batch_never_fills_the_queue(runner: TorchCudaRunner, queue: list[str]) -> None:
    batch = runner.launch(2 * MAX_QUEUED + 5)
    assert len(batch.seconds) == 2 * MAX_QUEUED + 5 == queue.count("call")
    stretches = " ".join(queue).split("wait")
    assert max(part.count("call") for part in stretches) == MAX_QUEUED


def test_short_calls_are_timed_in_groups(
    runner: TorchCudaRunner, queue: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        FakeEvent, "elapsed_time", lambda before, after: (after.at - before.at - 1) * 5e-3
    )
    runner.settle(1e-5)
    queue.clear()
    runner._clock.queue_s = 1e-6  # however busy the machine is
    batch = runner.launch(81)
    assert batch.launches == 40
    assert batch.seconds == pytest.approx([5e-6] * 3)
    assert queue == ["spin", *["event", *["call"] * 40, "event"] * 3, "event", "wait"]
    assert "around 40 calls at a time" in runner.method
    assert runner.resolution_s == pytest.approx(0.5e-6 / 40)
    runner.settle(1.0)
    assert runner.launch(3).launches == 1


def test_a_cold_call_follows_a_write_of_twice_the_cache(
    runner: TorchCudaRunner, queue: list[str]
) -> None:
    cold = msgspec.structs.replace(runner.plan.config, cache="cold")
    runner.plan = msgspec.structs.replace(runner.plan, config=cold)
    with pytest.raises(CannotRunHere, match="how large its L2 cache is"):
        runner.launch(1)
    runner._l2_B = 1000
    made: list[int] = []

    def empty(nbytes: int, **_: object) -> SimpleNamespace:
        made.append(nbytes)
        return SimpleNamespace(zero_=lambda: queue.append("write"))

    runner._torch.empty, runner._torch.uint8 = empty, "uint8"
    queue.clear()
    runner.launch(2)
    assert made == [2000]
    assert queue == ["spin", *["write", "event", "call", "event"] * 2, "event", "wait"]
    assert "cold: 2 × the 1.00 kB L2 cache" in runner.method
    runner.settle(1e-5)
    assert runner.launch(2).launches == 1


@pytest.mark.parametrize(
    ("raised", "answers", "becomes"),
    [
        (OutOfMemory("no room"), True, WorkFailed),
        (RuntimeError("x"), True, WorkFailed),
        (RuntimeError("x"), False, DeviceLost),
    ],
)
def test_pytorchs_errors_become_ours(
    runner: TorchCudaRunner, raised: RuntimeError, answers: bool, becomes: type[WorkFailed]
) -> None:
    def fail(place: str = "") -> None:
        raise raised

    runner._call = fail
    runner._torch.cuda.is_initialized = lambda: True
    runner._torch.cuda.synchronize = (lambda place="": None) if answers else fail
    with pytest.raises(WorkFailed) as caught:
        runner.launch(1)
    assert type(caught.value) is becomes
    assert "torch:cuda:0" in str(caught.value)
