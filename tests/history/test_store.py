"""What goes into the store comes out again, bit for bit, and is found; on a file and a server."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event

from gpuexplorer.core import language
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.units import quantity
from gpuexplorer.exchange.document import run_json
from gpuexplorer.history.model import Sort, TunedEntry
from gpuexplorer.history.searching import MONTHS
from gpuexplorer.history.store import Query, Store
from tests.history.conftest import made_run
from tests.support.results import made_config


def bits(values: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def ids(store: Store, query: Query | None = None, **options: object) -> list[str]:
    return [row.id for row in store.find(query, **options)]  # type: ignore[arg-type]


# ---- in and out


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(width=64), min_size=1, max_size=300))
def test_every_bit_of_every_sample_is_kept(samples: list[float]) -> None:
    run = made_run(1, samples_s=samples)
    with Store.open("sqlite://") as store:
        store.add(run)
        assert bits(store.get(run.id).samples_s) == bits(samples)


def test_a_run_comes_out_as_it_went_in(store: Store) -> None:
    run = made_run(1, variant="tiled", tunables={"TILE": 16}, block=(8, 8, 4))
    store.add(run)
    assert store.get(run.id) == run
    assert bits(store.get(run.id).samples_s) == bits(run.samples_s)
    assert store.get(run.id, samples=False) == msgspec.structs.replace(run, samples_s=[])


def test_more_samples_than_one_array_holds_are_kept(store: Store) -> None:
    many = [1e-6 * (1 + i % 1000) for i in range(150_001)]
    store.add(made_run(1, samples_s=many))
    assert bits(store.get(made_run(1).id).samples_s) == bits(many)


def test_a_run_is_stored_once_and_never_changes(store: Store) -> None:
    run = made_run(1)
    store.add(run)
    store.add(msgspec.structs.replace(run, samples_s=[1.0]))
    assert store.count() == 1
    assert store.get(run.id) == run


def test_a_newer_programs_fields_are_kept_as_they_came(store: Store) -> None:
    fields = msgspec.json.decode(run_json(made_run(1)), type=dict[str, msgspec.Raw])
    fields["from_the_future"] = msgspec.Raw(b'{"x":  [1, 2.50, 1e5]}')
    timing = bytes(fields["timing"])
    fields["timing"] = msgspec.Raw(timing[:-1] + b', "p99_s": 0.25}')
    document = msgspec.json.encode(fields)
    assert store.add_all([document]) == 1
    out = msgspec.json.decode(store.json(made_run(1).id), type=dict[str, msgspec.Raw])
    assert list(out) == list(fields)
    for name in fields:
        if name != "samples_s":
            assert bytes(out[name]) == bytes(fields[name])
    assert store.get(made_run(1).id) == made_run(1)


@pytest.mark.parametrize("wrong", [b"", b"{}", b"[1]", b'{"samples_s": "x"}', b"\xff\xfe"])
def test_what_is_no_run_is_refused_and_nothing_of_its_file_is_stored(
    store: Store, wrong: bytes
) -> None:
    with pytest.raises(InputError, match="not a run's document"):
        store.add_all([made_run(1), wrong, made_run(2)])
    assert store.count() == 0


def test_a_run_without_a_time_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="is not a time"):
        store.add(made_run(1, time_utc="yesterday"))
    assert store.count() == 0


def test_a_figure_that_json_cannot_say_is_refused_before_it_is_stored(store: Store) -> None:
    run = made_run(1)
    broken = msgspec.structs.replace(
        run, timing=msgspec.structs.replace(run.timing, median_s=float("nan"))
    )
    with pytest.raises(InputError, match="not a run's document"):
        store.add(broken)
    assert store.count() == 0


def test_text_that_databases_do_not_store_does_no_harm(store: Store) -> None:
    store.add(made_run(1, workload="mat\0mul"))
    with pytest.raises(InputError, match="not a run's document"):
        store.add(made_run(2, workload="\ud800"))
    (row,) = store.find()
    assert row.workload == "matmul"
    store.note(row.id, "half \ud800 a \0 pair")
    assert store.find()[0].note == "half ? a  pair"


def test_long_words_are_stored_and_found(store: Store) -> None:
    long = "".join(f"{i:x} " for i in range(4000))[:19_990]
    store.add(made_run(1, workload="w" * 5000, variant="v" * 5000))
    store.note(made_run(1).id, long + " the end")
    store.tag(made_run(1).id, "t" * 60)
    (row,) = store.find(Query(text="f9f end"))
    assert row.note == long + " the end"
    assert store.find(Query(workload="w" * 5000)) == [row]
    assert store.get(row.id).config.workload == "w" * 5000
    with pytest.raises(InputError, match="a note has at most"):
        store.note(row.id, "x" * 20_001)
    for run_id in ("", "x" * 301):
        with pytest.raises(InputError, match="its id has"):
            store.add(made_run(2, id=run_id))


def test_a_run_is_named_by_the_beginning_of_its_id(store: Store) -> None:
    runs = [made_run(n, id=name) for n, name in enumerate(("abc1", "abc2", "abd", "abc1%"))]
    store.add_all(runs)
    assert store.get("abd").id == "abd"
    assert store.get("abc2").id == "abc2"
    assert store.get("abc1").id == "abc1"  # whole, although another begins so
    with pytest.raises(InputError, match="more than one run"):
        store.get("abc")
    for unknown in ("", "x", "abc%", "ab_", "%"):
        with pytest.raises(InputError, match=r"no run|more than one"):
            store.get(unknown)
    assert store.resolve("abc1%") == "abc1%"


def test_hundreds_are_added_at_once(store: Store) -> None:
    runs = [made_run(n) for n in range(450)]
    assert store.add_all(runs) == 450
    assert store.add_all(runs[:10]) == 10
    assert store.count() == 450
    assert store.get(runs[449].id) == runs[449]


# ---- lists


def test_pages_hold_every_run_once_in_the_order_asked_for(store: Store) -> None:
    store.add_all(
        made_run(
            n, size={"N": 2 ** (n % 7)}, variant=("naive", "tiled")[n % 2],
            block=None if n % 5 == 0 else (2 ** (n % 4), 4, 1), grid=None,
        )
        for n in range(57)
    )  # fmt: skip
    store.star(ids(store)[3:9])
    for sort in get_args(Sort):
        for descending in (False, True):
            pages = [
                row
                for offset in range(0, 60, 10)
                for row in store.find(sort=sort, descending=descending, offset=offset, limit=10)
            ]
            assert len({row.id for row in pages}) == len(pages) == 57
            assert pages == store.find(sort=sort, descending=descending, limit=99)


def test_lists_are_sorted_by_what_is_asked_for(store: Store) -> None:
    runs = [made_run(n, size={"N": 2**n}) for n in (5, 3, 10, 1)]
    store.add_all(runs)
    by_time = [made_run(n).id for n in (1, 3, 5, 10)]
    assert ids(store) == by_time[::-1]
    assert ids(store, sort="time", descending=False) == by_time
    assert ids(store, sort="median", descending=False) == by_time
    assert ids(store, sort="flops") == by_time  # the later ones are slower
    assert ids(store, sort="size", descending=False) == by_time  # 2 before 1024, not as text


def test_runs_without_a_value_come_last_both_ways(store: Store) -> None:
    known, unknown = made_run(1), made_run(2)
    no_flops = msgspec.structs.replace(unknown.throughput, flop_per_s=None)
    store.add_all([known, msgspec.structs.replace(unknown, throughput=no_flops)])
    for descending in (False, True):
        assert ids(store, sort="flops", descending=descending) == [known.id, unknown.id]


def test_each_part_of_a_query_holds(store: Store) -> None:
    store.add(made_run(1))
    store.add(made_run(2, workload="copy", variant="wide", precision="fp64", device="cuda:0"))
    group = store.begin_group("sweep", {})
    store.add(made_run(3), group=group)
    one, two, three = (made_run(n).id for n in (1, 2, 3))
    store.tag(two, "thesis")
    store.star(three)
    for query, wanted in (
        (Query(workload="copy"), [two]),
        (Query(variant="naive"), [three, one]),
        (Query(precision="fp64"), [two]),
        (Query(device="cuda:0"), [two]),
        (Query(device="Example CPU"), [three, two, one]),
        (Query(device="cpu:Example"), [three, two, one]),
        (Query(tag="thesis"), [two]),
        (Query(tag="Thesis"), []),
        (Query(starred=True), [three]),
        (Query(starred=False), [two, one]),
        (Query(group=group), [three]),
        (Query(group=""), [two, one]),
        (Query(since=datetime(2026, 1, 1, 0, 2, tzinfo=UTC)), [three, two]),
        (Query(workload="matmul", starred=True), [three]),
        (Query(workload="copy", starred=True), []),
    ):
        assert ids(store, query) == wanted, query
        assert store.count(query) == len(wanted)


def test_text_is_searched_in_the_configuration_the_tags_and_the_note(store: Store) -> None:
    run = made_run(1, variant="tiled", block=(16, 8, 1), tunables={"TILE": 16})
    store.add(run)
    store.tag(run.id, "Thesis")
    store.note(run.id, "Remember: 10% faster\nafter the update")
    for text in (
        "", "   ", "matmul", "MATMUL tiled", "16x8", "16×8", "n=512", "N = 512", "512 fp32", "51",
        "example cpu", "TILE=16", "remember", "THESIS", "10% faster", "matmul\nremember", "%",
    ):  # fmt: skip
        assert store.count(Query(text=text)) == 1, text
        assert ids(store, Query(text=text)) == [run.id], text
    for text in ("naive", "_", "'", "\\", "matmul naive", "thesisx", "16x81", '"', "?"):
        assert store.count(Query(text=text)) == 0, text
        assert ids(store, Query(text=text)) == [], text
    store.tag(run.id, "Thesis", False)
    assert store.count(Query(text="thesis")) == 0
    assert store.count(Query(text="tiled remember")) == 1


def test_what_a_list_shows_of_a_run_finds_it(store: Store) -> None:
    run = made_run(1, variant="tiled", block=(16, 8, 1))
    library = made_run(2, variant="library", block=None, device="torch:cpu")
    group = store.begin_group("block-map", {})
    store.add(run, group=group)
    store.add(library)
    began = datetime.fromisoformat(run.time_utc).astimezone()
    month = MONTHS[began.month - 1]  # English in every locale, as the list shows it
    median = quantity(run.timing.median_s, "s")
    store.star(run.id)
    for text in (
        run.id, run.id[:-2], group[:9], "block map", "map", f"{began:%H:%M}", f"{began:%H:%M:%S}",
        f"tiled {began:%Y-%m-%d}", f"tiled {began:%Y-%m}", f"{began.day} {month} {began:%H:%M}",
        f"tiled {month}", median, median.replace(" ", ""), f"{median} 16x8", "★", "starred",
        quantity(run.throughput.flop_per_s, "FLOP/s"),
    ):  # fmt: skip
        assert ids(store, Query(text=text)) == [run.id], text
        assert store.count(Query(text=text)) == 1, text
    for text in ("✓ verified", "verified", month, "example cpu"):
        assert store.count(Query(text=text)) == 2, text
    assert ids(store, Query(text="pytorch")) == [library.id]
    for text in ("2025-02-30", "yesterday", "99:99", "running", "not verified", "wrong", "suspect",
                 f"{began:%Y}-12", "3.33 ns", "sweep", "crash"):  # fmt: skip
        assert store.count(Query(text=text)) == 0, text


def test_a_figure_is_found_as_a_whole_and_not_by_its_pieces(store: Store) -> None:
    median = quantity(made_run(1).timing.median_s, "s")
    noted, other = made_run(1, variant="shared", size={"N": 1024}), made_run(2, variant="steps")
    store.add_all([noted, other])
    store.note(noted.id, "took 10 s, 3 GB/s")
    for text in ("10 s", "3 GB/s", "1024 took 10 s"):
        assert ids(store, Query(text=text)) == [noted.id], text
    for text in ("24 s", "12 s", "1 B/s"):
        assert ids(store, Query(text=text)) == [], text
    assert noted.id in ids(store, Query(text=median))


def test_the_outcome_of_a_run_finds_it(store: Store) -> None:
    good, bad = made_run(1), made_run(2)
    assert bad.verification is not None
    wrong = msgspec.structs.replace(bad.verification, ok=False)
    doubtful = msgspec.structs.replace(made_run(3).timing, suspect="faster than memory allows")
    runs = [
        good,
        msgspec.structs.replace(bad, verification=wrong),
        made_run(3, timing=doubtful),
        made_run(4, verification=None),
        made_run(5, timing=msgspec.structs.replace(made_run(5).timing, stopped_by="interrupted")),
    ]
    store.add_all(runs)
    found = {text: ids(store, Query(text=text)) for text in (
        "verified", "wrong", "⚠ suspect", "not verified", "ended by a crash")}  # fmt: skip
    assert found == {
        "verified": [runs[4].id, good.id],
        "wrong": [bad.id],
        "⚠ suspect": [runs[2].id],
        "not verified": [runs[3].id],
        "ended by a crash": [runs[4].id],
    }


def test_what_a_list_shows_in_another_language_finds_it_there(store: Store) -> None:
    run, other = made_run(1), made_run(2, verification=None)
    group = store.begin_group("block-map", {})
    store.add(run, group=group)
    store.add(other)
    store.tag(other.id, "已验证", True)
    began = datetime.fromisoformat(run.time_utc).astimezone()
    said = f"{began.month}月{began.day}日"
    language.use("zh_CN")
    try:
        found = {text: ids(store, Query(text=text)) for text in (
            "✓ 已验证", "未验证", "线程块图", "verified", "● 运行中", "昨天", said)}  # fmt: skip
        both = ids(store, Query(text="已验证"))
    finally:
        language.use("en")
    assert found == {
        "✓ 已验证": [run.id], "未验证": [other.id], "线程块图": [run.id], "verified": [run.id],
        "● 运行中": [], "昨天": [], said: [other.id, run.id],
    }  # fmt: skip
    assert set(both) == {run.id, other.id}, "a tag of the same word is found, too"
    assert ids(store, Query(text="未验证")) == [], "in English it is a word as any other"


def test_many_hits_of_a_text_are_paged_like_few(store: Store) -> None:
    store.add_all(made_run(n) for n in range(1100))
    wanted = [made_run(n).id for n in range(1100)]
    assert store.count(Query(text="matmul")) == 1100
    assert (
        ids(store, Query(text="matmul"), descending=False, offset=990, limit=20)
        == (wanted[990:1010])
    )


@pytest.mark.parametrize("text", ["", "matmul", "run-1", "no such words"])
@pytest.mark.parametrize("few", [3, 1000])
def test_pages_and_their_number_are_those_of_find_and_count(
    store: Store, text: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpuexplorer.history.sql import search

    monkeypatch.setattr(search, "FEW", few)
    store.add_all(made_run(number) for number in range(25))
    store.note(made_run(7).id, "run-1 was better")
    query = Query(text=text)
    for sort in get_args(Sort):
        for descending in (True, False):
            order = {"sort": sort, "descending": descending}
            found = store.timeline(query, (0, 2), 4, **order)
            assert found.rows == found.runs == store.count(query)
            for page, rows in found.pages.items():
                assert rows == store.find(query, offset=4 * page, limit=4, **order)
            known = store.timeline(query, (0, 2), 4, known=found.state, missing=(1,), **order)
            assert known.rows is None and list(known.pages) == [1]


def test_filters_offer_what_there_is(store: Store) -> None:
    store.add_all([made_run(1), made_run(2, workload="copy"), made_run(3, workload="copy")])
    store.tag([made_run(1).id, made_run(2).id], "b")
    store.tag(made_run(2).id, "a")
    assert store.choices("workload") == ["copy", "matmul"]
    assert store.choices("tag") == ["a", "b"]
    store.delete(made_run(1).id)
    assert store.choices("workload") == ["copy"]


# ---- what is said of runs


def test_stars_tags_and_notes_stand_beside_the_document(store: Store) -> None:
    run = made_run(1)
    store.add(run)
    store.star(run.id)
    store.tag(run.id, "  two   words ")
    store.tag([run.id], "two words")
    store.note(run.id, "  a note ")
    row = store.row(run.id)
    assert (row.starred, row.tags, row.note) == (True, ("two words",), "a note")
    assert store.get(run.id) == run
    store.star(run.id, False)
    store.tag(run.id, "two words", False)
    store.note(run.id, "")
    row = store.row(run.id)
    assert (row.starred, row.tags, row.note) == (False, (), "")
    assert store.count(Query(text="note")) == 0


def test_a_change_of_an_unknown_run_changes_none(store: Store) -> None:
    store.add(made_run(1))
    for change in (
        lambda: store.star([made_run(1).id, "nobody"]),
        lambda: store.tag([made_run(1).id, "nobody"], "x"),
        lambda: store.delete([made_run(1).id, "nobody"]),
        lambda: store.note("nobody", "x"),
    ):
        with pytest.raises(InputError, match="no run 'nobody'"):
            change()
    assert store.row(made_run(1).id).starred is False
    assert store.count() == 1


@pytest.mark.parametrize("name", ["", "  ", "x" * 61])
def test_a_tag_needs_a_short_name(store: Store, name: str) -> None:
    store.add(made_run(1))
    with pytest.raises(InputError, match="a tag"):
        store.tag(made_run(1).id, name)


def test_what_was_deleted_comes_back_with_all_that_was_said_of_it(store: Store) -> None:
    store.add_all(made_run(n) for n in range(5))
    first = made_run(0).id
    store.tag(first, "kept")
    deletion = store.delete([first, made_run(1).id])
    assert (deletion.runs, store.count()) == (2, 3)
    assert store.count(Query(tag="kept")) == 0
    assert sorted(ids(store, Query(deleted=True))) == sorted([first, made_run(1).id])
    later = store.delete(made_run(2).id)
    assert store.undelete(deletion) == 2
    assert store.row(first).tags == ("kept",)
    assert store.undelete() == 1  # the latest that is left
    assert store.undelete(later) == 0
    assert store.count() == 5


def test_a_purge_removes_deleted_runs_alone_and_for_good(store: Store) -> None:
    store.add_all(made_run(n) for n in range(5))
    store.tag(made_run(0).id, "gone")
    deletion = store.delete([made_run(0).id, made_run(1).id])
    assert store.purge() == 2
    assert store.undelete(deletion) == 0
    assert store.count() == 3 and store.count(Query(deleted=True)) == 0
    with pytest.raises(InputError, match="no run"):
        store.get(made_run(0).id)
    assert store.get(made_run(4).id) == made_run(4)
    assert store.choices("tag") == []


def test_a_deleted_run_that_is_added_again_is_back(store: Store) -> None:
    store.add(made_run(1))
    store.delete(made_run(1).id)
    store.add(made_run(1))
    assert ids(store) == [made_run(1).id]


# ---- groups and tuned entries


def test_a_group_knows_which_configurations_are_finished(store: Store) -> None:
    group = store.begin_group("sweep", {"axes": {"size.N": [64, 128]}})
    other = store.begin_group("tuning", None)
    sizes = [made_run(n, size={"N": 2**n}) for n in range(6, 9)]
    store.add_all(sizes[:2], group=group)
    store.add(sizes[2], group=other)
    assert store.finished_keys(group) == {run.config.key for run in sizes[:2]}
    store.delete(sizes[0].id)
    assert store.finished_keys(group) == {sizes[1].config.key}
    found = store.group(group)
    assert (found.kind, found.document, found.finished, found.runs) == (
        "sweep", {"axes": {"size.N": [64, 128]}}, False, 1,
    )  # fmt: skip
    store.change_group(group, finished=True)
    store.change_group(group, document={"new": 1})
    assert (store.group(group).finished, store.group(group).document) == (True, {"new": 1})
    assert [g.id for g in store.groups("tuning")] == [other]
    assert {g.id for g in store.groups()} == {group, other}
    with pytest.raises(InputError, match="no group"):
        store.group("nobody")
    with pytest.raises(InputError, match="no group"):
        store.change_group("nobody", finished=True)
    assert store.finished_keys("nobody") == set()


def made_tuned(**changes: object) -> TunedEntry:
    entry = TunedEntry(
        workload_sha256="0" * 64, hardware_id="cpu:Example", config=made_config(), median_s=1e-3,
        time_utc="2026-01-01T12:00:00+00:00", ties=(made_config(block=(32, 8, 1)),),
    )  # fmt: skip
    return msgspec.structs.replace(entry, **changes)


def test_the_latest_tuned_entry_of_a_problem_on_some_hardware_is_found(store: Store) -> None:
    asked = ("0" * 64, "naive", {"N": 512}, "fp32", "cpu:Example")
    assert store.find_tuned(*asked) is None
    store.save_tuned(made_tuned())
    assert store.find_tuned(*asked) == made_tuned()
    better = made_tuned(median_s=5e-4, config=made_config(block=(64, 4, 1)))
    store.save_tuned(better)
    assert store.find_tuned(*asked) == better
    for place, other in enumerate(("1" * 64, "tiled", {"N": 256}, "fp64", "GPU-1")):
        assert store.find_tuned(*asked[:place], other, *asked[place + 1 :]) is None  # type: ignore[arg-type, call-arg]


def test_what_was_tuned_in_another_machine_with_the_same_processor_is_not_found(
    store: Store,
) -> None:
    here, there = "cpu:Example #0123abcd", "cpu:Example #00c0ffee"
    asked = ("0" * 64, "naive", {"N": 512}, "fp32")
    store.save_tuned(made_tuned(hardware_id=there))
    assert store.find_tuned(*asked, here) is None
    store.save_tuned(made_tuned())  # by version 0.1, which did not say in which machine
    assert store.find_tuned(*asked, here) == made_tuned()
    assert store.find_tuned(*asked, there) == made_tuned(hardware_id=there)


def test_the_order_of_size_symbols_does_not_matter(store: Store) -> None:
    store.save_tuned(made_tuned(config=made_config(size={"N": 8, "M": 4})))
    found = store.find_tuned("0" * 64, "naive", {"M": 4, "N": 8}, "fp32", "cpu:Example")
    assert found is not None


def test_of_what_is_replaced_a_user_s_own_stay(store: Store) -> None:
    store.add_all(made_run(n) for n in range(5))
    made = [made_run(n).id for n in range(5)]
    store.star([made[0]], True)
    store.tag([made[1]], "first", True)
    store.note(made[2], "as it was")
    assert store.delete(made, unmarked=True).runs == 2
    assert set(ids(store, Query())) == set(made[:3])
    assert store.undelete() == 2


def test_a_page_may_have_more_runs_than_a_statement_has_variables() -> None:
    def few_variables(connection: sqlite3.Connection, _: object) -> None:
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 700)

    event.listen(Engine, "connect", few_variables)
    try:
        with Store.open("sqlite://") as store:
            store.add_all(made_run(n) for n in range(800))
            store.tag([made_run(0).id, made_run(799).id], "both ends")
            found = store.find(limit=1000)
            assert len(found) == 800 and sum(row.tags == ("both ends",) for row in found) == 2
    finally:
        event.remove(Engine, "connect", few_variables)
