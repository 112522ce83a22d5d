"""A comparison from the first round to its document, on a session with known times."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import Environment, RunResult
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.errors import EngineKilled
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.search.compare import (
    OTHER_DEVICE,
    OTHER_PROCESS,
    Comparing,
    ContestantConfig,
    Standing,
    held_against,
    warnings_of,
)
from gpuexplorer.search.stored import compare_stored
from gpuexplorer.workloads.loader import load
from tests.support.prepared import prepared
from tests.support.results import made_result
from tests.support.synthetic import Floats, machine, rng

MATMUL = load()["matmul"]
LAUNCHES = 20
RUNS = 200
MOST_ROUNDS = 64


class Machine:
    """Takes launches from one series in time; a variant's name says how much slower it is."""

    def __init__(self, times: Floats, *, driver: str = "1") -> None:
        self._times = times
        self._at = 0
        self._driver = driver
        self.spent_s = 0.0

    def measure(self, config: RunConfig, *_: object, **__: object) -> RunRecord:
        slower = float(config.variant.removeprefix("v"))
        part = self._times[self._at : self._at + LAUNCHES] * (1 + slower) * 1e-3
        self._at += LAUNCHES
        self.spent_s += float(part.sum())
        said = prepared()
        record = RunRecord(
            msgspec.structs.replace(
                said,
                config=config,
                device=msgspec.structs.replace(said.device, driver=self._driver),
            )
        )
        record.add(
            SampleBatch(
                seconds=part.astype("<f8").tobytes(), counts=(LAUNCHES,), starts_ns=(self._at,)
            )
        )
        record.end("time")
        return record


def contestant(slower: float, stored: RunResult | None = None, label: str = "") -> ContestantConfig:
    config = msgspec.structs.replace(prepared().config, variant=f"v{slower:g}")
    return ContestantConfig(label or f"v{slower:g}", config, MATMUL, stored)


def quiet(rounds: int, runs: int = 1) -> Floats:
    times: Floats = machine(rng(5), runs, 4 * rounds * LAUNCHES, ())[0]
    return times


def compared(
    slower: list[float], times: Floats, limit: float | None = None, rounds: int | None = None
) -> tuple[Comparing, ComparisonResult]:
    comparing = Comparing(
        [contestant(s) for s in slower], fail_if_slower=limit, rounds=rounds, seed=1
    )
    comparing.measure(Machine(times), seconds=1e9, most_rounds=MOST_ROUNDS)
    return comparing, comparing.result()


@pytest.mark.parametrize(("slower", "least", "most"), [(0.0, 0, 10), (0.05, 180, 200)])
def test_of_200_comparisons_on_a_disturbed_machine(slower: float, least: int, most: int) -> None:
    told = 0
    for times in machine(rng(81), RUNS, 2 * MOST_ROUNDS * LAUNCHES):
        comparing = Comparing([contestant(0), contestant(slower)], seed=int(times[0] * 1e9))
        comparing.measure(Machine(times), seconds=1e9, most_rounds=MOST_ROUNDS)
        found = comparing.standings()[1].comparison
        assert found is not None
        different = found.verdict in ("faster", "slower")
        told += found.verdict == "slower" if slower else different
    assert least <= told <= most


def test_it_ends_when_every_verdict_is_clear() -> None:
    seen: list[int] = []
    comparing = Comparing([contestant(0), contestant(0.3), contestant(-0.2)], seed=2)
    comparing.measure(
        Machine(quiet(40)), seconds=1e9, on_round=lambda standings: seen.append(len(standings))
    )
    result = comparing.result()
    assert result.stopped_by == "verdict"
    assert (result.rounds, len(seen), set(seen)) == (8, 8, {3})
    assert [c.verdict for c in result.contestants] == [None, "slower", "faster"]
    assert [c.ratio for c in result.others] == pytest.approx([1.3, 0.8], rel=0.01)
    assert all(len(c.turns_s) == 8 and len(c.run.samples_s) == 160 for c in result.contestants)
    assert {c.run.timing.stopped_by for c in result.contestants} == {"turns"}
    assert result.interleaved
    for one in result.others:
        assert one.ci95_low is not None and one.ci95_high is not None and one.ratio is not None
        assert one.ci95_low <= one.ratio <= one.ci95_high


