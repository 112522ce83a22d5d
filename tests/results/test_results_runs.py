"""Several runs as a table: ranked, with what tells them apart and what was noted on them."""

from __future__ import annotations

import msgspec

from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sheet import Medium
from gpuexplorer.exchange.table import Label
from gpuexplorer.results.runs import sheet_of
from tests.support.results import made_result


def run(
    width: int, median_s: float, *, suspect: str | None = None, error: float = 0.005
) -> RunResult:
    made = made_result(samples=20, block=(width, 1, 1))
    timing = msgspec.structs.replace(
        made.timing,
        median_s=median_s,
        suspect=suspect,
        ci95_low_s=median_s * (1 - error),
        ci95_high_s=median_s * (1 + error),
    )
    return msgspec.structs.replace(made, id=f"run {width}", timing=timing)


def test_the_fastest_comes_first_and_what_cannot_be_true_last() -> None:
    sheet = sheet_of([run(8, 4e-3), run(16, 2e-3), run(32, 1e-9, suspect="too fast")], {})
    assert [row.key for row in sheet.rows] == ["run 16", "run 8", "run 32"]
    assert [row.cells["ratio"].text for row in sheet.rows] == [
        "fastest",
        "2.00× slower (1.99–2.01)",
        "–",
    ]
    assert [row.cells["result"].text for row in sheet.rows] == ["verified", "verified", "SUSPECT"]


def test_a_run_that_the_intervals_do_not_tell_from_the_fastest_is_said_to_be_one() -> None:
    sheet = sheet_of([run(8, 2e-3, error=0.1), run(16, 2.05e-3, error=0.1)], {})
    assert [row.cells["ratio"].text for row in sheet.rows] == ["fastest", "can't tell (0.889–1.18)"]


def test_a_run_stands_beside_the_fastest_of_its_own_problem() -> None:
    small, large = run(8, 1e-3), run(16, 4e-3)
    slow = run(32, 8e-3)
    large, slow = (
        msgspec.structs.replace(one, config=msgspec.structs.replace(one.config, size={"N": 1024}))
        for one in (large, slow)
    )
    sheet = sheet_of([slow, small, large], {})
    assert [(row.key, row.cells["ratio"].text) for row in sheet.rows] == [
        ("run 8", "fastest"), ("run 16", "fastest"), ("run 32", "2.00× slower (1.99–2.01)"),
    ]  # fmt: skip


def test_columns_are_what_differs_and_what_was_noted() -> None:
    runs = [run(8, 4e-3), run(16, 2e-3)]
    titles = [column.title for column in sheet_of(runs, {}).columns_on(Medium.PAGE)]
    assert titles[:2] == ["block", "median"] and titles[-1] == "result"
    noted = sheet_of(runs, {"run 8": Label(note="cold room")})
    assert noted.columns[-1].title == "note"
    assert [row.cells["note"].text for row in noted.rows] == ["", "cold room"]
    other = msgspec.structs.replace(
        runs[1], device=msgspec.structs.replace(runs[1].device, name="Another CPU")
    )
    sheet = sheet_of([runs[0], other], {})
    assert [row.cells["device"].text for row in sheet.rows] == ["Another CPU", "Example CPU"]
