"""How launches are timed: held back until queued, each between two events."""

from __future__ import annotations

import numpy as np
import pytest

from gpuexplorer.backends.cuda import timing
from gpuexplorer.backends.cuda.runner import CudaRunner
from gpuexplorer.backends.cuda.timing import Work, time_launches
from tests.gpu.conftest import MakeRunner


def both_ways(runner: CudaRunner, count: int) -> tuple[float, float]:
    """Return the median seconds with the gate and without, interleaved."""
    runner.launch(2)
    work = Work(runner._run_once, None, runner._operations)
    gated, plain = [], []
    for _ in range(5):
        gated.append(time_launches(runner.session, work, count, gated=True).seconds)
        plain.append(time_launches(runner.session, work, count, gated=False).seconds)
    return float(np.median(np.concatenate(gated))), float(np.median(np.concatenate(plain)))


def cuda(made: object) -> CudaRunner:
    assert isinstance(made, CudaRunner)
    return made


def test_the_gate_works_here(make_runner: MakeRunner) -> None:
    runner = cuda(make_runner("vector_add", "direct", size={"N": 1024}))
    assert runner.session.gate is not None
    assert timing.GATED in runner.method


def test_a_long_kernel_takes_the_same_with_and_without_the_gate(make_runner: MakeRunner) -> None:
    runner = cuda(make_runner("matmul", "naive", size={"N": 2048}, block=(32, 8)))
    gated, plain = both_ways(runner, 5)
    assert gated == pytest.approx(plain, rel=0.03)


def test_a_short_kernel_is_freed_of_the_launch(make_runner: MakeRunner) -> None:
    runner = cuda(make_runner("vector_add", "direct", size={"N": 1024}))
    gated, plain = both_ways(runner, 200)
    assert gated < 8e-6
    assert gated <= plain * 1.1


def test_cuda_events_of_cupy_agree_on_a_long_kernel(make_runner: MakeRunner) -> None:
    import cupy

    runner = cuda(make_runner("matmul", "naive", size={"N": 2048}, block=(32, 8)))
    gated, _ = both_ways(runner, 5)
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    seconds = []
    for _ in range(9):
        with runner.session.cupy_stream:
            start.record()
            runner._run_once()
            end.record()
        end.synchronize()
        seconds.append(cupy.cuda.get_elapsed_time(start, end) * 1e-3)
    assert gated == pytest.approx(float(np.median(seconds)), rel=0.03)


def test_a_full_batch_of_short_launches_is_never_late(make_runner: MakeRunner) -> None:
    runner = cuda(make_runner("vector_add", "direct", size={"N": 1024}))
    runner.launch(1)
    for _ in range(20):
        assert len(runner.launch(512).seconds) == 512
        assert runner.session.gate is not None
        assert not runner.session.gate.took_late


@pytest.mark.parametrize(
    ("name", "variant", "request_"),
    [
        ("matmul", "naive", {"size": {"N": 2048}, "block": (1, 1)}),
        ("matmul", "naive", {"size": {"N": 4096}, "block": (16, 16)}),
        ("vector_add", "direct", {"size": {"N": 1 << 26}}),
        ("vector_add", "grid_stride", {"size": {"N": 1 << 26}}),
        ("reduction", "tree", {"size": {"N": 1 << 26}}),
        ("transpose", "tiled", {"size": {"N": 8192}}),
    ],
)
def test_prediction_is_within_a_small_factor(
    make_runner: MakeRunner, name: str, variant: str, request_: dict[str, object]
) -> None:
    runner = make_runner(name, variant, **request_)
    predicted_s = runner.predict_s()
    measured_s = float(np.median(runner.launch(5).seconds[1:]))
    assert predicted_s is not None
    assert measured_s / 4 < predicted_s < measured_s * 8


def test_a_cold_launch_of_a_cached_problem_takes_longer(make_runner: MakeRunner) -> None:
    size = {"N": 1 << 20}  # 12 MB: within the L2 cache of a recent GPU
    hot = make_runner("vector_add", "direct", size=size)
    cold = make_runner("vector_add", "direct", size=size, cache="cold")
    hot_s = float(np.median(hot.launch(101).seconds[1:]))
    cold_s = float(np.median(cold.launch(101).seconds[1:]))
    assert cold_s > hot_s
