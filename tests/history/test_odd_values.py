"""A store whose values another program, or a fault, has changed: one sentence, and nothing lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.history.errors import StoreDamaged
from gpuexplorer.history.peek import newest
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE
from gpuexplorer.history.store import Query, Store
from tests.support.results import made_result

VALUES = ("x", -1, 1.5, b"\xff", None, "nan", 2**63 - 1, "")


def made(path: Path) -> str:
    """Make a store with a run in a group; return the run's id."""
    result = made_result()
    with Store.open(path) as store:
        store.add_group("sweep", {"axes": {}}, [result])
        store.tag([result.id], "a tag", True)
        store.note(result.id, "a note")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return result.id


def columns() -> Iterator[tuple[str, str]]:
    """Every column of every table."""
    from gpuexplorer.history.sql.tables import metadata

    for table in metadata.sorted_tables:
        for column in table.columns:
            yield table.name, column.name


def changed(path: Path, statement: str, *values: Any) -> None:
    """Change a store behind its back; what the tables refuse stays as it was."""
    with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.Error, OverflowError):
        connection.execute(statement, values)
        connection.commit()


def use(path: Path, run_id: str) -> None:
    """Do what a program does with a store; every step by itself."""

    def each(store: Store) -> Iterator[Any]:
        yield lambda: store.find(Query())
        yield lambda: store.find(Query(text="naive"), sort="median")
        yield store.count
        yield lambda: store.get(run_id)
        yield lambda: store.rows([run_id])
        yield store.groups
        yield lambda: store.choices("tag")
        yield lambda: store.star(run_id, True)
        yield lambda: store.add_all([made_result()])
        yield lambda: store.delete(run_id)

    with Store.open(path) as store:
        for step in each(store):
            with suppress(ExplorerError):
                step()


@pytest.mark.parametrize(("table", "column"), list(columns()))
def test_a_value_of_another_kind_is_one_of_our_errors_at_most(
    table: str, column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "whole.sqlite"
    run_id = made(whole)
    for number, value in enumerate(VALUES):
        path = tmp_path / f"{number}.sqlite"
        path.write_bytes(whole.read_bytes())
        changed(path, f"UPDATE {table} SET {column} = ?", value)
        monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(path))
        newest(10)
        with suppress(ExplorerError):
            use(path, run_id)


@pytest.mark.parametrize("version", [-1, 0, "x", 1.5, b"\xff", 1e300])
def test_a_version_that_no_program_wrote_is_told_and_left(version: Any, tmp_path: Path) -> None:
    path = tmp_path / "h.sqlite"
    made(path)
    changed(path, "UPDATE gpuexplorer_store SET version = ?", version)
    with pytest.raises(StoreDamaged, match=r"is damaged \(its version is ") as caught:
        Store.open(path)
    assert "set it aside by renaming it" in str(caught.value)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT version FROM gpuexplorer_store").fetchone() == (version,)
        assert connection.execute("SELECT count(*) FROM gpuexplorer_runs").fetchone() == (1,)


def test_text_in_a_number_is_told_with_its_place_and_the_run_is_read(tmp_path: Path) -> None:
    path = tmp_path / "h.sqlite"
    run_id = made(path)
    changed(path, "UPDATE gpuexplorer_runs SET median_s = 'fast'")
    with Store.open_to_read(path) as store:
        with pytest.raises(StoreDamaged, match=r"a value in it cannot be: .*median_s"):
            store.find(Query())
        assert store.get(run_id) == made_result()
