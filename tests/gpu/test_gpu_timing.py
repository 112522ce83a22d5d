"""How launches are timed: held back until queued, each between two events."""

from __future__ import annotations

import time

import numpy as np
import pytest

from gpuexplorer.backends.base import TimingLost
from gpuexplorer.backends.cuda import activity, timing
from gpuexplorer.backends.cuda.runner import CudaRunner
from gpuexplorer.backends.cuda.timing import Work, time_launches
from gpuexplorer.core.device import DeviceInfo
from tests.gpu.conftest import MakeRunner
from tests.gpu.hardware import in_cache


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
        ("matmul", "naive", {"size": {"N": 1024}, "block": (1, 1)}),
        ("matmul", "naive", {"size": {"N": 4096}, "block": (16, 16)}),
        ("vector_add", "direct", {"size": {"N": 1 << 26}}),
        ("vector_add", "grid_stride", {"size": {"N": 1 << 26}}),
        ("reduction", "tree", {"size": {"N": 1 << 26}}),
        ("transpose", "tiled", {"size": {"N": 8192}}),
    ],
)
def test_prediction_is_within_a_small_factor(
    gpu: DeviceInfo,
    make_runner: MakeRunner,
    name: str,
    variant: str,
    request_: dict[str, object],
) -> None:
    runner = make_runner(name, variant, **request_)
    predicted_s = runner.predict_s()
    longest_s = gpu.limits.max_launch_s
    if longest_s is not None and predicted_s is not None and predicted_s > longest_s:
        pytest.skip("the system would end such a launch on this GPU")
    measured_s = float(np.median(runner.launch(5).seconds[1:]))
    assert predicted_s is not None
    assert measured_s / 4 < predicted_s < measured_s * 8


def test_a_cold_launch_of_a_cached_problem_takes_longer(
    gpu: DeviceInfo, make_runner: MakeRunner
) -> None:
    size = {"N": min(1 << 20, in_cache(gpu.last_level_cache_B, arrays=3))}
    hot = make_runner("vector_add", "direct", size=size)
    cold = make_runner("vector_add", "direct", size=size, cache="cold")
    hot_s = float(np.median(hot.launch(101).seconds[1:]))
    cold_s = float(np.median(cold.launch(101).seconds[1:]))
    assert cold_s > hot_s


def short_runner(make_runner: MakeRunner, **request: object) -> CudaRunner:
    """Return a runner of a launch of a few microseconds, settled."""
    runner = cuda(make_runner("vector_add", "direct", size={"N": 1 << 16}, **request))
    runner.settle(float(runner.launch(1).seconds[0]))
    return runner


@pytest.fixture
def no_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without CUPTI, whether it is installed or not."""
    monkeypatch.setattr(activity, "open_records", lambda: "")


@pytest.mark.usefixtures("no_records")
def test_short_launches_are_the_mean_of_a_group(make_runner: MakeRunner) -> None:
    runner = short_runner(make_runner)
    batch = runner.launch(512)
    assert batch.launches > 1
    assert 0.5e-6 < float(np.median(batch.seconds)) < timing.SHORT_S
    assert f"around {batch.launches} launches at a time" in runner.method
    assert runner.resolution_s < 0.1e-6
    assert runner.session.gate is not None and not runner.session.gate.took_late


@pytest.mark.usefixtures("no_records")
def test_groups_of_short_launches_scatter_less_than_single_ones(make_runner: MakeRunner) -> None:
    runner = short_runner(make_runner)
    work = Work(runner._run_once, None, runner._operations)
    groups = np.concatenate([runner.launch(512).seconds for _ in range(8)])
    single = time_launches(runner.session, work, 512, gated=True).seconds
    assert groups.std() < single.std() + 1e-9
    assert float(np.median(groups)) <= float(np.median(single)) + timing.RESOLUTION_S


def settle_clock(runner: CudaRunner, within: float = 0.02, most_s: float = 3.0) -> None:
    """Launch until two batches in a row had the same clock: a laptop's rises for a second."""
    until, before = time.monotonic() + most_s, 0.0
    while time.monotonic() < until:
        now = runner.launch(10).clock_Hz
        if now is not None and abs(now - before) <= within * now:
            return
        before = now or 0.0


def test_the_clock_held_is_one_the_device_can_have(make_runner: MakeRunner) -> None:
    runner = cuda(make_runner("matmul", "naive", size={"N": 2048}, block=(32, 8)))
    settle_clock(runner)
    clocks = [runner.launch(10).clock_Hz for _ in range(5)]
    known = [clock for clock in clocks if clock is not None]
    highest_Hz = runner.session.facts.clock_Hz
    assert len(known) >= 3, "the gate's end never ran where the gate ran"
    assert highest_Hz is not None
    assert all(0.1 * highest_Hz < clock < 1.05 * highest_Hz for clock in known)
    assert max(known) < 1.3 * min(known)


def test_records_are_used_where_cupti_is_installed(make_runner: MakeRunner) -> None:
    pytest.importorskip("cupti", reason="CUPTI is part of the cupti extra")
    for request in ({}, {"cache": "cold"}):
        runner = short_runner(make_runner, **request)
        assert timing.RECORDED in runner.method, runner.method
        batch = runner.launch(100)
        assert (len(batch.seconds), batch.launches) == (100, 1)
        assert 0.5e-6 < float(np.median(batch.seconds)) < timing.SHORT_S


def test_records_go_on_after_pytorchs_profiler_or_say_why_not(make_runner: MakeRunner) -> None:
    """It may leave CUPTI a clock that counts the processor's cycles: then events time launches."""
    pytest.importorskip("cupti", reason="CUPTI is part of the cupti extra")
    torch = pytest.importorskip("torch", reason="PyTorch is an extra")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch is built for the CPU")
    runner = short_runner(make_runner)
    before = float(np.median(runner.launch(100).seconds))
    profiler = torch.profiler
    with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as seen:
        (torch.ones(1 << 20, device="cuda") * 2).sum().item()
    assert any(event.device_type.name == "CUDA" for event in seen.events())
    lost, after = "", 0.0
    try:
        after = float(np.median(runner.launch(100).seconds))
    except TimingLost as error:
        lost = error.what
        runner.settle(before)
    if lost:
        assert "clock of CUPTI's records" in lost
        assert lost in runner.method
    else:
        assert timing.RECORDED in runner.method, runner.method
        assert after == pytest.approx(before, rel=0.2)


@pytest.mark.usefixtures("no_records")
def test_a_cold_launch_says_what_was_emptied(make_runner: MakeRunner) -> None:
    runner = short_runner(make_runner, cache="cold")
    assert "cold: 2 × the" in runner.method and "L2 cache written" in runner.method
    assert runner.launch(10).launches == 1
