"""Samplers propose every legal configuration at most once, and Optuna is told what came of each."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from gpuexplorer.cli import tune_options
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.search.tune_sampler import (
    LEARNING,
    NEEDS,
    SAMPLERS,
    OptunaSampler,
    check_sampler,
    make_sampler,
)
from gpuexplorer.search.tune_space import Place, Ranges, TuningSpace, tuning_space
from gpuexplorer.workloads.loader import load
from tests.support.problems import device

POWERS = (1, 2, 4, 8, 16, 32)
HERE = [name for name in SAMPLERS if importlib.util.find_spec(NEEDS.get(name, "optuna"))]


def made_space() -> TuningSpace:
    """36 blocks, of which 26 are small enough for the device, and 3 tiles."""
    devices = DeviceList(devices=(device(threads=1),))
    request = RunRequest(workload="matmul", variant="tiled", size={"N": 64})
    ranges = Ranges({"block.x": POWERS, "block.y": POWERS}, {"TILE": (4, 8, 16)})
    return tuning_space(request, load()["matmul"], devices, ranges)


SPACE = made_space()


def time_s(place: Place) -> float:
    """The fastest is (4, 1, 2); every step away costs."""
    x, y, tile = place
    return 1e-3 * (1 + (x - 4) ** 2 + (y - 1) ** 2 + (tile - 2) ** 2)


def exhaust(name: str, space: TuningSpace = SPACE, most: int = 10_000) -> list[Place]:
    sampler = make_sampler(name, space, seed=7)
    asked: list[Place] = []
    taken: set[Place] = set()
    while len(asked) < most and (place := sampler.ask(taken)) is not None:
        asked.append(place)
        taken.add(place)
        if len(asked) % 7 == 0:
            sampler.failed(place)
        else:
            sampler.measured(place, time_s(place), pruned=len(asked) % 3 == 0)
    return asked


@pytest.mark.parametrize("name", HERE)
def test_every_legal_configuration_comes_once(name: str) -> None:
    asked = exhaust(name)
    assert len(asked) == len(set(asked))
    assert set(asked) == set(SPACE.legal)


@pytest.mark.parametrize("name", HERE)
def test_the_seed_makes_the_order(name: str) -> None:
    assert exhaust(name, most=15) == exhaust(name, most=15)


def test_all_of_them_come_shuffled() -> None:
    asked = exhaust("grid")
    assert asked != sorted(asked)
    assert make_sampler("grid", SPACE, 8).ask(set()) != asked[0]


def test_learning_tries_more_where_it_was_fast() -> None:
    def near(places: list[Place]) -> int:
        return sum(time_s(place) <= 4e-3 for place in places)

    sampler = make_sampler("tpe", SPACE, seed=3)
    taken: set[Place] = set()
    asked: list[Place] = []
    for _ in range(40):
        place = sampler.ask(taken)
        assert place is not None
        asked.append(place)
        taken.add(place)
        sampler.measured(place, time_s(place), pruned=False)
    assert min(map(time_s, asked)) == 1e-3
    assert near(asked[10:]) > 1.4 * 30 * near(list(SPACE.legal)) / len(SPACE.legal)


def test_optuna_is_told_times_losers_and_failures() -> None:
    sampler = OptunaSampler("tpe", SPACE, seed=1)
    sampler.measured((0, 0, 0), 5e-3, pruned=False)
    sampler.measured((1, 0, 0), 9e-3, pruned=True)
    sampler.failed((2, 0, 0))
    names = SPACE.names
    assert sampler.trials == [
        ("COMPLETE", dict(zip(names, (0, 0, 0), strict=True)), 5e-3),
        ("PRUNED", dict(zip(names, (1, 0, 0), strict=True)), 9e-3),
        ("FAIL", dict(zip(names, (2, 0, 0), strict=True)), None),
    ]


@pytest.mark.parametrize("name", HERE)
def test_a_time_that_is_believed_no_longer_gives_way_to_the_next(name: str) -> None:
    sampler = make_sampler(name, SPACE, seed=3)
    places: list[Place] = []
    for _ in range(6):
        place = sampler.ask(places)
        assert place is not None
        places.append(place)
    doubted, given_up, broken, steady, *pending = places
    for place in (doubted, given_up, broken, steady):
        sampler.measured(place, 9e-3, pruned=False)
    sampler.measured(doubted, 1e-3, pruned=False)
    sampler.measured(given_up, 5e-3, pruned=True)
    sampler.failed(broken)
    after = sampler.ask(places)  # it goes on, also with what has no outcome yet
    assert after is not None and after not in places
    sampler.measured(pending[0], 2e-3, pruned=True)
    sampler.measured(pending[1], 3e-3, pruned=False)
    if name not in LEARNING:
        return
    assert isinstance(sampler, OptunaSampler)
    told = [value for state, _, value in sampler.trials if state in ("COMPLETE", "PRUNED")]
    assert sorted(filter(None, told)) == [1e-3, 2e-3, 3e-3, 5e-3, 9e-3]


def test_what_optuna_proposed_is_told_with_the_place_that_was_measured() -> None:
    sampler = OptunaSampler("random", SPACE, seed=1)
    taken: set[Place] = set()
    for _ in range(40):
        place = sampler.ask(taken)
        assert place is not None
        taken.add(place)
        sampler.measured(place, time_s(place), pruned=False)
    complete = [
        (tuple(p.values()), value) for state, p, value in sampler.trials if value is not None
    ]
    assert {place for place, _ in complete} == taken
    assert all(value == time_s(place) for place, value in complete)
    moved = [state for state, _, _ in sampler.trials if state == "FAIL"]
    assert len(sampler.trials) == 40 + len(moved)
    assert moved, "some of 40 random places out of 108 cannot be launched or were taken"


def test_an_unknown_sampler_is_refused_with_what_was_meant() -> None:
    with pytest.raises(InputError, match="did you mean 'tpe'"):
        check_sampler("tp")


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_a_sampler_whose_package_is_missing_says_which(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CannotRunHere, match=f"needs the package {NEEDS[name]}"):
        make_sampler(name, SPACE, 1)


def test_the_options_name_the_samplers() -> None:
    assert tuple(SAMPLERS) == tune_options.SAMPLERS


def test_optuna_is_loaded_only_to_ask_it() -> None:
    code = (
        "import sys\n"
        "import gpuexplorer.cli.tune\n"
        "from gpuexplorer.search.tune_sampler import check_sampler\n"
        "check_sampler('tpe')\n"
        "sys.exit('optuna' in sys.modules or 'sqlalchemy' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
