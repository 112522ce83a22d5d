"""The first look at a store says what the store itself says, or nothing at all."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.history.model import Query
from gpuexplorer.history.peek import newest
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE
from gpuexplorer.history.store import Store
from tests.history.conftest import made_run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "history.sqlite"
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(path))
    return path


def test_the_newest_are_as_the_store_lists_them(place: Path) -> None:
    unchecked = msgspec.structs.replace(made_run(30), verification=None)
    with Store.open() as store:
        store.add_all([*(made_run(number) for number in range(30)), unchecked])
        ids = [row.id for row in store.find()]
        store.tag(ids[:3], "zebra", True)
        store.tag(ids[1:2], "ant", True)
        store.star(ids[2], True)
        store.note(ids[3], "looks odd")
        store.delete(ids[4:6])
        found = newest(20)
        assert found is not None
        assert found.rows == store.find(limit=20)
        assert (found.total, found.state) == (store.count(Query()), store.generation())
    assert {row.verified for row in found.rows} >= {None, True}
    assert found.rows[1].tags == ("ant", "zebra") and found.rows[2].starred is True


def test_groups_are_folded_as_the_store_folds_them(place: Path) -> None:
    with Store.open() as store:
        group, imported = store.begin_group("study", {}), store.begin_group("import", {})
        for number in range(9):
            store.add(made_run(number), group={3: group, 5: group, 7: imported}.get(number))
        store.delete([made_run(8).id])
        found, whole = newest(20), store.timeline(Query(), [0], 20)
    assert found is not None
    assert (found.total, found.runs) == (whole.rows, whole.runs)
    assert [(row.id, row.folded) for row in found.rows] == [
        (row.id, row.folded) for row in whole.pages[0]
    ]
    alone = [row for row in whole.pages[0] if row.folded is None]
    assert [row for row in found.rows if row.folded is None] == alone


def test_an_empty_store_has_no_rows(place: Path) -> None:
    with Store.open():
        found = newest(5)
    assert found is not None and (found.rows, found.total) == ([], 0)


def test_whatever_is_unusual_is_left_to_the_store(place: Path) -> None:
    assert newest(5) is None, "no file yet"
    place.write_bytes(b"something else")
    assert newest(5) is None
    place.unlink()
    with Store.open() as store:
        store.add(made_run(1))
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE gpuexplorer_store SET version = version + 1")
    connection.close()
    assert newest(5) is None, "a newer program's"


def test_a_server_is_left_to_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "postgresql://nobody@localhost:1/none")
    assert newest(5) is None
