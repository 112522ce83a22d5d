"""The history paints the rows that changed or came into view, and keeps texts it laid out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QFont, QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.model.history import History
from gpuexplorer.gui.model.history_columns import place_of
from gpuexplorer.gui.panels import history_paint, history_table
from gpuexplorer.gui.panels.history import HistoryPanel
from gpuexplorer.gui.panels.history_model import HistoryModel
from gpuexplorer.gui.panels.history_paint import RowPainter
from gpuexplorer.gui.store_worker import StoreWorker
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.history.store import Store
from tests.gui.driver import until
from tests.support.history import numbered_run

WIDTH = 200


def kept(painter: RowPainter) -> set[str]:
    return {words for words, _ in (*painter._texts, *painter._before)}


def test_texts_that_are_drawn_no_more_go(qtbot: QtBot) -> None:
    font = QFont()
    painter, metrics = RowPainter(), QFontMetrics(font)
    painter.set_font(font)
    first = painter._text("drawn on", WIDTH, metrics)
    for turn in range(8):
        for number in range(50):
            painter._text(f"{turn}: {number}", WIDTH, metrics)
        assert painter._text("drawn on", WIDTH, metrics) is first  # not laid out again
        painter.let_go()  # as the window has it do now and then
    assert len(kept(painter)) <= 2 * 50 + 1
    assert "7: 49" in kept(painter) and "0: 0" not in kept(painter)


def test_texts_are_kept_up_to_a_number(qtbot: QtBot) -> None:
    font = QFont()
    painter, metrics = RowPainter(), QFontMetrics(font)
    painter.set_font(font)
    for number in range(3 * history_paint.MAX_TEXTS):
        painter._text(str(number), WIDTH, metrics)
    assert len(kept(painter)) <= 2 * history_paint.MAX_TEXTS
    whole, width = painter._text("a note", 1000, metrics)
    cut, room = painter._text("a note that is much too long for so narrow a column", 60, metrics)
    assert whole.text() == "a note" and width > 0
    assert cut.text().endswith("…") and room <= 60


def test_a_table_at_rest_keeps_no_texts(qtbot: QtBot) -> None:
    font = QFont()
    painter, metrics = RowPainter(), QFontMetrics(font)
    painter.set_font(font)
    first = painter._text("in sight", WIDTH, metrics)
    painter._text("out of sight", WIDTH, metrics)
    painter.let_go()
    assert painter._text("in sight", WIDTH, metrics) is first
    painter.let_go()
    assert kept(painter) == {"in sight"}
    painter.let_go()
    assert not kept(painter)


class Painted:
    """A history of 120 runs and the places of the rows that were painted."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with Store.open(path) as store:
            store.add_all(numbered_run(i) for i in range(120))
        history = History()
        self.runs = StoreWorker(lambda: Store.open_to_read(path))
        self.model = HistoryModel(history, self.runs)
        self.panel = HistoryPanel(history, self.model, self.runs)
        self.panel.resize(1280, 400)
        self.panel.show()
        self.rows: list[int] = []
        painted = self.model.painted

        def noted(place: int) -> object:
            self.rows.append(place)
            return painted(place)

        monkeypatch.setattr(self.model, "painted", noted)
        self.runs.start()


@pytest.fixture
def painted(
    tmp_path: Path, qapp: QApplication, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Painted]:
    make_theme(qapp, "light")
    found = Painted(tmp_path / "history.sqlite", monkeypatch)
    boxes = found.panel.bar.boxes
    until(qtbot, lambda: 3 in found.rows and boxes["workload"].count() > 1)
    yield found
    found.panel.close_down()
    assert found.runs.close()
    found.panel.deleteLater()


def test_scrolling_paints_the_rows_that_come_into_view(qtbot: QtBot, painted: Painted) -> None:
    table = painted.panel.table
    bar = table.verticalScrollBar()

    def those_alone() -> bool:
        QApplication.processEvents()
        last = table.rowAt(table.viewport().height() - 1)
        painted.rows.clear()
        bar.setValue(bar.value() + 3 if bar.value() < bar.maximum() else 0)
        QApplication.processEvents()
        return bool(painted.rows) and min(painted.rows) >= last - 1

    until(qtbot, those_alone)  # once the window is laid out


def test_a_screen_of_rows_is_painted_in_parts_where_it_takes_long(
    qtbot: QtBot, painted: Painted, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = painted.panel.table
    paints: list[list[int]] = []
    paint = table.paintEvent

    def noted(event: QPaintEvent) -> None:
        painted.rows.clear()
        paint(event)
        paints.append(list(painted.rows))

    monkeypatch.setattr(table, "paintEvent", noted)
    monkeypatch.setattr(history_table, "PART_S", 0.0)
    table.verticalScrollBar().setValue(table.verticalScrollBar().maximum())
    last = painted.model.rowCount() - 1
    until(qtbot, lambda: any(last in rows for rows in paints))
    assert all(len(rows) == 1 for rows in paints), "each goes on where the one before ended"
    assert len(paints) > 3
    paints.clear()
    table.viewport().grab()
    assert any(last in rows for rows in paints), "a picture has all of them"


def test_a_run_that_changed_is_painted_alone(qtbot: QtBot, painted: Painted) -> None:
    row = painted.model.row(4)
    assert row is not None
    touched: list[tuple[int, int]] = []
    painted.model.dataChanged.connect(lambda first, last: touched.append((first.row(), last.row())))
    painted.runs.do(lambda store: store.note(row.id, "the fan was off"))
    note = painted.model.index(4, place_of("note"))
    until(qtbot, lambda: note.data() == "the fan was off")
    assert set(touched) == {(4, 4)}

    def it_alone() -> bool:
        QApplication.processEvents()
        painted.rows.clear()
        painted.model.dataChanged.emit(painted.model.index(4, 0), note)
        QApplication.processEvents()
        return bool(painted.rows) and set(painted.rows) <= {4, 5}  # Qt marks a pixel more

    until(qtbot, it_alone)
