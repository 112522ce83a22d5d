"""A store whose values another program, or a fault, has changed: one sentence, and nothing lost."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.result import RunResult
from gpuexplorer.history.errors import StoreDamaged
from gpuexplorer.history.holder import Holder
from gpuexplorer.history.model import Choice
from gpuexplorer.history.peek import newest
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE
from gpuexplorer.history.store import Query, Store
from tests.history.conftest import made_run
from tests.support.crossed import crossed
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
        yield lambda: store.json(run_id)
        yield lambda: store.row(run_id)
        yield lambda: store.timeline(Query(text="naive"), [0], 10)
        yield lambda: store.finished_keys(store.groups()[0].id)
        for field in get_args(Choice):
            yield partial(store.choices, field)
        yield lambda: store.tag(run_id, "another")
        yield lambda: store.note(run_id, "another")
        yield lambda: store.hold_group(store.groups()[0].id, Holder.here())
        yield lambda: store.star(run_id, True)
        yield lambda: store.add_all([made_result()])
        yield lambda: store.delete(run_id)
        yield store.undelete
        yield store.purge

    with Store.open(path) as store:
        for step in each(store):
            with suppress(ExplorerError, IndexError):
                step()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store as it should be, and the id of its run."""
    path = tmp_path_factory.mktemp("whole") / "whole.sqlite"
    return path, made(path)


@pytest.mark.parametrize(
    ("column", "value"), crossed(list(columns()), VALUES, name=lambda one: "-".join(one))
)
def test_a_value_of_another_kind_is_one_of_our_errors_at_most(
    column: tuple[str, str],
    value: Any,
    whole: tuple[Path, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "changed.sqlite"
    path.write_bytes(whole[0].read_bytes())
    changed(path, "UPDATE {} SET {} = ?".format(*column), value)
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(path))
    newest(10)
    with suppress(ExplorerError):
        use(path, whole[1])


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


# ---- what is damaged costs itself alone


def three(path: Path) -> list[RunResult]:
    """Make a store of three runs in a sweep; return them, the latest first."""
    made = [made_run(number) for number in range(3)]
    with Store.open(path) as store:
        store.add_group("sweep", {"axes": {}}, made)
        store.tag([run.id for run in made], "a tag", True)
    return made[::-1]


DAMAGE = [
    ("median_s", "fast"),
    ("median_s", b"\xff"),
    ("samples", "many"),
    ("note", b"\xff"),
    ("workload", b"\xff\xfe"),
    ("time_utc", b"\xff"),
    ("id", b"\xff"),
    ("suspect", b""),
    ("time_s", "x"),
    ("words", b"\xff"),
]


@pytest.mark.parametrize(("column", "value"), DAMAGE)
def test_a_damaged_row_is_named_and_the_others_are_listed(
    column: str, value: Any, tmp_path: Path
) -> None:
    path = tmp_path / "h.sqlite"
    third, second, first = three(path)
    with Store.open(path) as store:
        before = {row.id: row for row in store.find()}
    changed(path, f"UPDATE gpuexplorer_runs SET {column} = ? WHERE seq = 2", value)
    with Store.open(path) as store:
        listed = {row.id: row for row in store.find()}
        assert len(listed) == store.count() == 3
        assert (listed[first.id], listed[third.id]) == (before[first.id], before[third.id])
        (odd,) = [row for row in listed.values() if row.id not in (first.id, third.id)]
        assert (odd.damaged is None) == (column in ("time_s", "words"))  # which no list shows
        if odd.damaged is not None:
            assert odd.damaged == f"{column} cannot be read"
        found = store.timeline(Query(), [0], 2, sort="median")
        assert found.rows == 3 and len(found.pages[0]) == 2
        store.timeline(Query(text="matmul"), [0], 500)
        assert store.get(odd.id, samples=False).id == second.id  # its document is whole
        store.note(odd.id, "said of it")
        store.star(odd.id)
        assert store.delete(odd.id).runs == 1
        assert {row.id for row in store.find()} == {first.id, third.id}
        assert store.undelete() == 1
        assert store.delete(odd.id).runs == 1 and store.purge() == 1
        assert store.count() == 2


def test_words_that_are_no_text_any_more_cost_their_row_alone(tmp_path: Path) -> None:
    path = tmp_path / "h.sqlite"
    three(path)
    changed(
        path, "UPDATE gpuexplorer_runs SET note = CAST(x'41ff42' AS TEXT) WHERE seq = 2"
    )  # as a disk changes a letter
    with Store.open(path) as store:
        assert [row.damaged for row in store.find()] == [None, "note cannot be read", None]


def test_a_damaged_tag_costs_itself(tmp_path: Path) -> None:
    path = tmp_path / "h.sqlite"
    three(path)
    changed(path, "UPDATE gpuexplorer_tags SET tag = x'ff' WHERE run = 2")
    with Store.open(path) as store:
        assert [row.tags for row in store.find()] == [("a tag",), (), ("a tag",)]
        assert store.choices("tag") == ["a tag"]


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE gpuexplorer_documents SET data = x'00' WHERE run = 2", "its document: "),
        ("DELETE FROM gpuexplorer_documents WHERE run = 2", "it has no document"),
        ("UPDATE gpuexplorer_samples SET data = x'00' WHERE run = 2", "its samples: "),
    ],
)
def test_a_run_that_cannot_be_read_is_named_with_how_to_be_rid_of_it(
    statement: str, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "h.sqlite"
    third, second, first = three(path)
    changed(path, statement)
    with Store.open(path) as store:
        for read in (store.get, store.json):
            with pytest.raises(StoreDamaged, match=rf"'{second.id}' .* cannot be read") as caught:
                read(second.id)
            assert why in str(caught.value)
            assert f"'gpuexplorer history delete {second.id}'" in caught.value.remedy
        assert [store.get(run.id) for run in (first, third)] == [first, third]
        assert store.delete(second.id).runs == 1


def test_a_document_of_something_else_is_told_of_its_run(tmp_path: Path) -> None:
    path = tmp_path / "h.sqlite"
    second = three(path)[1]
    changed(
        path, "UPDATE gpuexplorer_documents SET data = ? WHERE run = 2", zlib.compress(b'{"a": 1}')
    )
    with Store.open(path) as store, pytest.raises(StoreDamaged, match=second.id):
        store.json(second.id)


def test_a_damaged_group_is_there_without_its_document(tmp_path: Path) -> None:
    path = tmp_path / "h.sqlite"
    three(path)
    with Store.open(path) as store:
        damaged = store.groups()[0].id
        whole = store.begin_group("sweep", {"axes": {"size": [1]}})
        changed(path, "UPDATE gpuexplorer_groups SET document = x'00' WHERE id = ?", damaged)
        found = {group.id: group for group in store.groups("sweep")}
        assert found[whole].document == {"axes": {"size": [1]}} and found[whole].damaged is None
        assert found[damaged].document is None and found[damaged].runs == 3
        assert found[damaged].damaged is not None
        with pytest.raises(StoreDamaged, match=f"group '{damaged}'"):
            store.hold_group(damaged, Holder.here())


def test_a_run_that_goes_on_for_ever_because_it_cannot_be_finished_can_be_deleted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "h.sqlite"
    three(path)
    changed(path, "UPDATE gpuexplorer_runs SET running = 1 WHERE seq = 2")
    with Store.open(path) as store:
        (odd,) = [row for row in store.find() if row.running]
        assert store.delete(odd.id).runs == 1
