"""Memory on a real GPU: the formula against PyTorch's count, refusals, and running out."""

from __future__ import annotations

import msgspec
import pytest

from gpuexplorer.backends.torch.memory import GPU_COUNTER, GRAPH_COUNTER
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import MemoryTaken, OutOfMemory
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.workload import Workload
from tests.gpu.conftest import Measured

WITHIN = 0.10
SMALL = {"B": 64, "D": 64, "H": 128, "C": 10}
LARGE = {"B": 65536, "D": 512, "H": 4096, "C": 1000}


@pytest.fixture(scope="module")
def torch_gpu(laboratory: Laboratory) -> DeviceInfo:
    pytest.importorskip("torch")
    found = [d for d in laboratory.devices() if d.id == "torch:cuda:0"]
    assert found, "this PyTorch does not see the GPU"
    return found[0]


def configured(
    workload: Workload, device: DeviceInfo, size: dict[str, int], **changes: object
) -> RunConfig:
    wanted = RunRequest(
        workload=workload.name,
        variant="torch",
        device=device.id,
        size=size,
        **changes,  # type: ignore[arg-type]
    )
    return complete(wanted, workload, DeviceList(devices=(device,)))


def run(laboratory: Laboratory, workload: Workload, config: RunConfig) -> MemoryUse:
    measured = Measured()
    laboratory.run(
        workload, config, measured, lambda: False, seconds=0.05, max_noise=None, allow_s=60.0
    )
    return measured.uses[-1]


@pytest.mark.parametrize(
    "size",
    [
        {"B": 4096, "D": 784, "H": 1024, "C": 10},
        {"B": 8192, "D": 1024, "H": 2048, "C": 1000},
        {"B": 256, "D": 2048, "H": 8192, "C": 1000},
    ],
)
@pytest.mark.parametrize("precision", ["fp32", "bf16", "autocast_bf16"])
def test_a_training_step_is_predicted(
    laboratory: Laboratory,
    torch_gpu: DeviceInfo,
    workloads: dict[str, Workload],
    size: dict[str, int],
    precision: str,
) -> None:
    if precision not in torch_gpu.precisions:
        pytest.skip(f"{torch_gpu.name} has no {precision}")
    workload = workloads["mlp_training"]
    use = run(laboratory, workload, configured(workload, torch_gpu, size, precision=precision))
    assert use.counter == GPU_COUNTER
    assert use.relative_error == pytest.approx(0.0, abs=WITHIN)


def test_a_graph_is_counted_by_what_it_reserves(
    laboratory: Laboratory, torch_gpu: DeviceInfo, workloads: dict[str, Workload]
) -> None:
    workload = workloads["mlp"]
    config = configured(workload, torch_gpu, SMALL, switches={"cuda_graph": True})
    assert run(laboratory, workload, config).counter == GRAPH_COUNTER


def test_what_is_not_free_is_refused(
    laboratory: Laboratory, torch_gpu: DeviceInfo, workloads: dict[str, Workload]
) -> None:
    import torch

    workload = workloads["mlp_training"]
    run(laboratory, workload, configured(workload, torch_gpu, SMALL))
    free_B, _ = torch.cuda.mem_get_info()
    taken = torch.empty(free_B - 10**9, dtype=torch.uint8, device="cuda:0")
    config = configured(workload, torch_gpu, {**LARGE, "B": 32768})
    try:
        with pytest.raises(MemoryTaken, match="now has free"):
            run(laboratory, workload, config)
    finally:
        del taken
        torch.cuda.empty_cache()


def test_running_out_is_survived(
    laboratory: Laboratory, torch_gpu: DeviceInfo, workloads: dict[str, Workload]
) -> None:
    import torch

    workload = workloads["mlp_training"]
    small = configured(workload, torch_gpu, SMALL)
    large = msgspec.structs.replace(small, size={**LARGE, "B": 16384})
    run(laboratory, workload, small)
    total_B = torch_gpu.limits.memory_B
    assert total_B is not None
    torch.cuda.set_per_process_memory_fraction(min(1.0, 5e8 / total_B), 0)
    try:
        with pytest.raises(OutOfMemory, match="was predicted"):
            run(laboratory, workload, large)
        assert run(laboratory, workload, small).peak_B
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, 0)
