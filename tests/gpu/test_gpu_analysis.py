"""Static analysis against this GPU's own driver: resources, and occupancy at every block size."""

from __future__ import annotations

import pytest

from gpuexplorer.analysis.occupancy import LIMITS
from gpuexplorer.backends.cuda.describe import architecture
from gpuexplorer.backends.cuda.kernels import KernelRunner
from gpuexplorer.compile.service import answer
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.engine.variant_on import VariantOn, request_key
from gpuexplorer.workloads import loader
from gpuexplorer.workloads.workload import Workload
from tests.gpu.conftest import MakeRunner


def cases() -> list[tuple[str, str, str]]:
    """Return workload, variant and precision of every shipped kernel."""
    return [
        (name, variant, precision)
        for name, workload in loader.load().items()
        for variant, spec in workload.manifest.variants.items()
        for precision in workload.precisions_of(variant)
        if spec.launch
    ]


@pytest.mark.parametrize(("name", "variant", "precision"), cases())
def test_the_analysis_is_what_the_driver_says(
    make_runner: MakeRunner,
    gpu: DeviceInfo,
    workloads: dict[str, Workload],
    name: str,
    variant: str,
    precision: str,
) -> None:
    if (gpu.compute_capability or (0, 0)) < min(LIMITS):
        pytest.skip("the analysis begins with compute capability 7.5")
    assert gpu.compute_capability in LIMITS, "this GPU's limits are not in the table yet"
    request = RunRequest(
        workload=name, variant=variant, precision=precision, size={"": 256}, device=gpu.id
    )
    on = VariantOn(workloads[name], request, architecture(gpu.compute_capability))
    requests = on.requests()
    known = dict(zip(map(request_key, requests), answer(requests).figures, strict=True))
    runner = make_runner(name, variant, precision=precision, size={"": 256})
    assert isinstance(runner, KernelRunner)
    described = on.describe(known)
    assert len(described) == len(runner.kernels)
    for index, (analysed, loaded) in enumerate(zip(described, runner.kernels, strict=True)):
        assert analysed.registers_per_thread == loaded.registers
        assert analysed.static_shared_B == loaded.static_shared_B
        assert analysed.local_B == loaded.local_B
        assert analysed.blocks_per_multiprocessor == runner.resident_blocks(index)
        for point in analysed.curve:
            if point.threads <= loaded.max_threads_per_block:
                asked = runner.resident_blocks(index, point.threads, point.dynamic_shared_B)
                assert point.blocks_per_multiprocessor == asked, point
