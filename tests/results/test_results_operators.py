"""The operators of an iteration as a table: one row each, brief on a terminal."""

from __future__ import annotations

import msgspec

from gpuexplorer.core import language
from gpuexplorer.core.sheet import Medium, told
from gpuexplorer.results.operators import BRIEF_NAME, sheet_of
from tests.support.operators import made_profile

FIGURES = ["self", "total", "share", "memory"]


def titles(sheet_on: Medium, *, gpu: bool, shapes: bool) -> list[str]:
    sheet = sheet_of(made_profile(gpu=gpu, shapes=shapes))
    return [column.title for column in sheet.columns_on(sheet_on)]


def test_columns_are_those_that_the_profile_has() -> None:
    for medium in (Medium.WINDOW, Medium.TERMINAL):
        assert titles(medium, gpu=False, shapes=False) == ["operator", "calls", *FIGURES]
        assert titles(medium, gpu=True, shapes=True) == [
            "operator", "calls", "GPU", "GPU total", *FIGURES, "shapes"
        ]  # fmt: skip


def test_names_of_operators_stay_in_every_language() -> None:
    profile = made_profile()
    one = msgspec.structs.replace(profile.operators[0], name="aten::sum")
    language.use("zh_CN")
    try:
        assert language.tr("sum") != "sum", "a word of ours, too"
        sheet = told(sheet_of(msgspec.structs.replace(profile, operators=(one,))))
    finally:
        language.use(language.ENGLISH)
    (row,) = sheet.rows
    assert (row.title, sheet.texts(row, Medium.WINDOW)[0]) == ("sum", "sum")
    assert sheet.columns[0].title == "算子"


def test_rows_say_what_an_operator_takes_and_a_terminal_cuts_long_names() -> None:
    profile = made_profile(shapes=True)
    long = msgspec.structs.replace(profile.operators[0], name="aten::" + "x" * 120)
    sheet = sheet_of(msgspec.structs.replace(profile, operators=(long, *profile.operators)), 2)
    first, second = sheet.rows
    assert sheet.texts(first, Medium.WINDOW)[0] == "x" * 120
    assert sheet.texts(first, Medium.TERMINAL)[0] == "x" * (BRIEF_NAME - 1) + "…"
    assert sheet.texts(second, Medium.TERMINAL) == [
        "addmm", "2", "700 µs", "700 µs", "449 µs", "450 µs", "100 %", "+4.10 kB", "8×32, 32×128"
    ]  # fmt: skip
    assert second.tip == "aten::addmm\n8×32, 32×128\nmatrix products"
    assert sheet.row_of("aten::addmm") is second
