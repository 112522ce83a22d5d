"""Every shipped kernel and library call, in every precision: right, at sizes of both kinds."""

from __future__ import annotations

import pytest

from gpuexplorer.analysis.occupancy import LIMITS, occupancy
from gpuexplorer.backends.cuda.describe import multiprocessor_limits
from gpuexplorer.backends.cuda.kernels import KernelRunner
from gpuexplorer.backends.cuda.library import CALLS, offered
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.workloads import loader
from gpuexplorer.workloads.workload import Workload
from tests.gpu.conftest import MakeRunner, Measure

SIZES = {
    "attention": (4, 3),
    "conv2d": (8, 3),
    "layer_norm": (1024, 1001),
    "matmul": (256, 511),
    "softmax": (1024, 1001),
    "stencil2d": (2048, 1001),
    "stencil3d": (128, 101),
    "transpose": (1024, 1001),
}
"""Of the first size of each workload that has several, or whose work is a power of it."""
OTHER_SIZES = (1 << 20, 1_000_003)


def cases() -> list[tuple[str, str, str, int]]:
    """Return workload, variant, precision and size of everything that can run on CUDA."""
    found = []
    for name, workload in loader.load().items():
        for variant, spec in workload.manifest.variants.items():
            if spec.model is not None or (spec.library is not None and spec.library not in CALLS):
                continue  # another backend's
            for precision in workload.precisions_of(variant):
                for size in (*SIZES.get(name, OTHER_SIZES), 1):
                    found.append((name, variant, precision, size))
    return found


@pytest.mark.parametrize(("name", "variant", "precision", "size"), cases())
def test_it_verifies(
    measure: Measure, gpu: DeviceInfo, workloads: dict[str, Workload], name: str, variant: str,
    precision: str, size: int,
) -> None:  # fmt: skip
    requires = workloads[name].variant(variant).requires
    if precision not in gpu.precisions or not all(gpu.has(one) for one in requires):
        pytest.skip(f"{gpu.name} has no {precision}, or not {requires}")
    symbol = next(iter(workloads[name].manifest.sizes))
    measured = measure(name, variant, size={symbol: size}, precision=precision, seconds=0.02)
    assert measured.done.verified
    assert len(measured.seconds) >= 1
    assert (measured.seconds > 0).all()


def test_a_scan_that_draws_its_tiles_is_foreseen_with_its_counter_set_back(
    measure: Measure,
) -> None:
    """With one element a thread every block has a place in ``state``, and none is to spare."""
    for each in (8, 1, 8):  # each finds the arrays as the one before left them
        request = {"size": {"N": 1 << 22}, "block": (32,), "tunables": {"EACH": each}}
        assert measure("scan", "look_back", **request).done.verified


@pytest.mark.parametrize("variant", ["scalar", "vector", "lanes"])
def test_a_large_sparse_matrix_is_foreseen_before_its_indices_are_there(
    measure: Measure, variant: str
) -> None:
    large = measure("spmv", variant, size={"N": 1 << 20, "K": 16})
    assert large.stages.index("predict") < large.stages.index("upload")
    assert large.done.verified


@pytest.mark.parametrize("block", [(1, 1), (3, 7), (32, 1), (1, 256), (32, 32), (1024, 1)])
def test_matmul_is_right_with_any_block(measure: Measure, block: tuple[int, int]) -> None:
    assert measure("matmul", "naive", size={"N": 300}, block=block).done.verified


def test_wide_blocks_beat_tall_ones(measure: Measure) -> None:
    wide = measure("matmul", "naive", size={"N": 2048}, block=(256, 1), seconds=0.3)
    tall = measure("matmul", "naive", size={"N": 2048}, block=(1, 256), seconds=0.3)
    assert tall.seconds.mean() > 3 * wide.seconds.mean()


def test_every_library_is_installed_here() -> None:
    assert set(offered()) == set(CALLS)


def test_the_whole_textbook_sequence_has_its_phases(measure: Measure) -> None:
    measured = measure(
        "matmul", "naive", size={"N": 1024}, switches={"include_transfers": True}, seconds=0.3
    )
    assert measured.done.verified
    assert len(measured.seconds) >= 3


@pytest.mark.parametrize("threads", [1, 32, 64, 96, 128, 256, 384, 512, 768, 1024])
@pytest.mark.parametrize("variant", ["naive", "uncoalesced"])
def test_occupancy_by_formula_equals_the_drivers(
    make_runner: MakeRunner, gpu: DeviceInfo, variant: str, threads: int
) -> None:
    runner = make_runner("matmul", variant, size={"N": 256}, block=(threads, 1))
    assert isinstance(runner, KernelRunner)
    by_driver = runner.resources()
    assert by_driver.registers_per_thread is not None
    assert by_driver.shared_B is not None
    limits = multiprocessor_limits(runner.session.facts)
    assert limits is not None
    capability = gpu.compute_capability
    assert capability is not None
    if capability in LIMITS:
        assert limits == LIMITS[capability]
    found = occupancy(limits, threads, by_driver.registers_per_thread, by_driver.shared_B)
    assert found.occupancy == by_driver.occupancy
    assert found.limiter == by_driver.occupancy_limiter
