"""A sweep, map, tuning, comparison or study is one row of a list in the order of time."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.history.model import FOLDED, Folded, Row
from gpuexplorer.history.store import Query, Store
from tests.history.conftest import made_run

MANY = 10_000


def filled(store: Store) -> str:
    """Put in runs 0 to 9, of which 2 to 5 are a sweep; return its id."""
    group = store.begin_group("sweep", {})
    store.add_all(made_run(n) for n in (0, 1))
    store.add_all((made_run(n, block=(1 << n, 1, 1)) for n in range(2, 6)), group=group)
    store.add_all(made_run(n) for n in range(6, 10))
    store.change_group(group, finished=True)
    return group


def shown(rows: list[Row], group: str) -> list[str]:
    """Return rows by their runs' numbers, the group's as "group"."""
    by_id = {made_run(n).id: str(n) for n in range(30)} | {group: "group"}
    return [by_id[row.id] for row in rows]


def test_a_group_is_one_row_where_its_latest_run_would_be(store: Store) -> None:
    group = filled(store)
    for descending, wanted in (
        (True, ["9", "8", "7", "6", "group", "1", "0"]),
        (False, ["0", "1", "group", "6", "7", "8", "9"]),
    ):
        found = store.timeline(Query(), [0], MANY, descending=descending)
        assert shown(found.pages[0], group) == wanted
        assert (found.rows, found.runs, found.unfolded) == (7, 10, [])


def test_its_row_says_what_its_runs_have_in_common_and_the_best_of_them(store: Store) -> None:
    group = filled(store)
    row = store.timeline(Query(), [0], MANY).pages[0][4]
    assert (row.id, row.group) == (group, group)
    assert row.folded == Folded(kind="sweep", runs=4, finished=True)
    assert (row.workload, row.size_words, row.block_words) == ("matmul", "N = 512", "4 blocks")
    assert row.median_s == made_run(2).timing.median_s  # the fastest
    assert row.flop_per_s == made_run(2).throughput.flop_per_s
    assert (row.verified, row.running, row.starred) == (True, False, False)
    assert store.best_run(group) == made_run(2).id
    store.add(made_run(11, size={"N": 64}), group=group)
    with pytest.raises(InputError, match="runs of several problems"):
        store.best_run(group)
    row = store.timeline(Query(), [0], MANY).pages[0][0]
    assert (row.id, row.size_words, row.median_s) == (group, "2 sizes", None)  # no one problem


@pytest.mark.parametrize("kind", ["block map", "tuning"])
def test_a_map_and_a_tuning_show_the_figures_of_the_run_that_they_name_best(
    store: Store, kind: str
) -> None:
    best, luckier = made_run(3), made_run(2)
    assert best.timing.median_s > luckier.timing.median_s
    document = {"best_run": best.id} if kind == "block map" else {"finalists": [{"run": best.id}]}
    store.add_group(kind, document, [luckier, best, made_run(4)])
    row = store.timeline(Query(), [0], MANY).pages[0][0]
    assert row.median_s == best.timing.median_s
    assert row.relative_error == best.timing.relative_error
    assert row.flop_per_s == best.throughput.flop_per_s
    assert store.best_run(row.id[:8]) == best.id and store.best_run("no such group") is None


def test_a_group_is_called_by_its_whole_id_or_by_a_beginning_that_nothing_else_has(
    store: Store,
) -> None:
    """A word that several begin with was taken for whichever came first."""
    for group, number in (("ab12", 2), ("ab12cd", 3), ("cd34", 4)):
        store.add_group("sweep", {}, [made_run(number)], group=group)
    assert store.best_run("ab12") == made_run(2).id, "a whole id is always that group"
    assert store.best_run("ab12c") == made_run(3).id
    assert store.best_run("") is None
    with pytest.raises(InputError, match="more than one entry of the history begins with 'ab1'"):
        store.best_run("ab1")
    with pytest.raises(InputError, match=r"more characters of the id, as ab12\S* or ab12\S* has"):
        store.best_run("ab1")
    assert store.best_run("cd3") == made_run(4).id
    store.add(msgspec.structs.replace(made_run(5), id="cd3" + "0" * 29))
    with pytest.raises(InputError, match="give more characters of the id"):
        store.best_run("cd3")


def test_its_runs_stand_below_it_when_it_is_unfolded(store: Store) -> None:
    group = filled(store)
    found = store.timeline(Query(), [0], MANY, unfolded=[group, "no such group"])
    ((place, rows),) = found.unfolded
    assert place == 4 and shown(rows, group) == ["5", "4", "3", "2"]
    assert shown(found.pages[0], group)[place] == "group"
    found = store.timeline(Query(), [0], MANY, descending=False, unfolded=[group])
    ((place, rows),) = found.unfolded
    assert place == 2 and shown(rows, group) == ["2", "3", "4", "5"]


@pytest.mark.parametrize("text", ["matmul", "16x1", "sweep"])
@pytest.mark.parametrize(("many", "few"), [(3, 1000), (200_000, 1000), (200_000, 2)])
def test_a_search_counts_the_runs_that_it_finds(
    store: Store, text: str, many: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpuexplorer.history.sql import search

    monkeypatch.setattr(search, "MANY", many)
    monkeypatch.setattr(search, "FEW", few)
    group = filled(store)
    query = Query(text=text)
    found = store.timeline(query, [0], MANY, unfolded=[group])
    row = next(row for row in found.pages[0] if row.folded is not None)
    of_group = store.count(Query(text=text, group=group))
    assert row.folded is not None and row.folded.runs == of_group > 0
    assert found.runs == store.count(query)
    ((place, rows),) = found.unfolded
    assert found.pages[0][place] == row and len(rows) == of_group
    assert {one.id for one in rows} <= {one.id for one in store.find(query)}


def test_what_is_deleted_and_what_was_imported_is_not_folded(store: Store) -> None:
    group = filled(store)
    imported = store.begin_group("import", {})
    store.add_all((made_run(n) for n in (20, 21)), group=imported)
    found = store.timeline(Query(), [0], MANY)
    assert shown(found.pages[0], group)[:3] == ["21", "20", "9"]
    store.delete([made_run(n).id for n in range(2, 6)])
    assert "group" not in shown(store.timeline(Query(), [0], MANY).pages[0], group)
    deleted = store.timeline(Query(deleted=True), [0], MANY)
    assert (deleted.rows, deleted.runs) == (1, 4)


def test_pages_are_pieces_of_the_whole_list(store: Store) -> None:
    chance = random.Random(3)
    ids = [store.begin_group(kind, {}) for kind in FOLDED]
    for n in range(60):
        store.add(made_run(n), group=chance.choice([*ids, None, None, None]))
    for query in (Query(), Query(text="matmul"), Query(workload="matmul")):
        for descending in (True, False):
            whole = store.timeline(query, [0], MANY, descending=descending)
            found = store.timeline(query, range(9), 7, descending=descending, unfolded=ids)
            assert [row for page in found.pages.values() for row in page] == whole.pages[0]
            assert (whole.rows, whole.runs) == (len(whole.pages[0]), 60)
            for place, rows in found.unfolded:
                header = whole.pages[0][place]
                assert header.folded is not None and header.folded.runs == len(rows)
                assert {row.group for row in rows} == {header.id}


@dataclass
class Kept:
    """A run as it was stored, the latest last, and what became of it."""

    id: str
    minute: int
    workload: str
    group: str | None
    starred: bool = False
    tagged: bool = False
    deletion: int = 0


ASKED: list[tuple[Query, Callable[[Kept], bool]]] = [
    (Query(), lambda run: not run.deletion),
    (Query(deleted=True), lambda run: bool(run.deletion)),
    (Query(starred=True), lambda run: run.starred and not run.deletion),
    (Query(tag="thesis"), lambda run: run.tagged and not run.deletion),
    (Query(workload="copy"), lambda run: run.workload == "copy" and not run.deletion),
    (Query(text="copy"), lambda run: run.workload == "copy" and not run.deletion),
    (
        Query(workload="copy", tag="thesis"),
        lambda run: run.workload == "copy" and run.tagged and not run.deletion,
    ),
]


def folded_by_hand(found: list[Kept], kinds: dict[str, str], descending: bool) -> list[str]:
    """Return the rows of runs, a group's as its id where its latest stored run would be."""
    latest = {run.group: run for run in found if kinds.get(run.group or "") in FOLDED}
    in_time = sorted(found, key=lambda run: run.minute, reverse=descending)
    return [
        run.id if run.group not in latest else run.group or ""
        for run in in_time
        if latest.get(run.group) in (None, run)
    ]


