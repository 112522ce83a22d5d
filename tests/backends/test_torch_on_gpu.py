"""What PyTorch's runner does on a GPU, with a stand-in for it that computes on the CPU.

The real thing is in ``tests/gpu``; here it is the order of things that counts.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import numpy as np
import pytest

from gpuexplorer.backends.base import Batch, Marks
from gpuexplorer.backends.torch.clock import MAX_QUEUED, CudaClock
from gpuexplorer.backends.torch.copies import OverlappedModel, PinnedModel, copying_model
from gpuexplorer.backends.torch.failures import device_failed, explain, out_of_memory
from gpuexplorer.backends.torch.model import TorchModel
from gpuexplorer.backends.torch.model_runner import TorchCudaModelRunner
from gpuexplorer.backends.torch.runner import TorchCudaRunner
from gpuexplorer.core.errors import DeviceLost, WorkFailed
from gpuexplorer.workloads.fills import make_inputs
from tests.support.problems import plan_of
from tests.support.torch_models import SHIPPED, cpu, plan_for, with_switches


class FakeCuda:
    """Streams and events that keep a diary; work is done at once."""

    def __init__(self) -> None:
        self.diary: list[str] = []
        self.now_s = 0.0
        self.call_s = 1e-3
        self.initialized = True
        self.poisoned = False
        self._stream = "compute"
        outer = self

        class Event:
            def __init__(self, **_: bool) -> None:
                self.at_s = 0.0

            def record(self, stream: Any = None) -> None:
                self.at_s = outer.now_s
                outer.diary.append("record")

            def synchronize(self) -> None:
                outer.diary.append("wait")

            def elapsed_time(self, end: Event) -> float:
                return (end.at_s - self.at_s) * 1e3

        class Stream:
            def __init__(self, name: Any = "side") -> None:
                self.name = str(name)

            def wait_stream(self, other: Any) -> None:
                outer.diary.append(f"{self.name} waits")

            def wait_event(self, event: Event) -> None:
                outer.diary.append("wait for a part")

            def synchronize(self) -> None:
                outer.diary.append("synchronize")

        class CUDAGraph:
            def replay(self) -> None:
                outer.diary.append("replay")

        self.Event, self.Stream, self.CUDAGraph = Event, Stream, CUDAGraph
        self._current = Stream("compute")

    def get_device_properties(self, place: str) -> object:
        return object()

    def _sleep(self, cycles: int) -> None:
        self.diary.append("spin")

    def current_stream(self) -> Any:
        return self._current

    def empty_cache(self) -> None:
        self.diary.append("empty cache")

    def is_initialized(self) -> bool:
        return self.initialized

    def synchronize(self, place: str = "") -> None:
        self.diary.append("synchronize")
        if self.poisoned:
            raise RuntimeError(POISONED)

    @contextmanager
    def stream(self, stream: Any) -> Iterator[None]:
        yield

    @contextmanager
    def graph(self, graph: Any) -> Iterator[None]:
        self.diary.append("capture")
        yield


class FakeTorch:
    """PyTorch whose GPU is the CPU."""

    def __init__(self, cuda: FakeCuda) -> None:
        import torch

        self._torch = torch
        self.cuda = cuda

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    def empty(self, *shape: Any, pin_memory: bool = False, **options: Any) -> Any:
        if pin_memory:
            self.cuda.diary.append("page-lock")
        return self._torch.empty(*shape, **options)


@pytest.fixture
def cuda() -> FakeCuda:
    return FakeCuda()


@pytest.fixture
def torch(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> FakeTorch:
    import torch as real

    fake = FakeTorch(cuda)

    def pin_memory(self: Any) -> Any:
        cuda.diary.append("page-lock")
        return self.clone()

    monkeypatch.setattr(real.Tensor, "pin_memory", pin_memory)
    return fake


def filled(model: TorchModel) -> TorchModel:
    model.prepare()
    model.allocate()
    model.write(make_inputs(model.plan))
    return model


def expected(name: str) -> np.ndarray:
    import torch

    model = filled(TorchModel(torch, plan_for(name), "cpu"))
    with model.mode():
        results = model.step()
    array = model.plan.outputs[0].name
    return np.asarray(model.read(results, (array,))[array])


# ---- the clock


def clock_of(cuda: FakeCuda, torch: FakeTorch) -> tuple[CudaClock, Any]:
    def call() -> str:
        cuda.now_s += cuda.call_s
        cuda.diary.append("call")
        return "result"

    return CudaClock(torch, "cuda:0"), call


def test_calls_stand_between_two_events_each_behind_a_spin(
    cuda: FakeCuda, torch: FakeTorch
) -> None:
    clock, call = clock_of(cuda, torch)
    batch, result = clock.time(call, None, 3)
    assert result == "result"
    assert batch.seconds == pytest.approx([1e-3] * 3)
    assert cuda.diary[0] == "spin" and cuda.diary[1:4] == ["record", "call", "record"]
    assert cuda.diary[-1] == "wait"


def test_what_comes_before_a_call_is_not_in_its_time(cuda: FakeCuda, torch: FakeTorch) -> None:
    clock, call = clock_of(cuda, torch)

    def before() -> None:
        cuda.now_s += 1.0

    assert clock.time(call, before, 2)[0].seconds == pytest.approx([1e-3] * 2)


def test_short_calls_are_timed_in_groups_and_long_ones_are_not(
    cuda: FakeCuda, torch: FakeTorch
) -> None:
    clock, call = clock_of(cuda, torch)

    def launch(count: int) -> Batch:
        return clock.time(call, None, count)[0]

    clock.settle(1e-3, launch, apart=False)
    assert clock.group == 1
    cuda.call_s = 5e-6
    clock.settle(5e-6, launch, apart=True)
    assert clock.group == 1
    clock.settle(5e-6, launch, apart=False)
    assert clock.group == 40 and "40 calls at a time" in clock.words
    batch = launch(41)
    assert (batch.launches, len(batch.seconds)) == (40, 2)
    assert batch.seconds == pytest.approx([5e-6] * 2)


def test_every_turn_has_groups_of_the_first_ones_size(cuda: FakeCuda, torch: FakeTorch) -> None:
    cuda.call_s = 5e-6
    clock, call = clock_of(cuda, torch)
    kept = clock.settle(5e-6, lambda count: clock.time(call, None, count)[0], apart=False)
    cuda.call_s = 21e-6
    turn, call = clock_of(cuda, torch)
    again = turn.settle(21e-6, lambda count: turn.time(call, None, count)[0], kept, apart=False)
    assert again == kept
    assert turn.words == clock.words and turn.group == clock.group > 1


def test_steps_that_take_long_to_queue_are_queued_a_few_at_a_time(
    cuda: FakeCuda, torch: FakeTorch
) -> None:
    clock, call = clock_of(cuda, torch)
    clock.queue_s = 20 * clock.queue_s
    assert clock._together() == MAX_QUEUED // 20
    clock.queue_s = 10.0
    assert clock._together() == 1
    clock.time(call, None, 2)
    assert cuda.diary[:6] == ["spin", "record", "call", "record", "record", "wait"]


# ---- a launch that a profiler looks at


def marks_of(cuda: FakeCuda) -> Marks:
    @contextmanager
    def marks() -> Iterator[None]:
        cuda.diary.append("look")
        yield
        cuda.diary.append("looked")

    return marks


def test_a_profiler_looks_at_the_call_and_not_at_what_comes_before_it(
    cuda: FakeCuda, torch: FakeTorch, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(SHIPPED["vector_add"], cpu(), variant="torch", cache="cold")
    runner = TorchCudaRunner(plan, cpu())
    runner._torch = torch
    runner._call = lambda: cuda.diary.append("call")
    monkeypatch.setattr(runner, "_flusher", lambda: lambda: cuda.diary.append("flush"))
    runner.launch_alone(marks_of(cuda))
    assert cuda.diary == ["flush", "synchronize", "look", "call", "synchronize", "looked"]


def test_a_profiler_looks_at_the_step_and_not_at_what_comes_before_it(
    cuda: FakeCuda, torch: FakeTorch, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = msgspec.structs.replace(plan_for("mlp_training", cache="cold"), reset=("W1",))
    runner = TorchCudaModelRunner(plan, cpu(), 1)
    runner._torch = torch
    noted = {name: partial(cuda.diary.append, name) for name in ("step", "reset")}
    runner._model = cast(Any, SimpleNamespace(mode=nullcontext, **noted))
    monkeypatch.setattr(runner, "_mode", nullcontext)
    monkeypatch.setattr(runner, "_flusher", lambda: lambda: cuda.diary.append("flush"))
    runner.launch_alone(marks_of(cuda))
    assert cuda.diary == [
        "reset", "flush", "synchronize", "look", "step", "synchronize", "looked",
    ]  # fmt: skip


# ---- copies


def test_the_switches_choose_how_copies_are_made(torch: FakeTorch) -> None:
    plan = plan_for("mlp")
    assert type(copying_model(torch, plan, "cpu")) is TorchModel
    pinned = copying_model(torch, with_switches(plan, pinned=True), "cpu")
    assert type(pinned) is PinnedModel
    overlapped = copying_model(torch, with_switches(plan, async_copies=True, pinned=True), "cpu")
    assert type(overlapped) is OverlappedModel


def test_arrays_are_page_locked_once(cuda: FakeCuda, torch: FakeTorch) -> None:
    model = PinnedModel(torch, plan_for("mlp"), "cpu")
    model.prepare()
    inputs = make_inputs(model.plan)
    for _ in range(2):
        model.allocate()
        model.write(inputs)
        with model.mode():
            results = model.step()
        found = model.read(results, ("Y",))["Y"]
        np.testing.assert_array_equal(found, expected("mlp"))
        model.free()
    assert cuda.diary.count("page-lock") == len(inputs) + 1


@pytest.mark.parametrize("name", ["mlp", "attention", "transformer_block", "cnn", "conv2d"])
def test_a_batch_in_parts_gives_the_same_results(
    name: str, cuda: FakeCuda, torch: FakeTorch
) -> None:
    model = OverlappedModel(torch, plan_for(name), "cpu")
    filled(model)
    parts = len(model._parts)
    assert 1 < parts <= 4
    with model.mode():
        results = model.step()
    assert cuda.diary.count("wait for a part") == parts
    array = model.plan.outputs[0].name
    found = model.read(results, (array,))[array]
    np.testing.assert_allclose(found, expected(name), rtol=1e-4, atol=1e-5)
    model.free()


# ---- graphs


def test_a_graph_is_recorded_after_a_warm_up_and_sets_weights_back(
    cuda: FakeCuda, torch: FakeTorch
) -> None:
    plan = with_switches(plan_for("mlp_training"), cuda_graph=True)
    model = filled(TorchModel(torch, plan, "cpu"))
    before = model.target("W1").detach().clone()
    with model.mode():
        replay = model.step
    assert bool((model.target("W1") == before).all())
    assert bool((model.target("vW1") == 0).all())
    assert cuda.diary.count("capture") == 1 and "replay" not in cuda.diary
    first, second = replay(), replay()
    assert first is second and cuda.diary[-2:] == ["replay", "replay"]


# ---- errors


def test_a_lack_of_memory_is_told_apart() -> None:
    import torch

    assert out_of_memory(torch, torch.OutOfMemoryError("CUDA out of memory"))
    assert out_of_memory(torch, MemoryError())
    assert not out_of_memory(torch, RuntimeError("shapes differ"))


REFUSED = "CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasLtMatmul( ltHandle, ...`"
POISONED = "CUDA error: an illegal memory access was encountered"


@pytest.mark.parametrize(
    ("error", "answers", "kind"),
    [
        (RuntimeError(REFUSED), True, WorkFailed),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), True, WorkFailed),
        (RuntimeError(POISONED), False, DeviceLost),
        (RuntimeError("an error of a kernel that ran before"), False, DeviceLost),
    ],
)
def test_an_error_ends_the_engine_only_where_the_device_answers_no_more(
    error: RuntimeError, answers: bool, kind: type[Exception], cuda: FakeCuda, torch: FakeTorch
) -> None:
    cuda.poisoned = not answers
    runner = TorchCudaRunner(plan_of(SHIPPED["vector_add"], cpu(), variant="torch"), cpu())
    runner._torch = torch
    with (
        pytest.raises(kind, match=re.escape(str(error))) as caught,
        runner._explained("running add"),
    ):
        raise error
    assert type(caught.value) is kind


def test_a_lack_of_memory_of_a_gpu_that_answers_is_a_smaller_size(
    cuda: FakeCuda, torch: FakeTorch
) -> None:
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 4.00 GiB")
    found = explain(torch, error, "torch:cuda:0", "running add")
    assert type(found) is WorkFailed and found.remedy == "choose a smaller size"


def test_an_error_before_a_gpu_was_used_asks_none(cuda: FakeCuda, torch: FakeTorch) -> None:
    cuda.initialized = False
    assert not device_failed(torch, RuntimeError("shapes differ"))
    assert "synchronize" not in cuda.diary
    cuda.initialized = True
    assert not device_failed(torch, ValueError("CUDA error"))
    assert "synchronize" not in cuda.diary


def test_with_transfers_a_model_takes_its_step_without_spin_and_events(
    cuda: FakeCuda, torch: FakeTorch
) -> None:
    runner = TorchCudaModelRunner(plan_for("mlp"), cpu(), 1)
    runner._torch = torch
    model = filled(TorchModel(torch, runner.plan, "cpu"))
    runner._model = runner._made = model
    runner.launch_plain()
    assert cuda.diary == ["synchronize"]
    found = runner.download(("Y",))["Y"]
    np.testing.assert_allclose(found, expected("mlp"), rtol=1e-5, atol=1e-6)


def test_with_transfers_a_call_is_made_without_spin_and_events(
    cuda: FakeCuda, torch: FakeTorch
) -> None:
    plan = plan_of(SHIPPED["vector_add"], cpu(), variant="torch", size={"N": 64})
    runner = TorchCudaRunner(plan, cpu())
    runner._torch = torch
    runner.allocate()
    inputs = make_inputs(plan)
    runner.upload(inputs)
    cuda.diary.clear()
    runner.launch_plain()
    assert cuda.diary == ["synchronize"]
    (name,) = (array.name for array in plan.outputs)
    first, second = inputs.values()
    np.testing.assert_array_equal(runner.download((name,))[name], first + second)


# ---- the stand-in itself


def test_the_stand_in_is_called_as_torch_is() -> None:
    import torch

    fake = FakeCuda()
    pairs: list[tuple[Any, Any]] = [
        (getattr(torch.cuda, name), method)
        for name, method in inspect.getmembers(fake, inspect.ismethod)
        if not name.startswith("__")
    ]
    for kind in ("Event", "Stream", "CUDAGraph"):
        methods = inspect.getmembers(getattr(fake, kind), inspect.isfunction)
        pairs += [
            (getattr(getattr(torch.cuda, kind), name), method)
            for name, method in methods
            if not name.startswith("__")
        ]
    assert len(pairs) > 12
    for real, stand_in in pairs:
        taken = inspect.signature(stand_in).parameters.values()
        needed = [p for p in taken if p.default is inspect.Parameter.empty]
        for count in {len(taken), len(needed)}:
            inspect.signature(real).bind(*[None] * count)
    inspect.signature(torch.cuda.Event).bind(enable_timing=True)
    inspect.signature(torch.cuda.Event).bind(blocking=True)
    inspect.signature(torch.cuda.Stream).bind("cuda:0")
