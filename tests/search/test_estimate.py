"""An estimate says only what is known, and is about right once there is something to go by."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.result import RunResult
from gpuexplorer.search.estimate import Estimate, Estimator
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.workloads.loader import load
from tests.support.results import made_config, made_result

MATMUL = load()["matmul"]
TEN = Measuring(samples=10, seconds=5.0)


def configs(*sizes: int, blocks: int = 20) -> list[RunConfig]:
    return [
        made_config(size={"N": n}, block=(x, 1, 1)) for n in sizes for x in range(1, blocks + 1)
    ]


def run_of(config: RunConfig, launch_s: float, samples: int = 10) -> RunResult:
    return made_result(samples, launch_s, size=config.size, block=config.block)


def test_before_the_start_there_are_bounds_alone() -> None:
    some = configs(64)
    left = Estimator(MATMUL, TEN, some).left()
    assert left.seconds is None
    assert left.low_s is None
    assert left.high_s is not None and left.high_s >= 20 * (5 + 4 * 2)  # launches of two seconds
    calibrated = Estimator(MATMUL, TEN, some, least_s=lambda config: 0.01).left()
    assert calibrated.low_s == pytest.approx(20 * (10 * 0.01 + 0.02))
    unlimited = Estimator(MATMUL, Measuring(samples=10, seconds=None), some).left()
    assert unlimited.words == "not known yet"


def test_with_seconds_alone_the_time_is_known() -> None:
    left = Estimator(MATMUL, Measuring(samples=None, seconds=2.0), configs(64)).left()
    assert left.seconds == pytest.approx(20 * 2, rel=0.05)


def test_what_may_take_long_has_no_bound_above_before_the_start() -> None:
    some = configs(64)
    for how in (msgspec.structs.replace(TEN, allow_long=True), Measuring(allow_long=True)):
        assert Estimator(MATMUL, how, some).left().words == "not known yet"
        calibrated = Estimator(MATMUL, how, some, least_s=lambda config: 0.1).left()
        assert (calibrated.seconds, calibrated.high_s) == (None, None)
        assert calibrated.words.startswith("at least ")
    timed = Measuring(samples=None, seconds=2.0, allow_long=True)
    assert Estimator(MATMUL, timed, some).left().words == "at least 40 s"


def test_a_model_that_is_compiled_has_no_bound_above_as_long_as_it_waits() -> None:
    eager = made_config(workload="mlp", variant="torch", device="torch:cpu", size={"B": 8})
    compiled = msgspec.structs.replace(eager, switches={"compile": "default"})
    one = Estimator(load()["mlp"], TEN, [eager]).left().high_s
    assert one is not None
    estimator = Estimator(load()["mlp"], TEN, [eager, compiled])
    assert estimator.left().high_s is None
    estimator.took(compiled, 1.0, None)  # it was skipped
    assert estimator.left().high_s == one
    estimator.returned(compiled)
    assert estimator.left().high_s is None


def test_what_was_not_compiled_does_not_tell_what_compiling_takes() -> None:
    size = {"B": 8, "D": 16, "H": 16, "C": 10}
    eager = made_config(workload="mlp", variant="torch", device="torch:cpu", size=size)
    switched = msgspec.structs.replace(eager, switches={"in_place": True})
    compiled = [
        msgspec.structs.replace(eager, size={**size, "B": batch}, switches={"compile": "default"})
        for batch in (8, 16)
    ]
    estimator = Estimator(load()["mlp"], TEN, [eager, switched, *compiled])
    estimator.took(eager, 0.2, made_result(10, 0.01))
    left = estimator.left()
    assert (left.seconds, left.high_s) == (None, None)
    assert left.low_s == pytest.approx(3 * 0.2 / 2, rel=0.2)
    estimator.took(compiled[0], 30.0, made_result(10, 0.01))
    assert estimator.left().seconds == pytest.approx(30, rel=0.1)


def test_nothing_left_is_no_time() -> None:
    assert Estimator(MATMUL, TEN, []).left() == Estimate(0.0, 0.0, 0.0)


def test_the_mean_of_a_shuffled_family_holds_the_rest() -> None:
    chance = np.random.default_rng(5)
    inside = 0
    for _ in range(40):
        some = configs(64, blocks=60)
        costs = chance.lognormal(-3, 0.8, len(some))
        estimator = Estimator(MATMUL, TEN, some)
        for config, cost in zip(some[:20], costs, strict=False):
            estimator.took(config, float(cost), run_of(config, float(cost) / 12))
        left, truth = estimator.left(), float(costs[20:].sum())
        assert left.seconds is not None and left.low_s is not None and left.high_s is not None
        inside += left.low_s <= truth <= left.high_s
    assert inside >= 34


def test_a_size_nobody_measured_is_scaled_by_its_work() -> None:
    small, large = configs(64), configs(256)
    estimator = Estimator(MATMUL, TEN, [*small, *large])
    for config in small:
        estimator.took(config, 10 * 1e-3 + 0.005, run_of(config, 1e-3))
    left = estimator.left()
    assert left.seconds == pytest.approx(20 * (10 * 64e-3 + 0.005), rel=0.05)
    assert left.low_s is not None and left.high_s is not None and left.seconds is not None
    assert left.low_s < 0.6 * left.seconds
    assert left.high_s > 1.8 * left.seconds


def test_what_is_skipped_is_no_cost_and_no_longer_waits() -> None:
    some = configs(64, blocks=4)
    estimator = Estimator(MATMUL, TEN, some)
    estimator.took(some[0], 1.0, run_of(some[0], 0.1))
    estimator.took(some[1], 30.0, None)
    assert estimator.left().seconds == pytest.approx(2 * 1.0)


def test_runs_made_before_count() -> None:
    some = configs(64, blocks=5)
    estimator = Estimator(MATMUL, TEN, some[3:])
    for config in some[:3]:
        estimator.learn(run_of(config, 0.01))
    assert estimator.left().seconds == pytest.approx(2 * 0.12, rel=0.2)


def test_what_was_done_between_launches_is_a_cost_of_a_stored_run() -> None:
    some = configs(64, blocks=5)
    estimator = Estimator(MATMUL, TEN, some[3:])
    for config in some[:3]:  # 40 samples of 1 ms in batches of 8, with 9 ms of flushing each
        result = run_of(config, 1e-3, samples=40)
        batches = [
            msgspec.structs.replace(batch, start_s=7.0 + i * 8 * 10e-3)
            for i, batch in enumerate(result.batches)
        ]
        estimator.learn(msgspec.structs.replace(result, batches=batches))
    assert estimator.left().seconds == pytest.approx(2 * (0.4 + 0.02), rel=0.01)


def test_costs_of_older_runs_no_longer_count_once_enough_were_measured() -> None:
    some = configs(64, blocks=30)
    estimator = Estimator(MATMUL, TEN, some[20:])
    for config in some[:20]:
        estimator.learn(run_of(config, 0.1))
    for done, config in enumerate(some[20:24]):
        estimator.took(config, 0.01, run_of(config, 1e-3))
        left = estimator.left().seconds
        assert left is not None
        assert (left == pytest.approx((9 - done) * 0.01)) == (done >= 2)


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (Estimate(None, None, None), "not known yet"),
        (Estimate(None, None, 500.0), "at most 8 min"),
        (Estimate(None, 40.0, 500.0), "40 s to 8 min"),
        (Estimate(None, 7.2, None), "at least 7 s"),
        (Estimate(250.0, 170.0, 400.0), "about 4 min (3 min to 7 min)"),
        (Estimate(0.2, 0.1, 0.4), "about 1 s"),
        (Estimate(9000.0, 9000.0, 9000.0), "about 2.5 h"),
        (Estimate(864000.0, 864000.0, 864000.0), "about 10.0 days"),
    ],
)
def test_words(estimate: Estimate, words: str) -> None:
    assert estimate.words == words
