"""The pages of the history table: which rows are known, and how they change."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuexplorer.gui.model.history_pages import MAX_PAGES, PAGE, Answer, Pages, View, change
from gpuexplorer.history.model import Row
from gpuexplorer.history.store import Store
from tests.support.history import numbered_run


def rows(ids: Sequence[int]) -> list[Row]:
    """Return a row for each id; all else of them is alike."""
    return [
        Row(
            id=str(i), time_utc="2026-01-01T00:00:00+00:00", workload="matmul", variant="naive",
            size_words="N = 8", block_words="8×8", precision="fp32", device="opencl:0",
            device_name="X", median_s=1.0, relative_error=None, flop_per_s=None,
            bandwidth_B_per_s=None, samples=1, verified=True, suspect=None, starred=False, tags=(),
            note="", group=None, fingerprint="f", running=False, stopped_by="time",
        )
        for i in ids
    ]  # fmt: skip


def answer(ids: Sequence[int], state: int, wanted: Sequence[int], *, known: bool = False) -> Answer:
    """Return what a store with these runs answers."""
    pages = {page: rows(ids[page * PAGE : (page + 1) * PAGE]) for page in wanted}
    total = None if known else len(ids)
    return Answer(View(), state, total, pages, frozenset(), {})


def test_rows_are_known_page_by_page() -> None:
    ids = list(range(1000))
    pages = Pages().after(answer(ids, 1, [0]))
    assert Pages().row(-1) is None and pages.row(-1) is None
    assert len(pages) == 1000
    assert pages.row(0) is not None and pages.row(PAGE - 1) is not None
    assert pages.row(PAGE) is None
    assert pages.pages_of(PAGE - 1, PAGE) == (0, 1)
    assert pages.missing((0, 1)) == (1,)
    more = pages.after(answer(ids, 1, [9], known=True))
    found = more.row(999)
    assert found is not None and found.id == "999"
    assert more.row(1000) is None


def test_rows_above_the_stores_move_them_down() -> None:
    pages = Pages().after(answer(list(range(10)), 1, [0])).below(rows([77]))
    assert len(pages) == 11
    assert [r.id for r in pages.known().values()] == ["77", *map(str, range(10))]
    assert pages.find("77") == 0
    assert pages.find("3") == 4
    assert pages.find("no such run") is None
    assert pages.pages_of(0, 0) == ()
    assert pages.pages_at([0, 1, 10]) == (0,)


def test_pages_that_were_not_looked_at_for_longest_go() -> None:
    ids = list(range(PAGE * (MAX_PAGES + 5)))
    pages = Pages().after(answer(ids, 1, [0]))
    for page in range(1, MAX_PAGES + 5):
        pages.missing((0,))
        pages = pages.after(answer(ids, 1, [page], known=True))
    assert pages.row(0) is not None
    assert pages.row(PAGE) is None
    assert len(pages.known()) == PAGE * MAX_PAGES


def test_a_run_that_the_store_takes_over_moves_nothing() -> None:
    before = Pages().after(answer([1, 2], 1, [0])).below(rows([9]))
    after = before.after(answer([9, 1, 2], 2, [0])).below(())
    assert change(before, after).kind == "same"


@given(st.integers(0, 300), st.integers(1, 40), st.integers(0, 2))
def test_new_runs_at_the_top_are_seen_as_such(number: int, more: int, page: int) -> None:
    old = list(range(number))
    new = [10_000 + i for i in range(more)] + old
    before = Pages().after(answer(old, 1, [page]))
    after = before.after(answer(new, 2, [page]))
    found = change(before, after)
    if before.known() and set(before.known().values()) & set(after.known().values()):
        assert (found.kind, found.count) == ("above", more)
    else:
        assert found.count == more or found.kind == "other"


@given(st.lists(st.integers(0, 60), unique=True), st.lists(st.integers(0, 60), unique=True))
def test_a_change_says_where_every_row_went(old: list[int], new: list[int]) -> None:
    before = Pages().after(answer(old, 1, [0]))
    after = before.after(answer(new, 2, [0]))
    found = change(before, after)
    if found.kind == "same":
        assert old == new
    elif found.kind == "above":
        assert new[found.count :] == old
    elif found.kind == "below":
        assert old[: len(new)] == new[: len(old)]


def test_the_store_answers_what_the_pages_ask(tmp_path: object) -> None:
    with Store.open("sqlite://") as store:
        store.add_all([numbered_run(i) for i in range(250)])
        found = {page: store.find(offset=page * PAGE, limit=PAGE) for page in range(3)}
        pages = Pages().after(Answer(View(), 1, store.count(), found, frozenset(), {}))
    assert len(pages.known()) == 250
    first = pages.row(0)
    assert first is not None and first.id == numbered_run(249).id


@given(
    st.integers(1, 250),
    st.dictionaries(st.integers(0, 249), st.integers(1, 130), max_size=4),
    st.integers(0, 3),
)
def test_runs_of_unfolded_groups_move_the_rows_below_them(
    number: int, below: dict[int, int], above: int
) -> None:
    ids = list(range(number))
    parts = {at: rows(range(1000 * (at + 1), 1000 * (at + 1) + many)) for at, many in below.items()}
    parts = {at: found for at, found in parts.items() if at < number}
    told = answer(ids, 1, [0, 1, 2])
    told = replace(told, unfolded=list(parts.items()), runs=number)
    extras = rows(range(900_000, 900_000 + above))
    pages = Pages().after(told).below(extras)
    wanted = [row.id for row in extras]
    for at in ids:
        wanted += [str(at), *(row.id for row in parts.get(at, ()))]
    assert len(pages) == len(wanted)
    assert [row.id for row in map(pages.row, range(len(pages))) if row is not None] == wanted
    assert [row.id for _, row in sorted(pages.known().items())] == wanted
    for place in (0, len(wanted) // 2, len(wanted) - 1):
        assert pages.find(wanted[place]) == place
    assert pages.pages_of(0, len(wanted) - 1) == tuple(range((number - 1) // PAGE + 1))