@pytest.mark.parametrize(("few", "at_once"), [(1000, 500), (2, 500), (2, 1)])
def test_rows_are_those_of_a_list_folded_by_hand_whatever_two_programs_do(
    store: Store, store_url: str, few: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpuexplorer.history.sql import lists, search

    monkeypatch.setattr(search, "FEW", few)
    monkeypatch.setattr(lists, "AT_ONCE", at_once)
    chance = random.Random(f"{few} {at_once}")
    kept: list[Kept] = []
    minutes = chance.sample(range(500), 30)
    with Store.open(store_url) as other:
        kinds = {store.begin_group(kind, {}): kind for kind in (*FOLDED, "import", "sweep")}
        for _ in range(5):
            program = chance.choice([store, other])
            new = [
                Kept(made_run(n).id, n, chance.choice(["copy", "matmul"]), group)
                for n in (minutes.pop() for _ in range(6))
                for group in [chance.choice([*kinds, None, None])]
            ]
            for run in new:
                program.add(made_run(run.minute, workload=run.workload), group=run.group)
            kept += new
            some = chance.sample(kept, 4)
            for run in some[:2]:
                run.starred = run.tagged = True
            program.star([run.id for run in some[:2]])
            program.tag([run.id for run in some[:2]], "thesis")
            taken = program.delete([run.id for run in some[1:]])
            for run in some[1:]:
                run.deletion = run.deletion or taken.token
            if chance.random() < 0.3:
                program.undelete(taken)
                for run in some:
                    run.deletion = 0 if run.deletion == taken.token else run.deletion
            elif chance.random() < 0.3:
                program.purge()
                kept = [run for run in kept if not run.deletion]
            for query, holds in ASKED:
                found = [run for run in kept if holds(run)]
                descending = chance.random() < 0.5
                wanted = folded_by_hand(found, kinds, descending)
                told = store.timeline(
                    query, range(3), 15, descending=descending, unfolded=chance.sample([*kinds], 3)
                )
                rows = [row for page in told.pages.values() for row in page]
                assert [row.id for row in rows] == wanted, query
                assert (told.rows, told.runs) == (len(wanted), len(found)), query
                for page in chance.sample(range(len(rows) // 2 + 2), len(rows) // 2 + 2):
                    alone = store.timeline(
                        query, (), 2, descending=descending, known=told.state, missing=[page]
                    )
                    assert alone.pages[page] == rows[2 * page : 2 * page + 2], query
                for place, below in told.unfolded:
                    about = rows[place].folded
                    assert about is not None and about.runs == len(below), query
                    of_group = [run.id for run in found if run.group == rows[place].id]
                    assert {row.id for row in below} == set(of_group), query
                assert store.count(query) == len(found)


@pytest.mark.parametrize("value", ["x", b"\xff", 9e999, -9e999])
def test_a_run_whose_time_cannot_be_read_is_on_one_page(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "history.sqlite"
    with Store.open(path) as store:
        store.add_all(made_run(n) for n in range(9))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE gpuexplorer_runs SET time_s = ? WHERE seq = 4", (value,))
    with Store.open(path) as store:
        for descending in (True, False):
            whole = store.timeline(Query(), [0], MANY, descending=descending)
            assert len({row.id for row in whole.pages[0]}) == 9
            for page in random.Random(1).sample(range(9), 9):
                alone = store.timeline(
                    Query(), (), 1, descending=descending, known=whole.state, missing=[page]
                )
                assert alone.pages[page] == whole.pages[0][page : page + 1]


def test_a_page_of_all_rows_is_found_in_indexes_from_the_nearest_that_was_shown(
    tmp_path: Path,
) -> None:
    """However far down it is: one that was counted from the top took twice as long as the rest."""
    from sqlalchemy import event

    asked: list[tuple[str, Any]] = []
    with Store.open(tmp_path / "history.sqlite") as store:
        filled(store)
        event.listen(
            store._database.engine,
            "before_cursor_execute",
            lambda _c, _cursor, statement, values, *_: asked.append((statement, values)),
        )
        whole = store.timeline(Query(), [0], 100)
        for page, skipped in ((4, 2), (5, 1), (1, 1), (2, 1), (6, 0), (0, 0), (3, 0)):
            del asked[:]
            found = store.timeline(Query(), (), 1, known=whole.state, missing=[page])
            assert found.pages[page] == whole.pages[0][page : page + 1]
            ((statement, values),) = [one for one in asked if "OFFSET" in one[0]]
            assert values[-1] == skipped, f"page {page} is {skipped} rows from one that was shown"
            with closing(sqlite3.connect(tmp_path / "history.sqlite")) as connection:
                plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
            steps = [step[3] for step in plan]
            assert "gpuexplorer_runs_by_time_s" in steps[0]
            assert not any(
                "TEMP B-TREE" in step or "SCAN gpuexplorer_runs" in step for step in steps
            )
