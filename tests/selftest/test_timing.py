"""Times that follow the work pass; wrong units, coarse clocks and runs that differ do not."""

from __future__ import annotations

import math

import msgspec
import pytest

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.selftest import timing
from gpuexplorer.selftest.task import Found, Skipped
from tests.selftest.context_support import Answer, MadeContext, timed
from tests.support.problems import device


def cost_s(config: RunConfig) -> float:
    """Return what a machine of 10 GFLOP/s and 10 GB/s would take."""
    n = config.size["N"]
    return 1e-6 + (2 * n**3 if config.workload == "matmul" else 12 * n) / 1e10


def steady(config: RunConfig) -> RunResult:
    return timed(config, cost_s(config), samples=2000)


def check(name: str, answer: Answer, **device_changes: object) -> tuple[Found, MadeContext]:
    made = MadeContext(answer, device(**device_changes))  # type: ignore[arg-type]
    (task,) = [t for t in timing.plan(made.context) if name in t.name]
    return task.do(), made


@pytest.mark.parametrize(
    "name", ["product of", "triad of", "product repeats", "triad repeats", "resolution", "wall"]
)
def test_a_steady_machine_passes_at_once(name: str) -> None:
    found, _ = check(name, steady)
    assert found.figures["attempts"] == 1


def test_both_sides_are_measured_in_turns() -> None:
    _, made = check("product of", steady)
    sizes = [config.size["N"] for config in made.measured]
    assert sizes == [192, 384] * timing.ROUNDS


@pytest.mark.parametrize(("name", "power"), [("product of", 3), ("triad of", 1)])
@pytest.mark.parametrize("grows", [0.0, 2.5])
def test_a_time_that_does_not_follow_the_work_fails(name: str, power: int, grows: float) -> None:
    with pytest.raises(WorkFailed, match="does not grow with the work") as raised:
        check(name, lambda c: timed(c, 1e-6 * c.size["N"] ** (power * grows) / 1e3))
    assert f"{timing.ATTEMPTS} attempts" in raised.value.what


def test_a_machine_that_was_busy_is_tried_again() -> None:
    calls = 0

    def answer(config: RunConfig) -> RunResult:
        nonlocal calls
        calls += 1
        busy = calls <= 2 * timing.ROUNDS and config.size["N"] > 200
        return timed(config, cost_s(config) * (5 if busy else 1))

    found, _ = check("product of", answer)
    assert found.figures["attempts"] == 2
    assert "at attempt 2" in found.words


def test_a_run_that_gives_something_else_each_time_fails() -> None:
    calls = 0

    def answer(config: RunConfig) -> RunResult:
        nonlocal calls
        calls += 1
        return timed(config, cost_s(config) * calls)

    with pytest.raises(WorkFailed, match="does not repeat"):
        check("product repeats", answer)


def test_a_clock_coarser_than_stated_fails() -> None:
    def coarse(config: RunConfig) -> RunResult:
        result = timed(config, 1e-3, samples=2000, resolution_s=1e-6)
        return _stating(result, 1e-9)

    with pytest.raises(WorkFailed, match="coarser than it says"):
        check("resolution", coarse)


@pytest.mark.parametrize("stated_s", [0.0, -1e-9, 1.0, math.nan])
def test_an_impossible_resolution_fails(stated_s: float) -> None:
    with pytest.raises(WorkFailed, match="not plausible"):
        check("resolution", lambda c: _stating(timed(c, 1e-3), stated_s))


def test_few_samples_tell_nothing_of_the_clock() -> None:
    with pytest.raises(Skipped, match="too few"):
        check("resolution", lambda c: timed(c, 1e-3, samples=50))


def _stating(result: RunResult, resolution_s: float) -> RunResult:
    stated = msgspec.structs.replace(result.timing, resolution_s=resolution_s)
    return msgspec.structs.replace(result, timing=stated)


def test_launches_longer_than_the_time_that_passed_fail() -> None:
    with pytest.raises(WorkFailed, match="longer than the time that passed"):
        check("wall", lambda c: timed(c, 5e-3, gaps=-0.5))


def test_launches_timed_several_at_a_time_are_all_counted() -> None:
    def grouped(config: RunConfig, gaps: float) -> RunResult:
        """Samples of 4 µs, the mean of 40 launches each, in batches of ten."""
        run = timed(config, 40 * 4e-6, gaps=gaps)
        batches = [msgspec.structs.replace(b, median_s=4e-6, launches=40) for b in run.batches]
        return msgspec.structs.replace(
            run, samples_s=[s / 40 for s in run.samples_s], batches=batches
        )

    found, _ = check("wall", lambda c: grouped(c, 0.1))
    assert found.words.startswith("7600 launches took"), found.words
    assert found.figures["launches_s"] == pytest.approx(190 * 40 * 4e-6, rel=0.01)
    with pytest.raises(WorkFailed, match="longer than the time that passed"):
        check("wall", lambda c: grouped(c, -0.5))


def test_launches_far_shorter_than_what_passed_fail() -> None:
    with pytest.raises(WorkFailed, match="far shorter"):
        check("wall", lambda c: timed(c, 5e-3, gaps=1000.0))


@pytest.mark.parametrize("cache_MiB", [None, 1, 8, 24, 32, 40, 64, 260, 500])
def test_both_triads_lie_on_one_side_of_the_last_cache(cache_MiB: int | None) -> None:
    cache_B = None if cache_MiB is None else cache_MiB << 20
    made = MadeContext(steady, device(last_level_cache_B=cache_B))
    size = timing._stream_size(made.context)
    assert 1 << 20 <= size <= 1 << 23
    if cache_B is not None and cache_MiB != 64:
        assert 12 * size >= 1.25 * cache_B or 48 * size <= 0.5 * cache_B
