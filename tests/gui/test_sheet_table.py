"""A sheet on screen: order, copying, widths, and the row that belongs to a chart's mark."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpuexplorer.core import language
from gpuexplorer.core.sheet import Cell, Column, Medium, Row, Sheet
from gpuexplorer.gui.show.table import SheetModel, SheetTable
from gpuexplorer.gui.theme import make_theme, theme

COLUMNS = (
    Column("name", "name", "What it is", words=True),
    Column("time", "time", "How long it took", "s"),
    Column("raw", fields={"raw_s": ""}, media=Medium(0)),
    Column("remarks", "remarks", words=True),
)


def row(name: str, time_s: float | None, *, note: str = "") -> Row:
    words = f"{time_s * 1e3:g} ms" if time_s is not None else "–"
    cells = {"name": Cell(name, name), "time": Cell(words, time_s)}
    marks = {f"key {name}": f"{name} in words"} if time_s is not None else {}
    return Row(name, cells, f"tip of {name}", marks, note, "skipped" if note else "")


ROWS = (row("nine", 9e-3), row("none", None, note="it failed"), row("ten", 10e-3), row("one", 1e-3))


@pytest.fixture
def table(qtbot: QtBot, qapp: QApplication) -> SheetTable:
    make_theme(qapp, "light")
    made = SheetTable("sheet", "Figures", "Double click does it.")
    qtbot.addWidget(made)
    made.resize(500, 300)
    made.show_sheet(Sheet("A sheet", COLUMNS, ROWS))
    made.show()
    return made


def test_what_there_is_no_room_for_is_told_with_the_languages_colon(table: SheetTable) -> None:
    model = table.model()
    assert isinstance(model, SheetModel)
    model.left_out = frozenset({1})
    tip = Qt.ItemDataRole.ToolTipRole
    assert "time: 9 ms" in model.index(0, 0).data(tip)
    language.use("zh_CN")
    try:
        assert "时间：9 ms" in model.index(0, 0).data(tip)
    finally:
        language.use(language.ENGLISH)


def names(table: SheetTable) -> list[str]:
    model = table.model()
    return [str(model.index(place, 0).data()) for place in range(model.rowCount())]


def test_columns_that_wider_words_made_wide_give_that_back_rather_than_scroll(
    table: SheetTable,
) -> None:
    table.show_sheet(Sheet("A sheet", COLUMNS, (row("a name that takes much room", 9e-3),)))
    wide = table.columnWidth(0)
    table.resize(table.least_width + 4, 300)
    QApplication.processEvents()
    assert table.columnWidth(0) == wide and table.horizontalScrollBar().maximum() == 0
    table.show_sheet(Sheet("A sheet", COLUMNS, ROWS))
    table.resize(table.least_width + 4, 300)
    QApplication.processEvents()
    assert table.columnWidth(0) < wide and table.horizontalScrollBar().maximum() == 0


def test_figures_are_sorted_by_value_and_what_is_unknown_is_last_either_way(
    table: SheetTable,
) -> None:
    assert names(table) == ["nine", "none", "ten", "one"]
    table.sortByColumn(1, Qt.SortOrder.AscendingOrder)
    assert names(table) == ["one", "nine", "ten", "none"]
    table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    assert names(table) == ["ten", "nine", "one", "none"]
    table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    assert names(table) == ["nine", "none", "one", "ten"]


def test_a_growing_sheet_keeps_its_order_and_the_row_that_is_chosen(table: SheetTable) -> None:
    table.sortByColumn(1, Qt.SortOrder.AscendingOrder)
    table.show_key("key nine")
    table.show_sheet(Sheet("A sheet", COLUMNS, (*ROWS, row("two", 2e-3))))
    assert names(table) == ["one", "two", "nine", "ten", "none"]
    assert table.key == "key nine" and table.currentIndex().row() == 2
    table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    assert table.key == "key nine" and table.currentIndex().row() == 1


def test_rows_that_only_change_stay_where_the_user_is(table: SheetTable, qtbot: QtBot) -> None:
    marked = tuple(one for one in ROWS if one.marks)
    table.show_sheet(Sheet("A sheet", COLUMNS, marked))
    table.sortByColumn(1, Qt.SortOrder.AscendingOrder)
    table.show_key("key one")
    slower = row("one", 20e-3)
    with qtbot.assertNotEmitted(table.model().modelReset):
        table.show_sheet(Sheet("A sheet", COLUMNS, (marked[0], marked[1], slower)))
    assert names(table) == ["nine", "ten", "one"]
    assert table.key == "key one" and table.currentIndex().row() == 2


def test_a_mark_chooses_its_row_and_a_row_its_mark(table: SheetTable, qtbot: QtBot) -> None:
    with qtbot.waitSignal(table.current) as moved:
        table.show_key("key ten")
    assert moved.args == ["key ten"] and table.currentIndex().row() == 2
    table.show_key("of another chart")
    assert table.key == "key ten"
    with qtbot.waitSignal(table.chosen) as chosen:
        table.activated.emit(table.model().index(3, 1))
    assert chosen.args == ["key one"]
    with qtbot.assertNotEmitted(table.chosen):
        table.activated.emit(table.model().index(1, 1))


def test_a_copy_is_the_table_as_it_is_seen_with_tabs(table: SheetTable) -> None:
    table.sortByColumn(1, Qt.SortOrder.AscendingOrder)
    QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text().splitlines() == [
        "name\ttime\tremarks", "one\t1 ms\t", "nine\t9 ms\t", "ten\t10 ms\t", "none\t–\tit failed",
    ]  # fmt: skip


def test_cells_and_heads_say_what_they_are(table: SheetTable) -> None:
    model = table.model()
    tip = Qt.ItemDataRole.ToolTipRole
    assert model.headerData(1, Qt.Orientation.Horizontal, tip) == "How long it took (unit: s)"
    assert model.index(0, 0).data(tip) == "tip of nine\nDouble click does it."
    assert model.index(1, 0).data(tip) == "tip of none"
    assert model.index(1, 2).data() == "it failed"
    assert model.index(1, 2).data(Qt.ItemDataRole.ForegroundRole) == theme().q("muted")
    metrics = table.fontMetrics()
    assert table.columnWidth(1) > metrics.horizontalAdvance("10 ms")


def test_the_least_needed_columns_give_way_to_the_others_and_tips_have_them(
    table: SheetTable,
) -> None:
    columns = (
        COLUMNS[0], COLUMNS[1], Column("rate", "rate of it", gives_way=2),
        Column("interval", "95 % interval", gives_way=1),
        Column("none", "nothing to say of it", words=True, gives_way=3), COLUMNS[3],
    )  # fmt: skip
    cells = {"rate": Cell("2.5 GB/s", 2.5e9), "interval": Cell("1.1–1.3", 1.2)}
    rows = [Row(r.title, {**r.cells, **cells}, r.tip, r.marks, r.note) for r in ROWS]
    table.show_sheet(Sheet("A sheet", columns, tuple(rows)))

    def gone() -> list[str]:
        return [c.name for n, c in enumerate(columns) if table.isColumnHidden(n)]

    found: list[list[str]] = []
    for width in range(table.whole_width + 40, 100, -10):
        table.resize(width, 300)
        QApplication.processEvents()
        assert table.horizontalScrollBar().maximum() == 0, width
        if gone() not in found:
            found.append(gone())
        if len(found) == 4:
            break
    assert found == [[], ["none"], ["interval", "none"], ["rate", "interval", "none"]]
    tip = table.model().index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert tip == "tip of nine\nrate of it: 2.5 GB/s\n95 % interval: 1.1–1.3\nDouble click does it."
    table.resize(900, 300)
    QApplication.processEvents()
    assert gone() == [] and table.columnWidth(2) > 40


def test_names_are_read_where_the_columns_are_scrolled(table: SheetTable) -> None:
    figures = [Column(f"c{number}", f"column {number}") for number in range(5)]
    cells = {column.name: Cell("1.23 ms", 1e-3) for column in figures}
    rows = [Row("", {"switch": Cell("off"), **cells}, "", {}, "", "")]
    table.show_sheet(Sheet("A sheet", (Column("switch", "a long title"), *figures), tuple(rows)))
    metrics = table.fontMetrics()
    for width in (900, 300, 200):
        table.resize(width, 300)
        QApplication.processEvents()
        assert table.columnWidth(0) > metrics.horizontalAdvance("off") + 12, width
    assert table.horizontalScrollBar().maximum() > 0


def test_what_a_compiler_said_is_shown_as_it_is_in_the_tip(table: SheetTable) -> None:
    said = "no <b>operator</b> for a vector<float>"
    table.show_sheet(Sheet("A sheet", COLUMNS, (Row("one", {}, said, {}, said, "skipped"),)))
    tip = str(table.model().index(0, 0).data(Qt.ItemDataRole.ToolTipRole))
    assert "<b>" not in tip and "&lt;b&gt;operator" in tip
