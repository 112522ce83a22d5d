"""Several programs and threads use one store."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.sql import search
from gpuexplorer.history.store import Query, Store
from tests.history.conftest import made_run
from tests.support.cli import cli_environment
from tests.support.prepared import prepared

WRITER = """
import sys
from gpuexplorer.history.store import Store
from tests.history.conftest import made_run
first = int(sys.argv[2])
with Store.open(sys.argv[1]) as store:
    for number in range(first, first + 25):
        store.add(made_run(number))
"""


def test_each_sees_what_the_other_changed_and_knows_that_it_did(store_url: str) -> None:
    with Store.open(store_url) as one, Store.open(store_url) as other:
        seen = [other.generation()]
        for change in (
            lambda: one.add(made_run(1)),
            lambda: one.star(made_run(1).id),
            lambda: one.tag(made_run(1).id, "x"),
            lambda: one.note(made_run(1).id, "x"),
            lambda: one.delete(made_run(1).id),
            lambda: one.undelete(),
            lambda: one.begin_group("sweep", {}),
        ):
            change()
            seen.append(other.generation())
        assert seen == sorted(set(seen))
        other.find(), other.count(), other.get(made_run(1).id)
        assert one.generation() == other.generation() == seen[-1]
        assert other.row(made_run(1).id).starred


def test_samples_of_a_stores_own_runs_leave_its_lists_as_they_are(store_url: str) -> None:
    """They come every second while a window measures, and nothing that it lists is another then."""
    record = RunRecord(prepared())
    with Store.open(store_url) as one, Store.open(store_url) as other:
        one.begin(record)
        before, seen = one.timeline(Query(), [0], 100).state, other.generation()
        for values in ([1e-3], [2e-3, 3e-3]):
            one.append(record.id, np.array(values))
            assert one.generation() == before == one.timeline(Query(), [0], 100, known=before).state
            assert other.generation() > seen
            seen = other.generation()
        other.note(record.id, "of another program")
        one.append(record.id, np.array([4e-3]))
        told = one.timeline(Query(), [0], 100, known=before)
        assert told.state > before and told.pages[0][0].note == "of another program"
        assert told.pages[0][0].samples == 4


def test_what_is_read_in_one_transaction_is_as_of_one_moment(store_url: str) -> None:
    with Store.open(store_url) as one, Store.open(store_url) as other:
        with one._database.read() as connection:
            before = one._database.state(connection)
            other.add(made_run(1))
            assert search.count(connection, Query()) == 0
            assert one._database.state(connection) == before
        assert one.count() == 1 and one.generation() > before


def test_programs_that_write_at_once_lose_nothing(store_url: str) -> None:
    """They also make the store at once."""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, store_url, str(first)],
            env=cli_environment(), stderr=subprocess.PIPE, text=True,
        )
        for first in (0, 15)
    ]  # fmt: skip
    errors = [writer.communicate(timeout=100)[1] for writer in writers]
    assert errors == ["", ""]
    with Store.open(store_url) as store:
        assert store.count() == 40
        assert store.get(made_run(39).id) == made_run(39)


@pytest.mark.parametrize("in_memory", [False, True])
def test_threads_share_an_open_store(store_url: str, in_memory: bool) -> None:
    failed: list[ExplorerError] = []
    with Store.open("sqlite://" if in_memory else store_url) as store:

        def work(first: int) -> None:
            try:
                for number in range(first, first + 12):
                    store.add(made_run(number))
                    assert store.get(made_run(number).id).samples_s
                    store.count()
            except ExplorerError as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(12 * n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert store.count() == 48
