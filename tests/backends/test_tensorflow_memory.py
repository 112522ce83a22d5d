"""The peak that TensorFlow's allocator counts is one step's, beside the arrays alone."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

from gpuexplorer.backends.tensorflow.runner import TensorFlowCudaRunner
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.planning import make_plan

GPU = DeviceInfo(
    id="tensorflow:cuda:0",
    hardware_id="GPU-1",
    name="Some GPU",
    backend="tensorflow",
    kind="gpu",
    driver="TensorFlow",
    compute_units=1,
    precisions=("fp32",),
    libraries=("tensorflow.matmul",),
)


class Allocator:
    """What stands for a GPU's memory: results are held as long as somebody refers to them."""

    def __init__(self) -> None:
        self.held = self.peak = 0

    def reset_memory_stats(self, place: str) -> None:
        assert place == "GPU:0"
        self.peak = self.held

    def get_memory_info(self, place: str) -> dict[str, int]:
        return {"peak": self.peak}


class Result:
    def __init__(self, memory: Allocator) -> None:
        self._memory = memory
        memory.held += 100
        memory.peak = max(memory.peak, memory.held)

    def __del__(self) -> None:
        self._memory.held -= 100


class Model:
    """Holds 1000 bytes once it was written; a step makes a result of 100."""

    def __init__(self, memory: Allocator) -> None:
        self._memory = memory

    def write(self, arrays: object) -> None:
        self._memory.held = 1000 + self._memory.held % 1000

    def queued(self) -> Result:
        return Result(self._memory)

    step = queued

    def wait(self, results: object) -> None: ...


class Runner(TensorFlowCudaRunner):
    def _mode(self) -> AbstractContextManager[object]:
        return nullcontext()


def test_the_peak_is_that_of_one_step() -> None:
    matmul = load()["matmul"]
    request = RunRequest(workload="matmul", variant="tensorflow", size={"N": 8}, device=GPU.id)
    plan = make_plan(matmul, complete(request, matmul, DeviceList(devices=(GPU,))), GPU)
    memory = Allocator()
    runner = Runner(plan, GPU, 1)
    made: Any = Model(memory)
    runner._model = made
    runner._tf = SimpleNamespace(config=SimpleNamespace(experimental=memory))
    runner._place = "/GPU:0"
    runner.upload(make_inputs(plan))
    runner._group = 8
    runner.launch(16)
    assert memory.held > 1000  # the last results
    assert runner.peak_memory(make_inputs(plan)) == (
        1100.0, "tf.config.experimental.get_memory_info",
    )  # fmt: skip
