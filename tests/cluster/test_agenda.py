"""Which worker measures what: a source is built once a machine, and nobody waits without need."""

from __future__ import annotations

from collections import Counter

from gpuexplorer.cluster.agenda import Agenda, Lane
from gpuexplorer.core.config import RunConfig
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.order import build_key
from tests.support.problems import device

DEVICE = device("cuda:0")


def lane(name: str, host: str, *names: str) -> Lane:
    return Lane(name, host, dict.fromkeys(names or ("cuda:0",), DEVICE))


def config(tile: int, x: int, on: str = "cuda:0") -> RunConfig:
    return RunConfig(
        workload="matmul", variant="tiled", size={"N": 64}, precision="fp32", device=on,
        block=(x, 1, 1), tunables={"TILE": tile},
    )  # fmt: skip


def agenda_of(configs: list[RunConfig]) -> Agenda:
    return Agenda(configs, Measuring())


def builds(taken: list[tuple[Lane, int]], configs: list[RunConfig]) -> Counter[object]:
    return Counter({(one.host, build_key(configs[index])): 1 for one, index in taken})


def measure_all(agenda: Agenda, lanes: list[Lane]) -> list[tuple[Lane, int]]:
    """Go round the workers, each of which measures one configuration a round."""
    taken = []
    while agenda.waiting or any(one.going for one in lanes):
        for one in lanes:
            index = agenda.take(one)
            if index is not None:
                taken.append((one, index))
        for one in lanes:
            for index in list(one.going):
                one.going.remove(index)
                agenda.freed(one, index, lanes)
    return taken


def test_each_configuration_is_taken_once() -> None:
    configs = [config(tile, x) for tile in (4, 8, 16) for x in range(1, 21)]
    lanes = [lane("a", "one"), lane("b", "one"), lane("c", "two")]
    taken = measure_all(agenda_of(configs), lanes)
    assert sorted(index for _, index in taken) == list(range(60))
    assert {one.address for one, _ in taken} == {"a", "b", "c"}


def test_a_second_worker_of_a_machine_waits_until_the_first_has_built() -> None:
    agenda = agenda_of([config(4, x) for x in range(6)])
    first, second, far = lane("a", "one"), lane("b", "one"), lane("c", "two")
    assert agenda.take(first) == 0
    assert agenda.take(second) is None
    assert agenda.take(far) == 1, "another machine has to build for itself"
    assert agenda.freed(first, 0, [first, second, far]) == [second], "it may go on by that"
    assert agenda.take(second) == 2
    assert not agenda.freed(second, 2, [first, second, far])


def test_while_there_are_enough_builds_each_is_made_on_one_machine_alone() -> None:
    configs = [config(tile, x) for tile in range(1, 9) for x in range(1, 5)]
    lanes = [lane("a", "one"), lane("b", "one"), lane("c", "two"), lane("d", "two")]
    agenda, made = agenda_of(configs), Counter[object]()
    for _ in range(4):
        for one in lanes:
            index = agenda.take(one)
            assert index is not None
            made[build_key(configs[index])] += 1
            agenda.freed(one, index, lanes)
    assert set(made.values()) == {4}, "each worker has stayed with what it had built"


def test_a_configuration_goes_to_workers_that_have_its_device_alone() -> None:
    configs = [config(4, x, on) for on in ("cuda:0", "cuda:1") for x in range(5)]
    lanes = [lane("a", "one", "cuda:0"), lane("b", "two", "cuda:1")]
    for one, index in measure_all(agenda_of(configs), lanes):
        assert configs[index].device in one.devices


def test_what_a_worker_that_is_gone_was_building_another_builds() -> None:
    agenda = agenda_of([config(4, x) for x in range(3)])
    first, second = lane("a", "one"), lane("b", "one")
    assert agenda.take(first) == 0
    assert agenda.take(second) is None
    agenda.gone(first)
    agenda.give_back(0)
    assert agenda.take(second) == 0
