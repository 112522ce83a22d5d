"""A tuning whose looks several machines take at a time names what one machine would."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from gpuexplorer.core.comparison import FEWEST_PAIRS
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.tuning import Budget
from gpuexplorer.engine.errors import EngineKilled
from gpuexplorer.search.racing import Race
from gpuexplorer.search.runner import Look
from gpuexplorer.search.tune import Tuner, TuningOptions
from gpuexplorer.search.tune_space import Ranges, tuning_space
from gpuexplorer.workloads.loader import load
from tests.support.problems import device
from tests.support.simulated import SimulatedMachine
from tests.support.simulated_machines import SimulatedMachines, landscape

MATMUL = load()["matmul"]
DEVICES = DeviceList(devices=(device(threads=1),))
POWERS = (1, 2, 4, 8, 16, 32, 64)
SPACE = tuning_space(
    RunRequest(workload="matmul", variant="tiled", size={"N": 64}),
    MATMUL,
    DEVICES,
    Ranges({"block.x": POWERS, "block.y": POWERS}, {"TILE": (4, 8, 16, 32)}),
)
FASTEST = min(SPACE.legal.values(), key=landscape)


def tuner(machines: SimulatedMachines, **how: Any) -> Tuner:
    return Tuner(machines, MATMUL, SPACE, TuningOptions(**how), clock=machines.clock)


def test_four_machines_find_the_fastest_sooner_with_little_more_to_measure() -> None:
    one = SimulatedMachine(landscape, noise=0.02)
    alone = Tuner(
        one, MATMUL, SPACE, TuningOptions(sampler="grid", budget=Budget()), clock=one.clock
    ).run()
    four = SimulatedMachines(landscape, DEVICES, 4, noise=0.02, latency_s=0.01)
    found = tuner(four, sampler="grid", budget=Budget()).run()
    assert alone.best is not None and found.best is not None
    assert found.best.key == alone.best.key == FASTEST.key
    assert {e.config.key for e in found.evaluations} == {c.key for c in SPACE.legal.values()}
    assert found.search_s + found.final_s < (alone.search_s + alone.final_s) / 2
    assert four.launches < 1.3 * sum(samples for _, samples in one.runs)
    assert min(len(machine.runs) for machine in four.machines.values()) > len(one.runs) / 8


def test_tpe_proposes_each_configuration_once_and_as_many_as_it_may() -> None:
    found = tuner(SimulatedMachines(landscape, DEVICES, 8), budget=Budget(evaluations=60)).run()
    first = [e.config.key for e in found.evaluations if not e.again]
    assert len(first) == len(set(first)) == 60
    assert found.stopped_by == "evaluations"


def test_the_turns_of_a_round_are_all_taken_by_one_machine() -> None:
    machines = SimulatedMachines(landscape, DEVICES, 3, noise=0.01)
    made = tuner(machines, sampler="grid", budget=Budget())
    turns: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    took = made.took

    def noted(task: Any, outcome: Any) -> None:
        if task.look.phase == "turns":
            turns[task.look.round].append((task.look.machine, task.look.number))
        took(task, outcome)

    made.took = noted  # type: ignore[method-assign]
    found = made.run()
    assert {machine for taken in turns.values() for machine, _ in taken} == set(machines.machines)
    for taken in turns.values():
        assert len({machine for machine, _ in taken}) == 1
        assert len({number for _, number in taken}) == len(taken)
    assert max(one.pairs for one in found.finalists) >= FEWEST_PAIRS


def race() -> Race:
    return Race([[0, 1, 2]], seed=1, checks=False)


def samples(seconds: float) -> Any:
    return np.full(5, seconds)


def test_nobody_is_dropped_before_every_look_has_ended() -> None:
    made = race()
    looks = [made.next(machine="a")]
    while (
        look := made.next([one for one in looks if one], machine="b", settled=False)
    ) is not None:
        looks.append(look)
    first = [look for look in looks if look is not None]
    assert sorted(look.number for look in first) == [0, 1, 2]
    for look in first[:2]:
        made.took(look, samples(1e-3))
    assert made.next(first[2:], machine="a", settled=False) is None
    assert made.phase == "survey" and not made.done
    made.took(first[2], samples(1e-3))
    after = made.next(machine="a")
    assert after is not None and after.phase == "race"


def test_a_look_of_a_slow_machine_is_taken_again_and_then_believed() -> None:
    made = race()
    first: list[Look] = []
    while (look := made.next(first, settled=False)) is not None:
        first.append(look)
    for look in first:  # 0 met a slow machine
        made.took(look, samples({0: 3e-3, 1: 1e-3, 2: 1.1e-3}[look.number]))
    assert made.runners[0].fastest_s == [3e-3]
    (slow,) = [look for look in first if look.number == 0]
    made.take_back(slow, 3e-3)
    while (look := made.next()) is not None:
        made.took(look, samples({0: 0.8e-3, 1: 1e-3, 2: 1.1e-3}[look.number]))
    assert made.best == 0 and max(made.runners[0].fastest_s) == 0.8e-3


def test_a_machine_that_goes_in_the_middle_of_a_round_leaves_the_others_to_decide() -> None:
    made = race()
    while (look := made.next(machine="a")) is not None and made.phase != "turns":
        made.took(look, samples(1e-3 * (1 + 0.01 * look.number)))
    other = made.next(machine="b")
    assert look is not None and other is not None and look.round != other.round
    made.gone("a")
    while (turn := made.next(machine="b")) is not None:
        assert turn.machine == "b"
        made.took(turn, samples(1e-3 * (1 + 0.01 * turn.number)))
    assert made.done and made.best == 0


def test_a_failure_on_one_machine_is_no_word_on_the_configuration() -> None:
    failed: list[RunConfig] = []

    def fails(config: RunConfig) -> EngineKilled | None:
        if config.key == FASTEST.key and not failed:
            failed.append(config)
            return EngineKilled("the engine was killed")
        return None

    machines = SimulatedMachines(landscape, DEVICES, 2, noise=0.01)
    for machine in machines.machines.values():
        machine._fails = fails
    found = tuner(machines, sampler="grid", budget=Budget()).run()
    assert failed and found.best is not None and found.best.key == FASTEST.key
