"""A whole tuning: finds the fastest, gives up the slow, keeps to its budget, says what failed.

Most run on a simulated machine with a clock of its own, so that noise and load are what they say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from gpuexplorer.charts.tuning import conclusions
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceLimits, DeviceList
from gpuexplorer.core.errors import ExplorerError, OutOfMemory, WorkFailed, WrongResult
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.tuning import TUNING_SCHEMA, Budget, Tuning, leading, tuning_json
from gpuexplorer.engine.errors import EngineGone, EngineKilled, LongRun
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.search.looks_kept import KeptLooks
from gpuexplorer.search.racing import FINALISTS
from gpuexplorer.search.tune import HOPELESS, Tuner, TuningOptions, TuningProgress
from gpuexplorer.search.tune_sampler import OptunaSampler
from gpuexplorer.search.tune_space import Ranges, TuningSpace, tuning_space
from gpuexplorer.workloads.loader import load
from tests.support.problems import device
from tests.support.simulated import SimulatedMachine

MATMUL = load()["matmul"]
POWERS = (1, 2, 4, 8, 16, 32, 64)


def made_space() -> TuningSpace:
    devices = DeviceList(devices=(device(threads=1),))
    request = RunRequest(workload="matmul", variant="tiled", size={"N": 64})
    ranges = Ranges({"block.x": POWERS, "block.y": POWERS}, {"TILE": (4, 8, 16, 32)})
    return tuning_space(request, MATMUL, devices, ranges)


SPACE = made_space()
FASTEST = (32, 4, 1), {"TILE": 8}


def launch_s(config: RunConfig) -> float:
    """The fastest is ``FASTEST``; a step along the block costs 30 %, one of the tile 10 %."""
    x, y, _ = config.block or (1, 1, 1)
    steps = abs(x.bit_length() - 6) + abs(y.bit_length() - 3)
    tiles = abs(config.tunables["TILE"].bit_length() - 4)
    return 1e-3 * 1.3**steps * 1.1**tiles


def tune(
    machine: SimulatedMachine,
    on_progress: Callable[[TuningProgress], None] | None = None,
    **how: Any,
) -> Tuning:
    return tuner(machine, on_progress, **how).run()


def tuner(
    machine: SimulatedMachine,
    on_progress: Callable[[TuningProgress], None] | None = None,
    **how: Any,
) -> Tuner:
    made = Tuner(machine, MATMUL, SPACE, TuningOptions(**how), clock=machine.clock)
    made.on_progress = on_progress or made.on_progress
    return made


@pytest.mark.parametrize("sampler", ["tpe", "random", "grid"])
def test_it_finds_the_fastest_of_all(sampler: str) -> None:
    machine = SimulatedMachine(launch_s, noise=0.02)
    found = tune(machine, sampler=sampler, budget=Budget())
    assert found.best is not None and found.chosen is not None
    assert (found.best.block, found.best.tunables) == FASTEST
    assert found.stopped_by == "space"
    tried = [e.config.key for e in found.evaluations if not e.again]
    assert len(tried) == len(set(tried)) == len(SPACE.legal)
    assert found.count("measured") + found.count("pruned") == len(SPACE.legal)


def test_clear_losers_get_few_samples_and_contenders_all() -> None:
    machine = SimulatedMachine(launch_s, noise=0.01)
    found = tune(machine, sampler="grid", budget=Budget(), samples=7)
    for evaluation in found.evaluations:
        if evaluation.outcome == "measured":
            assert evaluation.samples == 7 or evaluation.again
        else:
            assert evaluation.outcome == "pruned"
            assert evaluation.samples <= 3
            assert evaluation.reason is not None and "× slower than the best" in evaluation.reason
    assert found.count("pruned") > 0.6 * len(SPACE.legal)


def test_without_racing_everybody_gets_the_same() -> None:
    machine = SimulatedMachine(launch_s)
    found = tune(machine, sampler="grid", budget=Budget(), racing=False, final=False, samples=5)
    assert {e.samples for e in found.evaluations} == {5}
    assert [samples for _, samples in machine.runs] == [5] * len(SPACE.legal)
    assert found.best is None, "nobody is named without a final"


def test_a_default_that_cannot_be_launched_is_no_measure_of_what_tuning_gains() -> None:
    """The tuning was said to be faster than the first block of all, 1×1, which nobody gets."""
    small = device(threads=1, limits=DeviceLimits(max_threads_per_block=64))
    request = RunRequest(workload="matmul", variant="tiled", size={"N": 64})
    space = tuning_space(request, MATMUL, DeviceList(devices=(small,)))
    machine = SimulatedMachine(launch_s)
    options = TuningOptions(sampler="grid", budget=Budget(evaluations=8))
    found = Tuner(machine, MATMUL, space, options, clock=machine.clock).run()
    assert found.chosen is not None and found.start_ratio is None
    assert found.start.block == (16, 16, 1)
    (said,) = (line for line in conclusions(found) if "ithout tuning" in line)
    assert said.startswith("Without tuning it cannot be launched here: "), said
    assert "64" in said and said.endswith(".") and not said.endswith("..")


def test_the_first_is_what_one_gets_without_tuning() -> None:
    found = tune(SimulatedMachine(launch_s), budget=Budget(evaluations=5))
    assert found.evaluations[0].config == SPACE.start
    assert found.stopped_by == "evaluations"
    assert sum(not e.again for e in found.evaluations) == 5
    assert found.start_ratio == pytest.approx(1.3, rel=0.3) or found.start_ratio == 1.0


def test_a_budget_in_seconds_is_kept_with_the_final() -> None:
    machine = SimulatedMachine(lambda config: 10 * launch_s(config), noise=0.02)
    began = machine.now
    found = tune(machine, sampler="random", budget=Budget(seconds=8.0))
    assert found.stopped_by == "time"
    assert found.search_s == pytest.approx(6.0, abs=0.5)
    assert machine.now - began < 10.0
    assert len(found.finalists) > 1


def test_the_final_of_many_equals_keeps_to_what_is_left_of_a_budget() -> None:
    """Sixteen finalists took eight turns each, however long these were."""
    machine = SimulatedMachine(lambda config: 0.1, noise=0.002)
    began = machine.now
    found = tune(machine, sampler="random", budget=Budget(seconds=60.0))
    assert found.stopped_by == "time"
    assert machine.now - began < 66.0
    assert 3 <= len(found.finalists) < FINALISTS
    assert found.untested > 0
    assert found.start_ratio is not None


class Checked(SimulatedMachine):
    """Launches once before the first sample, as every look does."""

    def measure(self, *asked: Any) -> RunRecord:
        self.now += self._launch_s(asked[0])
        return super().measure(*asked)


@pytest.mark.parametrize("seconds", [60.0, 120.0])
def test_a_final_of_launches_of_a_second_keeps_to_the_budget(seconds: float) -> None:
    """Two finalists took three launches in each of their eight turns, however long these were."""
    machine = Checked(lambda config: 1.0, noise=0.002)
    began = machine.now
    found = tune(machine, sampler="random", budget=Budget(seconds=seconds))
    assert machine.now - began < seconds + 3.0
    assert len(found.finalists) >= 2
    assert found.finalists[1].ratio is not None
    assert not any("more than the budget" in line for line in conclusions(found))


def test_the_time_that_first_looks_take_to_build_is_not_kept_for_the_final() -> None:
    class Building(SimulatedMachine):
        def measure(self, *asked: Any) -> RunRecord:
            self.now += 3.0
            record = super().measure(*asked)
            phases_s = msgspec.structs.replace(record.prepared.phases_s, compile=3.0)
            record.prepared = msgspec.structs.replace(record.prepared, phases_s=phases_s)
            return record

    found = tune(
        Building(launch_s, noise=0.002), sampler="random", budget=Budget(seconds=30.0), seed=2
    )
    assert found.search_s > 21.0


def test_a_budget_that_the_smallest_final_exceeds_is_said_to_be_exceeded() -> None:
    machine = Checked(lambda config: 1.0, noise=0.002)
    found = tune(machine, sampler="random", budget=Budget(seconds=20.0))
    assert found.tried >= 2 and len(found.finalists) == 2
    assert found.search_s < 20.0 < found.search_s + found.final_s < 45.0
    assert (
        "That is more than the budget of 20 s: two finalists take eight turns each at the least."
        in conclusions(found)
    )


def test_what_a_turn_takes_beside_its_launches_counts_for_the_final() -> None:
    class Slow(SimulatedMachine):
        def measure(self, *asked: Any) -> RunRecord:
            self.now += 0.3  # to bring arrays there, and to check what comes back
            return super().measure(*asked)

    machine = Slow(lambda config: 0.001, noise=0.002)
    began = machine.now
    found = tune(machine, sampler="random", budget=Budget(seconds=60.0))
    assert machine.now - began < 66.0
    assert 3 <= len(found.finalists) < FINALISTS


def test_what_fails_is_listed_and_the_rest_goes_on() -> None:
    def fails(config: RunConfig) -> ExplorerError | None:
        if config.tunables["TILE"] == 8:
            return WrongResult("the result is wrong", remedy="correct the kernel")
        if config.block == (64, 1, 1):
            return WorkFailed("the engine crashed")
        return LongRun(3.0) if config.block == (1, 1, 1) else None

    machine = SimulatedMachine(launch_s, fails=fails)
    found = tune(machine, sampler="grid", budget=Budget())
    failed = {e.config.key: e.reason for e in found.evaluations if e.outcome == "failed"}
    assert len(failed) == found.count("failed")
    for config in SPACE.legal.values():
        reason = failed.get(config.key)
        assert (reason is not None) == (fails(config) is not None)
    assert "the result is wrong; correct the kernel" in failed.values()
    assert found.best is not None and found.best.block == FASTEST[0]
    assert found.best.tunables != FASTEST[1]


@pytest.mark.parametrize(
    "error",
    [EngineKilled("the engine was killed (SIGKILL)"), OutOfMemory("opencl:0 ran out of memory")],
)
def test_what_says_nothing_of_a_configuration_is_tried_again(error: ExplorerError) -> None:
    killed: set[str] = set()

    def fails(config: RunConfig) -> ExplorerError | None:
        if config.key in killed:
            return None
        killed.add(config.key)
        return error

    found = tune(SimulatedMachine(launch_s, fails=fails), sampler="grid", budget=Budget())
    assert len(killed) == len(SPACE.legal)
    assert found.count("failed") == 0
    assert found.best is not None and found.best.block == FASTEST[0]


def test_nothing_that_runs_is_an_error_with_the_reason_and_comes_soon() -> None:
    machine = SimulatedMachine(launch_s, fails=lambda config: WorkFailed("it does not compile"))
    with pytest.raises(WorkFailed, match=f"first {HOPELESS} .* it does not compile"):
        tune(machine)
    with pytest.raises(WorkFailed, match=r"none of the configurations .* it does not compile"):
        tune(machine, budget=Budget(evaluations=3))


def test_an_engine_that_is_gone_ends_it() -> None:
    machine = SimulatedMachine(launch_s, fails=lambda config: EngineGone("no engine"))
    with pytest.raises(EngineGone):
        tune(machine)


def test_a_burst_of_load_does_not_drop_the_fastest() -> None:
    """Half of the time, in stretches, everything takes twice as long."""
    for seed in range(5):
        machine = SimulatedMachine(
            launch_s,
            noise=0.02,
            load=lambda now: 2.0 if int(now / 0.4) % 2 else 1.0,
            seed=seed,
        )
        found = tune(machine, sampler="grid", budget=Budget(), seed=seed)
        assert found.disturbed > 0
        assert any(e.again for e in found.evaluations)
        assert found.best is not None
        assert launch_s(found.best) <= 1.1 * 1e-3, found.best


def test_learning_hears_of_each_configuration_once_and_as_it_is_believed() -> None:
    burst = SimulatedMachine(
        launch_s, noise=0.02, load=lambda now: 2.0 if 1000.25 < now < 1000.4 else 1.0
    )
    made = tuner(burst, sampler="tpe", budget=Budget(evaluations=60))
    found = made.run()
    assert found.disturbed > 0
    sampler = made._sampler
    assert isinstance(sampler, OptunaSampler)
    told = [
        (tuple(params[name] for name in SPACE.names), value)
        for state, params, value in sampler.trials
        if state in ("COMPLETE", "PRUNED") and value is not None
    ]
    assert len(dict(told)) == len(told) == found.tried
    for place, value in told:
        true_s = launch_s(SPACE.legal[place])
        assert value < 1.2 * true_s or true_s > 2e-3, "what is slow by far is not doubted"


def test_moments_in_which_all_is_fast_do_not_name_one_of_the_slower() -> None:
    """Now and then, for a look or two, the machine is faster by far, as a shared core is."""
    for seed in range(8):
        moods = np.random.default_rng(seed).random(100_000) < 0.2
        machine = SimulatedMachine(
            launch_s,
            noise=0.02,
            load=lambda now, moods=moods: 0.6 if moods[int((now - 1000) / 0.02)] else 1.0,  # type: ignore[misc]
            seed=seed,
        )
        found = tune(machine, sampler="grid", budget=Budget(), seed=seed)
        assert found.best is not None
        assert (found.best.block, found.best.tunables) == FASTEST


def test_a_lucky_best_is_measured_down_again() -> None:
    """For its first moments the machine is faster than it ever is again."""
    machine = SimulatedMachine(launch_s, noise=0.01, load=lambda now: 0.6 if now < 1000.05 else 1.0)
    found = tune(machine, sampler="grid", budget=Budget())
    assert found.best is not None
    assert (found.best.block, found.best.tunables) == FASTEST


def test_it_can_be_told_that_it_is_enough() -> None:
    machine = SimulatedMachine(launch_s)
    seen: list[TuningProgress] = []

    def on_progress(progress: TuningProgress) -> None:
        seen.append(progress)
        if len(seen) == 10:
            made.enough()

    made = tuner(machine, on_progress, budget=Budget())
    found = made.run()
    assert found.stopped_by == "user"
    assert len(found.evaluations) == 10
    assert found.chosen is not None
    assert {p.phase for p in seen} == {"search", "final"}
    assert seen[9].best is not None and seen[9].total == len(SPACE.legal)


def test_an_interruption_leaves_what_is_known() -> None:
    machine = SimulatedMachine(launch_s)

    def on_progress(progress: TuningProgress) -> None:
        if progress.done == 4:
            raise KeyboardInterrupt

    made = tuner(machine, on_progress)
    with pytest.raises(KeyboardInterrupt):
        made.run()
    known = made.so_far()
    assert len(known.evaluations) == 4
    assert known.stopped_by == "user" and known.chosen is None


def interrupted_in_the_final(machine: SimulatedMachine) -> Tuner:
    """Return a tuner whose final was broken off."""

    def on_progress(progress: TuningProgress) -> None:
        if progress.phase == "final" and progress.done == 3:
            raise KeyboardInterrupt

    made = tuner(machine, on_progress, sampler="grid", budget=Budget())
    with pytest.raises(KeyboardInterrupt):
        made.run()
    return made


def test_an_interrupted_final_is_told_from_the_search_and_looks_from_configurations() -> None:
    machine = SimulatedMachine(launch_s)
    known = interrupted_in_the_final(machine).so_far()
    assert known.tried == len(SPACE.legal) < len(known.evaluations)
    assert sum(not e.again for e in known.evaluations) == known.tried
    assert known.final_s > 0
    assert known.search_s >= known.evaluations[-1].time_s
    assert known.search_s + known.final_s == pytest.approx(machine.now - 1000.0)


def test_the_fastest_so_far_is_none_that_could_not_be_measured_later() -> None:
    looks: Counter[str] = Counter()

    def fails(config: RunConfig) -> ExplorerError | None:
        looks[config.key] += 1
        is_fastest = (config.block, config.tunables) == FASTEST
        return WorkFailed("it broke") if is_fastest and looks[config.key] > 1 else None

    made = interrupted_in_the_final(SimulatedMachine(launch_s, fails=fails))
    (broken,) = (e for e in made.evaluations if e.outcome == "failed")
    assert broken.again
    assert (broken.config.block, broken.config.tunables) == FASTEST
    assert made.best is not None and made.best.config != broken.config
    leaders = leading(made.evaluations)
    assert leaders[0] == made.best
    assert broken.config not in [one.config for one in leaders]


def test_an_error_that_ends_it_is_no_word_of_the_user() -> None:
    def on_progress(progress: TuningProgress) -> None:
        gone.append(progress.done == 4)

    gone = [False]
    lost = EngineGone("no engine")
    machine = SimulatedMachine(launch_s, fails=lambda config: lost if gone[-1] else None)
    made = tuner(machine, on_progress)
    with pytest.raises(EngineGone):
        made.run()
    assert made.so_far().stopped_by == "error" and made.so_far().tried == 4


def test_one_that_was_interrupted_goes_the_same_way_and_measures_only_what_is_missing(
    tmp_path: Path,
) -> None:
    def go_on(machine: SimulatedMachine, stop_at: int | None = None) -> tuple[Tuner, KeptLooks]:
        looks = KeptLooks(tmp_path / "looks", machine.clock)

        def on_progress(progress: TuningProgress) -> None:
            if stop_at is not None and progress.done == stop_at:
                raise KeyboardInterrupt

        budget = Budget(evaluations=30)
        made = Tuner(machine, MATMUL, SPACE, TuningOptions(budget=budget), clock=looks.now_s)
        made.on_progress, made.take = on_progress, looks.take
        return made, looks

    whole = tuner(first := SimulatedMachine(launch_s), budget=Budget(evaluations=30)).run()
    made, _ = go_on(begun := SimulatedMachine(launch_s), 20)
    with pytest.raises(KeyboardInterrupt):
        made.run()
    known = [one.config for one in made.so_far().evaluations]
    (tmp_path / "looks" / "000003").write_bytes(b"half a look")  # it is taken again
    made, looks = go_on(rest := SimulatedMachine(launch_s))
    done = made.run()
    assert [one.config for one in done.evaluations] == [one.config for one in whole.evaluations]
    assert [one.config for one in done.evaluations][: len(known)] == known
    assert done.chosen == whole.chosen and looks.reused
    assert len(rest.runs) == len(first.runs) - len(begun.runs) + 1
    assert done.search_s >= made.so_far().evaluations[len(known) - 1].time_s


def test_what_is_known_before_it_begins_does_not_change_how_it_ends() -> None:
    made = tuner(SimulatedMachine(launch_s), budget=Budget(), sampler="grid")
    assert made.so_far().stopped_by == "user" and not made.so_far().evaluations
    assert made.run().stopped_by == "space"


def test_the_tie_band_holds_those_that_are_as_fast() -> None:
    def flat(config: RunConfig) -> float:
        return 1e-3 if config.tunables["TILE"] <= 8 else launch_s(config) + 1e-3

    machine = SimulatedMachine(flat, noise=0.03)
    found = tune(machine, sampler="grid", budget=Budget())
    assert len(found.finalists) >= 16
    assert found.untested > 0
    assert len(found.tied) > 8
    assert found.finalists[0].config == found.best and found.finalists[0].ratio == 1.0
    for finalist in found.finalists:
        assert finalist.tied == (finalist.verdict != "slower")
        if finalist.config != found.best:
            assert finalist.ci95_low is not None and finalist.ci95_high is not None
            assert finalist.ci95_low <= finalist.ratio <= finalist.ci95_high  # type: ignore[operator]


def test_the_document_is_read_as_it_was_written() -> None:
    found = tune(SimulatedMachine(launch_s, noise=0.01), budget=Budget(evaluations=12))
    written = tuning_json(found)
    assert msgspec.json.decode(written, type=Tuning) == found
    plain = msgspec.json.decode(written)
    assert plain["schema"] == TUNING_SCHEMA
    assert len(plain["evaluations"]) == len(found.evaluations)
    assert b"\n" in written, "a document that people can read"


def test_a_real_kernel_is_tuned() -> None:
    request = RunRequest(workload="matmul", variant="naive", size={"N": 128}, device="cpu")
    results: list[RunResult] = []
    with EngineSession() as session:
        ranges = Ranges({"block.x": (1, 4, 16, 64), "block.y": (1, 4, 16, 64)}, {})
        space = tuning_space(request, MATMUL, session.devices(), ranges)
        made = Tuner(session, MATMUL, space, TuningOptions(sampler="grid", budget=Budget()))
        made.on_result = results.append
        found = made.run()
    assert found.best is not None and found.best.block is not None
    assert found.best.block[0] >= 16, "narrow blocks do not vectorise"
    assert found.count("failed") == 0
    assert found.device is not None and found.device.hardware_id
    assert {r.config.key for r in results} >= {f.config.key for f in found.finalists}
    assert all(r.verification is not None and r.verification.ok for r in results)
