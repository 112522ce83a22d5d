"""Older stores are brought up to date, all or nothing; a new one has the tables of its version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from gpuexplorer.history.errors import StoreFailed, StoreReadOnly, StoreTooNew
from gpuexplorer.history.sql import migrations
from gpuexplorer.history.store import Store
from tests.history.conftest import made_run

SCHEMAS = Path(__file__).parent / "schemas"


def schema_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT sql FROM sqlite_schema WHERE name LIKE 'gpuexplorer%' ORDER BY name"
        )
        return "".join(f"{' '.join(sql.split())};\n" for (sql,) in rows if sql)


def test_a_change_of_the_tables_is_a_new_version_with_a_step(tmp_path: Path) -> None:
    """Each version's tables are written down; whoever changes them adds a version and a step."""
    with Store.open(tmp_path / "new.sqlite"):
        pass
    written_down = (SCHEMAS / f"{migrations.VERSION}.sql").read_text(encoding="utf-8")
    assert schema_of(tmp_path / "new.sqlite") == written_down


@pytest.mark.parametrize("version", range(1, migrations.VERSION + 1))
def test_a_store_of_every_version_still_opens(tmp_path: Path, version: int) -> None:
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as old, old:
        old.executescript((SCHEMAS / f"{version}.sql").read_text(encoding="utf-8"))
        old.execute("INSERT INTO gpuexplorer_store VALUES (1, ?, 7)", (version,))
    with Store.open(path) as store:
        store.add(made_run(1))
        assert store.get(made_run(1).id) == made_run(1)
        assert store.generation() == 8
    indexes = [line for line in schema_of(path).splitlines() if " INDEX " in line]
    assert indexes == [
        line
        for line in (SCHEMAS / f"{migrations.VERSION}.sql").read_text(encoding="utf-8").splitlines()
        if " INDEX " in line
    ]


def one_more_column(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE gpuexplorer_groups ADD COLUMN added TEXT"))


def newer(patch: pytest.MonkeyPatch, *steps: object) -> None:
    """Let the program know the versions after the present one, made by these steps."""
    first = migrations.VERSION + 1
    patch.setattr(migrations, "VERSION", migrations.VERSION + len(steps))
    patch.setattr(migrations, "STEPS", {first + i: step for i, step in enumerate(steps)})


def test_an_older_store_is_updated_once_and_keeps_its_runs(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(store_url) as store:
        store.add(made_run(1))
    newer(monkeypatch, one_more_column)
    for _ in range(2):
        with Store.open(store_url) as store:
            assert store.get(made_run(1).id) == made_run(1)
    with store._database.read() as connection:
        connection.execute(text("SELECT added FROM gpuexplorer_groups"))
        assert migrations.version_of(connection, store._database.place) == migrations.VERSION


def test_a_step_that_fails_leaves_the_store_as_it_was(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(store_url) as store:
        store.add(made_run(1))

    def fails(connection: Connection) -> None:
        one_more_column(connection)
        connection.execute(text("SELECT nothing FROM nowhere"))

    with monkeypatch.context() as patch:
        newer(patch, one_more_column, fails)
        with pytest.raises(StoreFailed):
            Store.open(store_url)
    with Store.open(store_url) as store:
        assert store.get(made_run(1).id) == made_run(1)
        with store._database.read() as connection:
            assert migrations.version_of(connection, store._database.place) == migrations.VERSION
    newer(monkeypatch, one_more_column)  # as nothing of it was done, it can be done again
    with Store.open(store_url) as store:
        assert store.count() == 1


def test_an_older_store_that_may_not_be_written_is_refused_with_what_to_do(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(store_url) as store:
        store.add(made_run(1))
    newer(monkeypatch, one_more_column)
    with pytest.raises(StoreReadOnly, match="older GPU Explorer"):
        Store.open(store_url, read_only=True)


def test_a_store_of_the_first_version_is_taken_over_where_it_is(store_url: str) -> None:
    with Store.open(store_url) as store:
        store.add(made_run(1))
        store.add(made_run(2, switches={"include_transfers": True}))
        with store._database.write() as connection:  # as the first version made it
            connection.execute(text("ALTER TABLE gpuexplorer_runs DROP COLUMN switch_words"))
            connection.execute(text("UPDATE gpuexplorer_store SET version = 1"))
    with Store.open(store_url) as store:
        assert store.get(made_run(1).id) == made_run(1)
        assert store.row(made_run(1).id).switch_words == ""
        assert store.row(made_run(2).id).switch_words == "include transfers"
        store.add(made_run(3))
        assert store.count() == 3


def test_of_two_programs_at_one_store_the_older_says_that_it_is_older(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = Store.open(store_url)
    older.add(made_run(1))
    with monkeypatch.context() as patch:
        newer(patch, one_more_column)
        with Store.open(store_url) as store:
            store.add(made_run(2))
    older.add(made_run(3))  # what is open goes on: a step only adds
    assert older.count() == 3
    older.close()
    with pytest.raises(StoreTooNew, match=r"made by a newer GPU Explorer .*; update GPU Explorer"):
        Store.open(store_url)
    with monkeypatch.context() as patch:
        newer(patch, one_more_column)
        with Store.open(store_url) as store:
            assert {row.id for row in store.find()} == {made_run(n).id for n in (1, 2, 3)}
