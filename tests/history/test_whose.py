"""Runs are found by the machine and the person that measured them, in a file and on a server."""

from __future__ import annotations

import msgspec
import pytest

from gpuexplorer.core.result import RunResult
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.store import Query, Store
from tests.history.conftest import made_run
from tests.support.prepared import prepared


def run_of(number: int, machine: str, person: str) -> RunResult:
    run = made_run(number)
    environment = msgspec.structs.replace(run.environment, machine=machine, person=person)
    return msgspec.structs.replace(run, environment=environment)


@pytest.fixture
def team(store: Store) -> Store:
    """A store that two people fill from three machines; of one run nobody knows."""
    for number, (machine, person) in enumerate(
        [("gpu1", "ada"), ("gpu10", "ada"), ("GPU1", "Grace"), ("the big box", "grace")]
    ):
        store.add(run_of(number, machine, person))
    store.add(made_run(4))
    return store


def found(store: Store, query: Query) -> set[str]:
    rows = store.find(query)
    assert store.count(query) == len(rows)
    return {row.id for row in rows}


def ids(*numbers: int) -> set[str]:
    return {made_run(number).id for number in numbers}


def test_filters_take_whole_names(team: Store) -> None:
    assert found(team, Query(machine="gpu1")) == ids(0, 2)
    assert found(team, Query(machine="gpu10")) == ids(1)
    assert found(team, Query(machine="the big box")) == ids(3)
    assert found(team, Query(person="Ada")) == ids(0, 1)
    assert found(team, Query(person="grace", machine="gpu1")) == ids(2)
    assert found(team, Query(machine="gpu")) == set()


def test_the_search_takes_words_for_them_among_others(team: Store) -> None:
    assert found(team, Query(text="machine:gpu1")) == ids(0, 1, 2)
    assert found(team, Query(text="person:grace matmul")) == ids(2, 3)
    assert found(team, Query(text="person:grace machine:the_big_box")) == ids(3)
    assert {(row.machine, row.person) for row in team.find(Query())} == {
        ("gpu1", "ada"), ("gpu10", "ada"), ("gpu1", "grace"), ("the_big_box", "grace"), ("", ""),
    }  # fmt: skip


def test_they_stay_with_a_run_that_gets_a_tag_and_with_its_document(team: Store) -> None:
    run = run_of(0, "gpu1", "ada")
    team.tag(run.id, "thesis")
    assert found(team, Query(text="machine:gpu1 thesis")) == {run.id}
    assert team.get(run.id).environment == run.environment


def test_a_run_that_is_going_is_found_too(store: Store) -> None:
    start = prepared()
    environment = msgspec.structs.replace(start.environment, machine="gpubox", person="ada")
    record = RunRecord(msgspec.structs.replace(start, environment=environment))
    store.begin(record)
    assert found(store, Query(machine="gpubox", person="ada")) == {record.id}