def test_what_cannot_be_told_uses_the_whole_budget_and_more_can_be_asked_for() -> None:
    source = rng(3)
    times = np.exp(0.3 * source.standard_normal(8000 * LAUNCHES))
    comparing = Comparing([contestant(0), contestant(0.004)], seed=1)
    session = Machine(times)
    comparing.measure(session, seconds=1e9, most_rounds=20)
    assert (comparing.result().stopped_by, comparing.rounds) == ("rounds", 20)
    assert comparing.result().others[0].verdict == "can't tell"
    comparing.measure(session, seconds=0.0)
    assert (comparing.result().stopped_by, comparing.rounds) == ("time", 21)


def test_the_time_that_it_may_take_is_that_of_its_clock() -> None:
    times = np.exp(0.3 * rng(3).standard_normal(8000 * LAUNCHES))
    comparing, session = Comparing([contestant(0), contestant(0.004)], seed=1), Machine(times)
    comparing.measure(session, seconds=0.0, most_rounds=20, clock=itertools.repeat(-1e9).__next__)
    assert (comparing.result().stopped_by, comparing.rounds) == ("time", 1)
    comparing.measure(session, seconds=4.0, most_rounds=20, clock=itertools.count().__next__)
    assert (comparing.result().stopped_by, comparing.rounds) == ("time", 5)
    comparing.measure(session, seconds=0.1, most_rounds=20, clock=itertools.repeat(7.0).__next__)
    assert (comparing.result().stopped_by, comparing.rounds) == ("rounds", 20)


def test_a_number_of_rounds_is_kept_and_knows_a_little_more() -> None:
    _, fixed = compared([0, 0.3], quiet(40), rounds=12)
    assert (fixed.rounds, fixed.stopped_by) == (12, "rounds")
    one = fixed.others[0]
    times_a, times_b = (np.array(c.turns_s) for c in fixed.contestants)
    ordered = np.sort(times_b / times_a)
    assert one.ci95_low is not None and one.ci95_low > ordered[2]  # a look of many: ordered[1]


def test_too_few_rounds_tell_nothing() -> None:
    _, result = compared([0, 0.3], quiet(10), rounds=3)
    one = result.others[0]
    assert (one.ratio, one.ci95_low, one.verdict) == (None, None, "can't tell")


@pytest.mark.parametrize(("slower", "too_slow"), [(0.2, True), (0.01, False), (-0.1, False)])
def test_too_slow_is_said_with_confidence(slower: float, too_slow: bool) -> None:
    _, result = compared([0, slower], quiet(70), limit=0.05)
    assert result.others[0].too_slow is too_slow
    assert result.contestants[0].too_slow is None


def test_at_the_limit_itself_it_cannot_be_told() -> None:
    times = np.exp(0.02 * rng(9).standard_normal(4 * 80 * LAUNCHES))
    _, result = compared([0, 0.05], times, limit=0.05)
    one = result.others[0]
    assert one.verdict == "slower"  # clear already, but not by how much
    assert one.too_slow is None
    assert result.stopped_by == "rounds"


def test_the_reference_may_stand_anywhere() -> None:
    comparing = Comparing([contestant(0), contestant(1.0)], reference=1, seed=1)
    comparing.measure(Machine(quiet(40)), seconds=1e9)
    result = comparing.result()
    assert result.contestants[1].verdict is None
    assert result.contestants[0].verdict == "faster"
    assert result.contestants[0].ratio == pytest.approx(0.5, rel=0.01)


def test_one_alone_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="takes two"):
        Comparing([contestant(0)])


def test_what_changed_since_a_run_was_stored_is_said() -> None:
    session = Machine(quiet(40), driver="2")
    before = Comparing([contestant(0), contestant(0.2)], seed=1)
    before.measure(Machine(quiet(40), driver="1"), seconds=1e9)
    old = before.result().contestants[0].run
    comparing = Comparing([contestant(0, stored=old), contestant(0.2)], seed=1)
    comparing.measure(session, seconds=1e9)
    first, second = comparing.result().contestants
    assert first.stored_id == old.id
    assert first.stored_median_s == old.timing.median_s
    assert first.warnings == ("Since it was stored: the driver differs: 1 and 2.",)
    assert second.warnings == ()


