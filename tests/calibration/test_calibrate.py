"""Calibration asks for runs in turn, keeps the fastest of them, and goes on past failures."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from gpuexplorer.calibration.calibrate import (
    Calibration,
    NextRun,
    called,
    fastest_stretch,
    rate_of,
)
from gpuexplorer.calibration.plan import ceiling_workloads, stages
from gpuexplorer.core.ceilings import Ceiling, Ceilings
from gpuexplorer.core.device import DeviceInfo, DeviceLimits, DeviceList
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, WorkFailed
from gpuexplorer.core.result import RunResult, Throughput
from gpuexplorer.engine.errors import EngineGone, EngineKilled
from gpuexplorer.workloads.library import calls_of
from gpuexplorer.workloads.loader import load
from tests.support.results import made_result

GIB = 1 << 30
KERNELS = DeviceInfo(
    id="opencl:0", hardware_id="cpu:Example", name="Example CPU", backend="opencl", kind="cpu",
    driver="OpenCL 3", compute_units=8, threads=7, runs_kernels=True,
    precisions=("fp64", "fp32", "fp16"), features=("opencl",), last_level_cache_B=32 << 20,
    limits=DeviceLimits(memory_B=64 * GIB, max_allocation_B=16 * GIB), nominal_clock_Hz=3e9,
)  # fmt: skip
TORCH = msgspec.structs.replace(
    KERNELS, id="torch:cpu", backend="torch", runs_kernels=False, libraries=calls_of("torch")
)
GPU = msgspec.structs.replace(
    KERNELS, id="cuda:0", hardware_id="GPU-1", backend="cuda", kind="gpu", threads=None,
    features=("cuda", "shuffle"), libraries=calls_of("cuda"), last_level_cache_B=50 << 20,
)  # fmt: skip
BOTH = DeviceList(devices=(KERNELS, TORCH, GPU))


def result_of(calibration: Calibration, median_s: float) -> RunResult:
    """Return a document of the present task whose launches take ``median_s``."""
    assert calibration.task is not None
    config = calibration.task.candidate.config
    made = made_result(60, median_s)
    rate = 1e6 / made.timing.median_s
    return msgspec.structs.replace(
        made, config=config, throughput=Throughput(flop_per_s=rate, bandwidth_B_per_s=rate)
    )


def go_through(
    calibration: Calibration, median_s: Callable[[int], float] = lambda i: 1e-3
) -> list[str]:
    """Answer every task; return what was asked for, in order."""
    asked = []
    while calibration.task is not None:
        asked.append(calibration.task.words)
        calibration.took(result_of(calibration, median_s(len(asked))))
    return asked


def test_ceiling_workloads_are_in_no_list() -> None:
    names = set(ceiling_workloads())
    assert names == {"ceiling-memory", "ceiling-read", "ceiling-fma", "ceiling-gemm"}
    assert not names & set(load())


def test_every_ceiling_of_a_cpu_has_candidates() -> None:
    made = {(s.kind, s.precision) for s in stages(BOTH, KERNELS)}
    arithmetic = {(k, p) for k in ("fma", "gemm") for p in ("fp64", "fp32", "fp16")}
    assert made == {("copy", None), ("triad", None), ("read", None), ("cache", None)} | arithmetic


def test_a_gpus_ceilings_are_measured_on_it_alone() -> None:
    made = stages(BOTH, GPU)
    configs = [c.config for s in made for c in s.candidates]
    assert {c.device for c in configs} == {"cuda:0"}
    assert {"cublas", "pairs", "copy_cupy"} <= {c.variant for c in configs}
    assert all(c.threads is None for c in configs)


def test_a_library_alone_still_has_memory_and_matrices() -> None:
    made = {s.kind for s in stages(DeviceList(devices=(TORCH,)), TORCH)}
    assert {"copy", "triad", "read", "gemm"} <= made
    assert "fma" not in made


def test_arrays_are_four_times_the_cache_unless_memory_is_short() -> None:
    copy = stages(BOTH, KERNELS)[0]
    assert copy.candidates[0].config.size["N"] * 8 == 4 * (32 << 20)
    assert "4 × the last-level cache of 32 MiB" in copy.size and "tried" not in copy.size
    tight = msgspec.structs.replace(KERNELS, limits=DeviceLimits(memory_B=GIB))
    short = stages(DeviceList(devices=(tight,)), tight)[0]
    assert short.candidates[0].config.size["N"] * 8 == 64 << 20
    assert "the largest tried" in short.size


def test_a_cache_that_nobody_knows_is_said_to_be_assumed() -> None:
    unknown = msgspec.structs.replace(KERNELS, last_level_cache_B=None)
    assert "an assumed cache" in stages(DeviceList(devices=(unknown,)), unknown)[0].size


def test_everything_runs_once_and_the_leaders_again() -> None:
    calibration = Calibration(BOTH, KERNELS)
    asked = go_through(calibration)
    assert calibration.done == len(asked)
    for stage in calibration.stages:
        first = [w for w in asked if w.startswith(stage.title)]
        assert len(first) >= len({c.config.key for c in stage.candidates if c.after is None})
    assert asked[-1] != asked[0]


def test_progress_counts_up_to_its_total() -> None:
    calibration = Calibration(BOTH, KERNELS, quick=True)
    while calibration.task is not None:
        assert 0 <= calibration.done < calibration.total
        calibration.took(result_of(calibration, 1e-3))
    assert calibration.done == calibration.total


def test_the_fastest_of_all_rounds_is_the_ceiling() -> None:
    calibration = Calibration(BOTH, KERNELS)
    slow = {"n": 0}

    def noisy(index: int) -> float:
        slow["n"] += 1
        return 1e-3 if index % 3 == 0 else 5e-3  # a neighbour slows two runs of three

    go_through(calibration, noisy)
    ceilings = calibration.ceilings()
    best = 1e6 / made_result(60, 1e-3).timing.median_s
    for ceiling in ceilings.ceilings:
        assert ceiling.value >= 0.99 * best
        assert ceiling.ci95_low is not None and ceiling.ci95_high is not None
        assert ceiling.ci95_low <= ceiling.value <= ceiling.ci95_high
        assert ceiling.clock_held_Hz == 2.8e9
    assert ceilings.hardware_id == "cpu:Example" and ceilings.threads == 7


def test_a_larger_matrix_is_tried_only_while_launches_stay_short() -> None:
    def sizes(median_s: float) -> set[int]:
        calibration = Calibration(BOTH, KERNELS)
        found = set()
        while (task := calibration.task) is not None:
            if task.stage.kind == "gemm":
                found.add(task.candidate.config.size["N"])
            calibration.took(result_of(calibration, median_s))
        return found

    assert sizes(1e-3) == {1024, 2048, 4096, 8192}
    assert sizes(0.1) == {1024}


def test_failures_are_noted_and_the_rest_goes_on() -> None:
    calibration = Calibration(BOTH, KERNELS)
    while (task := calibration.task) is not None:
        if task.candidate.config.variant == "copy":
            calibration.failed(WorkFailed("the kernel broke"))
        else:
            calibration.took(result_of(calibration, 1e-3))
    assert calibration.failures and all("the kernel broke" in f for f in calibration.failures)
    assert {c.kind for c in calibration.ceilings().ceilings} >= {"copy", "fma"}


def test_a_run_that_fails_is_left_out_and_an_engine_that_gives_up_ends_all() -> None:
    calibration, told = Calibration(BOTH, KERNELS), list[str]()

    def measure(task: NextRun) -> RunResult:
        config, workload, options = task.asked
        assert workload.name == config.workload and options.seconds == task.stage.seconds
        if len(told) == 9:
            raise EngineGone("no engine")
        if config.variant == "copy":
            raise WorkFailed("the kernel broke")
        return result_of(calibration, 1e-3)

    with pytest.raises(EngineGone):
        calibration.run(measure, lambda task: told.append(task.words))
    assert calibration.done == 8 and len(told) == 9
    assert calibration.failures and all("the kernel broke" in f for f in calibration.failures)
    calibration.run(measure, lambda task: told.append(task.words))
    assert calibration.task is None and calibration.done == len(told) - 1


def test_a_library_that_cannot_be_had_is_left_out_and_a_device_that_is_gone_ends_all() -> None:
    calibration = Calibration(BOTH, KERNELS)

    def measure(task: NextRun) -> RunResult:
        if task.stage.kind == "gemm":
            raise CannotRunHere("PyTorch cannot be imported")
        return result_of(calibration, 1e-3)

    calibration.run(measure)
    assert calibration.failures and all("cannot be imported" in f for f in calibration.failures)
    assert {c.kind for c in calibration.ceilings().ceilings} >= {"copy", "fma"}

    def gone(task: NextRun) -> RunResult:
        raise CannotRunHere("there is no such device")

    with pytest.raises(CannotRunHere):
        Calibration(BOTH, KERNELS).run(gone)

    going = Calibration(BOTH, KERNELS)

    def goes(task: NextRun) -> RunResult:
        return gone(task) if going.done else result_of(going, 1e-3)

    with pytest.raises(CannotRunHere):
        going.run(goes)
    assert going.task is not None


def test_without_a_compiler_what_libraries_reach_is_measured() -> None:
    calibration = Calibration(BOTH, KERNELS)

    def measure(task: NextRun) -> RunResult:
        if not called(task):
            raise CannotRunHere("there is no compiler for its kernels")
        return result_of(calibration, 1e-3)

    calibration.run(measure)
    assert calibration.failures and all("no compiler" in f for f in calibration.failures)
    assert "gemm" in {c.kind for c in calibration.ceilings().ceilings}


def calibrated(
    lost: Callable[[NextRun], ExplorerError | None] = lambda task: None,
    before: Ceilings | None = None,
) -> tuple[Ceilings, int]:
    """Return a calibration in which runs are lost, and how many ceilings it missed."""
    calibration = Calibration(BOTH, KERNELS)

    def measure(task: NextRun) -> RunResult:
        error = lost(task)
        if error is not None:
            raise error
        return result_of(calibration, 1e-3)

    calibration.run(measure)
    found = calibration.ceilings(lambda found: before)
    return found, calibration.missed(found)


def lost_roof(task: NextRun) -> ExplorerError | None:
    return WorkFailed("the kernel broke") if task.stage.roof == ("fma", "fp32", False) else None


def test_a_ceiling_that_cannot_be_measured_stays_as_it_was_before_with_its_date() -> None:
    """The whole calibration was replaced by one that lacks it."""
    first, missed = calibrated()
    assert missed == 0
    before = msgspec.structs.replace(first, time_utc="2026-01-01T12:00:00+00:00")
    again, missed = calibrated(lost_roof, before)
    assert missed == 1
    kept = {(c.kind, c.precision) for c in again.ceilings if c.time_utc == before.time_utc}
    assert kept == {("fma", "fp32")}
    assert [c.kind for c in again.ceilings] == [c.kind for c in before.ceilings]
    assert again.compute("fp32") is not None
    third, missed = calibrated(lost_roof, msgspec.structs.replace(again, time_utc="2026-02-01"))
    assert [c.time_utc for c in third.ceilings if c.time_utc] == [before.time_utc]
    whole, missed = calibrated(before=third)
    assert missed == 0 and not any(c.time_utc for c in whole.ceilings)


def test_what_was_never_measured_is_missed_and_nothing_is_kept_from_a_brief_calibration() -> None:
    found, missed = calibrated(lost_roof)
    assert missed == 1 and ("fma", "fp32") not in {(c.kind, c.precision) for c in found.ceilings}
    brief = msgspec.structs.replace(calibrated()[0], brief=True)
    assert calibrated(lost_roof, brief)[0].ceilings == found.ceilings


def test_a_ceiling_whose_best_candidate_is_lost_stays_if_it_was_higher() -> None:
    def lost(task: NextRun) -> ExplorerError | None:
        is_best = task.candidate is task.stage.candidates[0]  # all are as fast
        fma = task.stage.roof == ("fma", "fp32", False)
        return EngineKilled("the engine was killed") if fma and is_best else None

    def roof(found: Ceilings) -> Ceiling:
        return next(c for c in found.ceilings if (c.kind, c.precision) == ("fma", "fp32"))

    before, _ = calibrated()
    for factor, kept in ((2.0, True), (0.5, False)):
        value = factor * roof(before).value
        every = tuple(
            msgspec.structs.replace(c, value=value) if c == roof(before) else c
            for c in before.ceilings
        )
        found, missed = calibrated(lost, msgspec.structs.replace(before, ceilings=every))
        assert (roof(found).value == value, missed) == (kept, int(kept))


def test_what_nothing_here_can_run_is_kept_and_not_missed() -> None:
    before, _ = calibrated()
    found, missed = calibrated(
        lambda task: CannotRunHere("no PyTorch") if task.stage.kind == "gemm" else None, before
    )
    assert missed == 0
    assert {c.kind for c in found.ceilings if c.time_utc} == {"gemm"}


def test_nothing_measured_is_an_error_that_says_why() -> None:
    calibration = Calibration(BOTH, KERNELS)
    while calibration.task is not None:
        calibration.failed(WorkFailed("no memory"))
    with pytest.raises(WorkFailed, match="no memory"):
        calibration.ceilings()


def test_a_device_that_can_run_nothing_is_refused() -> None:
    nothing = msgspec.structs.replace(TORCH, id="numpy:cpu", hardware_id="other", libraries=())
    with pytest.raises(CannotRunHere, match="calibrate"):
        Calibration(DeviceList(devices=(nothing,)), nothing)


def test_the_fastest_stretch_forgets_a_busy_minute() -> None:
    samples = np.concatenate([np.full(50, 3e-3), np.full(20, 1e-3), np.full(50, 2e-3)])
    assert fastest_stretch(samples).median_s == 1e-3
    few = np.array([2e-3, 1e-3, 4e-3])
    assert fastest_stretch(few).median_s == 2e-3


def test_a_rate_without_a_time_is_none_at_all() -> None:
    result = made_result(40, 1e-3)
    nothing = msgspec.structs.replace(
        result, throughput=Throughput(flop_per_s=None, bandwidth_B_per_s=None)
    )
    assert rate_of(nothing).value == 0.0
