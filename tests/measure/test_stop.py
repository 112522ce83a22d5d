"""Stop rules end where they should, at hardly any cost."""

from __future__ import annotations

import time

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from gpuexplorer.charts.words import STOPPED, method_words
from gpuexplorer.core.intervals import median_interval
from gpuexplorer.core.statistics import summarize
from gpuexplorer.engine import interleave
from gpuexplorer.history.model import INTERRUPTED
from gpuexplorer.measure import stop
from gpuexplorer.measure.noise import Noise
from gpuexplorer.measure.stop import NoiseReached, NoiseStable, StopRule, TimeUp
from gpuexplorer.search import blockmap
from tests.support.results import made_result
from tests.support.synthetic import autoregression, drifting, rng

Floats = npt.NDArray[np.float64]
BATCH_S = 0.01


def run(series: Floats, rules: list[StopRule], per_batch: int = 20) -> tuple[str, int]:
    """Feed a series batch by batch; return what ended it, and after how many samples."""
    for batch in range(1, len(series) // per_batch + 1):
        for rule in rules:
            if rule.met(series[: batch * per_batch], batch * BATCH_S):
                return rule.reason, batch * per_batch
    return "end", len(series)


def rules(seconds: float = 5.0) -> list[StopRule]:
    noise = Noise()
    return [NoiseReached(noise=noise), NoiseStable(noise=noise), TimeUp(seconds)]


RULES: dict[str, str] = {
    name: found.reason
    for name, found in vars(stop).items()
    if isinstance(getattr(found, "reason", None), str)
}


@pytest.mark.parametrize(
    "reason",
    [*RULES.values(), interleave.STOPPED_BY, blockmap.STOPPED_BY,
     INTERRUPTED],
)  # fmt: skip
def test_whatever_ends_a_run_has_words(reason: str) -> None:
    assert {"TimeUp", "Enough", "Slower", "NoiseReached", "NoiseStable"} <= RULES.keys()
    result = made_result(samples=20)
    timing = msgspec.structs.replace(result.timing, stopped_by=reason)
    said = method_words(msgspec.structs.replace(result, timing=timing))
    assert said.endswith(f"; 20 samples; {STOPPED[reason]}.")
    assert " " in STOPPED[reason]


def test_time_is_up_only_after_a_sample() -> None:
    rule = TimeUp(1.0)
    assert not rule.met(np.empty(0), 5.0)
    assert not rule.met(np.ones(3), 0.9)
    assert rule.met(np.ones(1), 1.0)


def test_a_quiet_series_ends_early_and_a_noisy_one_goes_on() -> None:
    source = rng(3)
    assert NoiseReached().met(source.normal(1e-3, 1e-6, 100), 1.0)
    assert not NoiseReached().met(source.normal(1e-3, 4e-4, 100), 1.0)


def test_the_noise_to_reach_can_be_chosen() -> None:
    series = rng(4).normal(1e-3, 1e-4, 100)
    assert NoiseReached(0.1).met(series, 1.0)
    assert not NoiseReached(0.005).met(series, 1.0)


def test_noise_is_not_judged_before_half_a_second_or_ten_samples() -> None:
    assert not NoiseReached().met(np.ones(100), 0.4)
    assert not NoiseReached().met(np.ones(9), 1.0)


def test_a_series_is_not_looked_at_again_before_it_grew() -> None:
    rule = NoiseReached()
    assert not rule.met(rng(3).normal(1e-3, 4e-4, 100), 1.0)
    assert not rule.met(np.ones(105), 1.1)
    assert rule.met(np.ones(120), 1.2)


def test_a_steady_series_ends_by_its_noise_and_its_interval_still_holds() -> None:
    held, ended = 0, []
    series, truth = autoregression(rng(5), 300, 4000, 0.3, "normal")
    for one in series:
        reason, samples = run(one, rules(), per_batch=8)
        ended.append(reason)
        interval = median_interval(one[:samples])
        assert interval is not None
        held += interval[0] <= truth <= interval[1]
    assert ended.count("noise") > 290
    assert 0.93 <= held / 300 <= 0.985


def test_what_ended_by_its_noise_is_known_as_well_as_was_asked() -> None:
    series, _ = autoregression(rng(12), 200, 4000, 0.6, "normal")
    for one in series:
        reason, samples = run(one, rules(), per_batch=8)
        error = summarize(one[:samples]).relative_error
        assert reason != "noise" or (error is not None and error <= 0.005)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_a_noisy_but_steady_series_runs_until_time_is_up(correlation: float) -> None:
    series, _ = autoregression(rng(6), 60, 10_000, correlation, "normal")
    ended = [run(one, rules())[0] for one in 1 + 8 * (series - 1)]
    assert ended.count("time") >= 57
    assert ended.count("stable") <= 2


def test_a_drift_ends_the_run_once_more_samples_do_not_help() -> None:
    series, _ = autoregression(rng(7), 60, 10_000, 0.0, "normal")
    ended = [run(one, [NoiseStable(), TimeUp(5.0)]) for one in drifting(series, 0.3)]
    assert sum(reason == "stable" for reason, _ in ended) >= 57
    assert np.median([samples for _, samples in ended]) < 6000


def test_a_random_walk_ends_the_run_once_more_samples_do_not_help() -> None:
    walks = 1 + 1e-3 * np.cumsum(rng(8).standard_normal((60, 10_000)), axis=1)
    ended = [run(one, rules())[0] for one in walks]
    assert ended.count("stable") >= 54


def test_a_series_without_noise_is_reached_and_not_called_stable() -> None:
    assert run(np.full(2000, 3.0), rules())[0] == "noise"
    assert run(np.full(10_000, 3.0), [NoiseStable(), TimeUp(5.0)])[0] == "time"


@pytest.mark.parametrize("samples", [50, 150, 250, 1000, 50_000])
def test_the_quick_noise_agrees_with_the_interval(samples: int) -> None:
    series, _ = autoregression(rng(9), 100, samples, 0.3, "normal")
    quick, full = [], []
    for one in series:
        noise = Noise()
        for part in (samples // 3, samples // 2, samples):
            error = noise.relative_error(one[:part])
        interval = median_interval(one)
        assert interval is not None and error is not None
        quick.append(error)
        full.append((interval[1] - interval[0]) / 2)
    assert np.median(quick) == pytest.approx(np.median(full), rel=0.2)


def test_a_series_that_lost_its_oldest_samples_is_counted_anew() -> None:
    noise = Noise()
    source = rng(10)
    noise.relative_error(source.normal(1.0, 0.3, 1000))
    quiet = source.normal(1.0, 0.001, 900)
    fresh = Noise().relative_error(quiet)
    assert noise.relative_error(quiet) == pytest.approx(fresh)


def test_looking_costs_a_few_hundredths_of_the_measuring_thread() -> None:
    series = rng(11).normal(1.0, 0.5, 250_000)
    started = time.process_time()
    assert run(series, [NoiseReached(1e-9), NoiseStable(slope=-9.0)], per_batch=500)[0] == "end"
    assert time.process_time() - started < 0.03 * 5.0