def test_other_work_is_named() -> None:
    small = contestant(0)
    config = msgspec.structs.replace(small.config, size={"N": 20}, cache="cold")
    comparing = Comparing([small, ContestantConfig("large", config, MATMUL)], seed=1)
    comparing.measure(Machine(quiet(40)), seconds=0)
    (warning,) = comparing.result().others[0].warnings
    assert warning == (
        "It does not do the same work: another size and another state of the caches."
    )


def test_another_way_of_timing_on_the_same_device_is_named() -> None:
    comparing = Comparing([contestant(0), contestant(0.2)], seed=1)
    comparing.measure(Machine(quiet(40)), seconds=0)
    reference, other = (one.run for one in comparing.result().contestants)
    timing = msgspec.structs.replace(other.timing, method="CUPTI records; caches warm")
    said = warnings_of(contestant(0.2), msgspec.structs.replace(other, timing=timing), reference)
    assert said == ["It is timed in another way than the reference: CUPTI records; caches warm."]
    assert warnings_of(contestant(0.2), other, reference) == []


def test_a_suspect_figure_is_never_ranked() -> None:
    a, b = made_result(), made_result(median_s=2e-3)
    b = msgspec.structs.replace(
        b, timing=msgspec.structs.replace(b.timing, suspect="above the ceiling")
    )
    result = compare_stored(
        [ContestantConfig("b", b.config, MATMUL), ContestantConfig("a", a.config, MATMUL)],
        [b, a],
        fail_if_slower=0.05,
    )
    assert (result.others[0].verdict, result.others[0].too_slow) == ("can't tell", None)
    result = compare_stored(
        [ContestantConfig("a", a.config, MATMUL), ContestantConfig("b", b.config, MATMUL)], [a, b]
    )
    assert result.others[0].verdict == "can't tell"
    assert result.others[0].warnings[0] == "Its figure is suspect: above the ceiling."


