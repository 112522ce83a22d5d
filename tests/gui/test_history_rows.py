"""This window's own runs as rows: what finds them before the store holds them."""

from __future__ import annotations

from datetime import datetime

import msgspec
import pytest

from gpuexplorer.core.language import ENGLISH, tr, use
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.model.history_pages import View
from gpuexplorer.gui.model.history_rows import ordered
from gpuexplorer.history.model import Query
from gpuexplorer.history.searching import IN_MONTHS
from gpuexplorer.history.store import Store
from tests.history.conftest import made_run


def made_runs() -> list[RunResult]:
    """Return a run of each outcome."""
    good, bad, doubtful, ended = (
        made_run(number, variant="tiled", block=(16, 8, 1)) for number in range(1, 5)
    )
    assert bad.verification is not None
    replace = msgspec.structs.replace
    return [
        good,
        replace(bad, verification=replace(bad.verification, ok=False)),
        replace(doubtful, timing=replace(doubtful.timing, suspect="faster than memory allows")),
        replace(ended, timing=replace(ended.timing, stopped_by="interrupted"), verification=None),
    ]


@pytest.mark.parametrize("language", [ENGLISH, "zh_CN"])
def test_a_run_that_is_not_stored_yet_is_found_by_what_finds_it_later(language: str) -> None:
    runs = made_runs()
    began = datetime.fromisoformat(runs[0].time_utc).astimezone()
    median = quantity(runs[0].timing.median_s, "s")
    use(language)
    try:
        with Store.open("sqlite://") as store:
            for run in runs:
                store.add(run)
            store.star(runs[0].id)
            rows = store.find()
            states = ("✓ verified", "not verified", "✗ wrong", "⚠ suspect", "● running", "crash")
            texts = (
                "tiled", "16×8", "16x8 tiled", "naive", runs[0].id[:-2], "tiled 16x9", "library",
                *states, *map(tr, states), "verified", "wrong tiled", tr("yesterday"), "★",
                f"{began:%H:%M}", f"{began:%Y-%m-%d}", f"tiled {began:%Y-%m}", "2019-05",
                tr(IN_MONTHS[began.month - 1](began.day, f"{began:%H:%M}")), median,
                f"{median} 16x8", "3.33 ns", quantity(runs[0].throughput.flop_per_s, "FLOP/s"),
            )  # fmt: skip
            for text in texts:
                query = Query(text=text)
                stored = {row.id for row in store.find(query)}
                found = {row.id for row in ordered(rows, View(query=query))}
                assert found == stored, text
    finally:
        use(ENGLISH)