@pytest.mark.parametrize("wrong", ["v0", "v1"])
def test_a_comparison_with_a_suspect_figure_is_not_clear(
    monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setattr(
        RunRecord, "suspect_at",
        lambda record, _: "above the ceiling" if record.prepared.config.variant == wrong else None,
    )  # fmt: skip
    comparing = Comparing([contestant(0), contestant(1.0)], fail_if_slower=0.05, seed=1)
    comparing.measure(Machine(quiet(2000)), seconds=1e9, most_rounds=12)
    assert (comparing.stopped_by, comparing.rounds) == ("rounds", 12)
    standing = comparing.standings()[1]
    assert standing.comparison is not None and standing.too_slow is None
    assert standing.comparison.verdict == "can't tell" and standing.comparison.ratio > 1.9
    assert comparing.result().others[0].verdict == "can't tell"


def test_stored_runs_are_held_against_each_other_as_they_are() -> None:
    a, b = made_result(), made_result(median_s=8.36e-3)
    b = msgspec.structs.replace(b, environment=Environment(gpuexplorer="0.2.0", python="3.11.2"))
    result = compare_stored(
        [ContestantConfig("a", a.config, MATMUL, a), ContestantConfig("b", b.config, MATMUL, b)],
        [a, b],
        fail_if_slower=0.05,
    )
    one = result.others[0]
    assert not result.interleaved
    assert (result.rounds, result.stopped_by) == (0, "stored")
    assert one.ratio == pytest.approx(1.1)
    assert one.ci95_low is not None and one.ci95_high is not None
    widths = [
        math.log(r.timing.ci95_high_s / r.timing.ci95_low_s)
        for r in (a, b)
        if r.timing.ci95_high_s is not None and r.timing.ci95_low_s is not None
    ]
    assert math.log(one.ci95_high / one.ci95_low) == pytest.approx(math.hypot(*widths))
    assert (one.verdict, one.too_slow) == ("slower", True)
    assert one.warnings == ("Beside the reference: GPU Explorer differs: 0.1.0 and 0.2.0.",)


def test_another_engines_process_is_named_as_a_reason_for_small_differences() -> None:
    a, b = made_result(), made_result(median_s=8.36e-3)
    there = msgspec.structs.replace(b.environment, engine="torch-2.13")
    b = msgspec.structs.replace(b, environment=there)
    contestants = [
        ContestantConfig("a", a.config, MATMUL, a),
        ContestantConfig("b", b.config, MATMUL, b),
    ]
    assert OTHER_PROCESS in compare_stored(contestants, [a, b]).others[0].warnings
    elsewhere = msgspec.structs.replace(b.device, hardware_id="another card")
    far = msgspec.structs.replace(b, device=elsewhere)
    said = compare_stored(contestants, [a, far]).others[0].warnings
    assert OTHER_DEVICE in said
    assert OTHER_PROCESS not in said
    marked = msgspec.structs.replace(b.device, hardware_id=f"{b.device.hardware_id} #00c0ffee")
    twin = msgspec.structs.replace(b, device=marked)
    assert OTHER_DEVICE in compare_stored(contestants, [a, twin]).others[0].warnings
    assert not compare_stored([contestants[1], contestants[1]], [b, b]).others[0].warnings


def test_a_document_survives_its_own_json() -> None:
    _, result = compared([0, 0.3], quiet(40))
    assert msgspec.json.decode(msgspec.json.encode(result), type=ComparisonResult) == result


def test_standings_before_the_first_round() -> None:
    comparing = Comparing([contestant(0), contestant(0.1)])
    standings: list[Standing] = comparing.standings()
    assert standings == []
    with pytest.raises(ValueError, match="no round"):
        comparing.result()


def test_an_error_says_whose_it_is() -> None:
    class Failing(Machine):
        def measure(self, config: RunConfig, *rest: object, **choices: object) -> RunRecord:
            if config.variant == "v1":
                raise InputError("the block is too large", remedy="choose another")
            return super().measure(config, *rest, **choices)

    comparing = Comparing([contestant(0), contestant(1, label="the large one")])
    with pytest.raises(InputError, match=r"^the large one: the block is too large; choose"):
        comparing.measure(Failing(quiet(5)))
    assert comparing.rounds == 0


class Killed(Machine):
    """Loses an engine at some of the turns of the second contestant, counted from 1."""

    def __init__(self, *turns: int) -> None:
        super().__init__(quiet(20))
        self._lost, self._turn = turns, 0

    def measure(self, config: RunConfig, *rest: object, **choices: object) -> RunRecord:
        if config.variant == "v1":
            self._turn += 1
            if self._turn in self._lost:
                raise EngineKilled("the engine was killed (SIGKILL)")
        return super().measure(config, *rest, **choices)


@pytest.mark.parametrize("turns", [(1,), (3,), (1, 3)])
def test_a_round_that_is_lost_with_its_engine_is_made_once_more(turns: tuple[int, ...]) -> None:
    comparing = Comparing([contestant(0), contestant(1)], rounds=4)
    comparing.measure(Killed(*turns))
    assert (comparing.rounds, comparing.stopped_by, comparing.failed) == (4, "rounds", None)
    assert [len(one.turns_s) for one in comparing.result().contestants] == [4, 4]


def test_who_loses_an_engine_twice_in_a_row_ends_a_comparison() -> None:
    comparing = Comparing([contestant(0), contestant(1, label="the deadly one")], rounds=4)
    with pytest.raises(EngineKilled, match=r"^the deadly one: the engine was killed"):
        comparing.measure(Killed(3, 4))
    assert (comparing.rounds, comparing.failed) == (2, 1)


@pytest.mark.parametrize("rounds", [None, 12])
def test_another_reference_needs_no_other_measurement(rounds: int | None) -> None:
    comparing, result = compared([0, 0.5, 0.2], quiet(40), rounds=rounds)
    other = held_against(result, 1, comparing.contestants)
    assert [c.verdict for c in other.contestants] == ["faster", None, "faster"]
    assert other.contestants[0].ratio == pytest.approx(1 / 1.5, rel=0.01)
    assert held_against(other, 0, comparing.contestants) == result


def test_whoever_is_clear_rests_while_the_others_go_on() -> None:
    times = np.exp(0.02 * rng(11).standard_normal(6 * 80 * LAUNCHES))
    comparing = Comparing([contestant(0), contestant(1.0), contestant(0.001)], seed=1)
    session = Machine(times)
    comparing.measure(session, seconds=1e9, most_rounds=20)
    first = comparing.result()
    _, clear, open_ = first.contestants
    assert (clear.verdict, open_.verdict) == ("slower", "can't tell")
    assert [len(one.turns_s) for one in first.contestants] == [20] * 3
    assert [sum(v is None for v in one.turns_s) for one in first.contestants] == [0, 12, 0]
    assert len(clear.run.samples_s) == 8 * LAUNCHES
    assert comparing.standings()[1].median_s == pytest.approx(2e-3, rel=0.02)
    other = held_against(first, 1, comparing.contestants)  # only rounds that both took part in
    assert [one.verdict for one in other.contestants] == ["faster", None, "faster"]
    assert held_against(other, 0, comparing.contestants) == first
    assert comparing.rounds == 20


def timed(machine_: Machine) -> Callable[[], float]:
    """Return a clock that goes as the launches do, in seconds."""
    return lambda: machine_.spent_s


def test_compiling_in_the_first_round_takes_no_time_from_the_others() -> None:
    times = np.exp(0.3 * rng(3).standard_normal(8000 * LAUNCHES))
    rounds = []
    for compiling_s in (0.0, 300.0):
        comparing, session = Comparing([contestant(0), contestant(0.004)], seed=1), Machine(times)
        began = iter([0.0])

        def clock(
            began: Iterator[float] = began, session: Machine = session, late_s: float = compiling_s
        ) -> float:
            return next(began, session.spent_s + late_s)

        comparing.measure(session, seconds=10.0, most_rounds=100, clock=clock)
        rounds.append(comparing.rounds)
    assert rounds[0] > 5
    assert abs(rounds[1] - rounds[0]) <= 1


def test_what_is_ten_times_apart_needs_one_round() -> None:
    comparing = Comparing([contestant(0), contestant(11.0)], seed=1)
    comparing.measure(Machine(quiet(40)), seconds=1e9)
    result = comparing.result()
    assert (result.rounds, result.stopped_by) == (1, "verdict")
    one = result.others[0]
    assert one.verdict == "slower"
    assert one.ratio == pytest.approx(12.0, rel=0.05)
    assert one.ci95_low is not None and one.ci95_low == pytest.approx(12 / 10**0.5, rel=0.05)


def test_five_that_lie_apart_are_told_in_a_time_too_short_for_eight_rounds() -> None:
    """Launches of 76 to 954 ms: a round of all takes 2 s, and of all but the slowest 1.1 s."""
    slower = [0.0, 1.4, 3.9, 5.6, 11.55]
    session = Machine(quiet(200) * 76 / LAUNCHES)  # so that a turn is as long as one such launch
    comparing = Comparing([contestant(s) for s in slower], seed=1)
    comparing.measure(session, seconds=8.0, clock=timed(session))
    result = comparing.result()
    assert [one.verdict for one in result.others] == ["slower"] * 4
    assert result.stopped_by == "verdict"
    taken = [sum(turn is not None for turn in one.turns_s) for one in result.contestants]
    assert taken[4] == 1  # ten times apart
    assert taken[0] == result.rounds == max(taken) < 8
    assert session.spent_s < 8.0
    assert [one.turns for one in comparing.standings()] == taken


def test_where_there_is_time_what_lies_apart_gets_its_usual_interval() -> None:
    _, result = compared([0, 3.0], quiet(40))
    assert (result.rounds, result.stopped_by) == (8, "verdict")
    one = result.others[0]
    assert one.ci95_low is not None and one.ci95_low > 3.9


def test_more_rounds_of_what_is_clear_are_for_all() -> None:
    comparing = Comparing([contestant(0), contestant(1.0), contestant(0.5)], seed=1)
    session = Machine(quiet(60))
    comparing.measure(session, seconds=1e9)
    comparing.measure(session, seconds=0)
    assert comparing.rounds == 9
    assert all(None not in one.turns_s for one in comparing.result().contestants)
