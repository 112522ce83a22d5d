"""Groups in the window's history: one row each, unfolded to its runs, opened in its view again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpuexplorer.core.compared import document_and_runs as comparison_parts
from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.studies import document_and_runs as study_parts
from gpuexplorer.core.tuning import Tuning
from gpuexplorer.gui.model.compare_file import HeldComparison
from gpuexplorer.gui.model.history import History
from gpuexplorer.gui.model.history_columns import place_of
from gpuexplorer.gui.model.history_pages import View
from gpuexplorer.gui.model.part_file import HISTORY
from gpuexplorer.gui.panels.history import HistoryPanel
from gpuexplorer.gui.panels.history_model import HistoryModel
from gpuexplorer.gui.store_worker import StoreWorker
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.history.model import FOLDED, Query
from gpuexplorer.history.store import Store
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until
from tests.results.test_results_tuning import TUNING
from tests.support.exchange import made_comparison, made_run, made_sweep
from tests.support.history import numbered_run
from tests.support.lab_studies import STUDIES

Panel = tuple[HistoryPanel, HistoryModel, Path, str]


@pytest.fixture
def bench(tmp_path: Path, qapp: QApplication, qtbot: QtBot) -> Iterator[Panel]:
    """Runs 0 to 9 in a store, 2 to 5 of which are a sweep, and the panel that shows them."""
    make_theme(qapp, "light")
    path = tmp_path / "history.sqlite"
    with Store.open(path) as store:
        group = store.begin_group("sweep", {})
        store.add_all(numbered_run(n) for n in (0, 1, 6, 7, 8, 9))
        store.add_all((numbered_run(n, block=(1 << n, 1, 1)) for n in range(2, 6)), group=group)
        store.change_group(group, finished=True)
    runs = StoreWorker(lambda: Store.open_to_read(path))
    model = HistoryModel(History(), runs)
    panel = HistoryPanel(History(), model, runs)
    panel.resize(1280, 400)
    panel.show()
    runs.start()
    until(qtbot, lambda: model.rowCount() == 7)
    yield panel, model, path, group
    panel.close_down()
    assert runs.close()
    panel.deleteLater()


def ids(model: HistoryModel) -> list[str]:
    rows = [model.row(place) for place in range(model.rowCount())]
    return [row.id for row in rows if row is not None]


def numbers(*wanted: int) -> list[str]:
    return [numbered_run(n).id for n in wanted]


def cell(model: HistoryModel, place: int, column: str) -> str:
    return str(model.index(place, place_of(column)).data())


def test_keys_show_and_hide_the_runs_of_a_group(qtbot: QtBot, bench: Panel) -> None:
    panel, model, _, group = bench
    table = panel.table
    assert ids(model) == [*numbers(9, 8, 7, 6), group, *numbers(1, 0)]
    assert panel.bar.summary.text() == "10 runs"
    assert (cell(model, 4, "kind"), cell(model, 4, "block")) == ("sweep, 4 runs", "4 blocks")
    assert cell(model, 4, "time").startswith("▸")
    table.setFocus()
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Right):  # no row is current yet
        QTest.keyClick(table, key)
    assert model.rowCount() == 7
    table.choose([4])
    QTest.keyClick(table, Qt.Key.Key_Right)
    until(qtbot, lambda: model.rowCount() == 11)
    assert ids(model) == [*numbers(9, 8, 7, 6), group, *numbers(5, 4, 3, 2, 1, 0)]
    assert cell(model, 4, "time").startswith("▾")
    assert table.chosen_places() == [4] and model.find(numbers(4)[0]) == 6
    QTest.keyClick(table, Qt.Key.Key_Down)
    QTest.keyClick(table, Qt.Key.Key_Left)
    until(qtbot, lambda: model.rowCount() == 7)
    assert table.chosen_places() == [4]


def test_a_click_on_its_mark_unfolds_it(qtbot: QtBot, bench: Panel) -> None:
    panel, model, _, group = bench
    table = panel.table
    at = table.visualRect(model.index(4, place_of("time")))
    QTest.mouseClick(
        table.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(at.left() + 6, at.center().y())
    )
    until(qtbot, lambda: model.rowCount() == 11)
    assert model.view.unfolded == {group}


def test_sorted_by_anything_but_time_every_run_has_its_row(qtbot: QtBot, bench: Panel) -> None:
    _panel, model, *_ = bench
    model.show_view(View(sort="median", descending=False))
    until(qtbot, lambda: model.rowCount() == 10)
    assert ids(model) == numbers(*range(10))


def test_a_search_shows_the_group_with_the_runs_it_finds(qtbot: QtBot, bench: Panel) -> None:
    panel, model, _, group = bench
    panel.bar.search.setText("8x1")
    until(qtbot, lambda: ids(model) == [group])
    assert cell(model, 0, "kind") == "sweep, 1 run"
    assert panel.bar.summary.text() == "1 run found"


def test_enter_opens_a_group_and_restores_a_run(qtbot: QtBot, bench: Panel) -> None:
    panel, _model, _, group = bench
    table = panel.table
    table.setFocus()
    table.choose([4])
    with qtbot.waitSignal(panel.acts.open_asked) as opened:
        QTest.keyClick(table, Qt.Key.Key_Return)
    assert opened.args == [group]
    table.choose([0])
    with qtbot.waitSignal(panel.acts.restore_asked) as restored:
        QTest.keyClick(table, Qt.Key.Key_Return)
    assert restored.args[0] == numbered_run(9).config


def test_what_is_done_to_its_row_is_done_to_its_runs(qtbot: QtBot, bench: Panel) -> None:
    panel, model, path, group = bench
    panel.table.choose([4])
    panel.acts.ask("star")
    with Store.open(path) as store:
        until(qtbot, lambda: store.count(Query(starred=True)) == 4)
        panel.acts.ask("delete")
        until(qtbot, lambda: store.count() == 6)
    until(qtbot, lambda: ids(model) == numbers(9, 8, 7, 6, 1, 0))
    panel.acts.undo()
    until(qtbot, lambda: group in ids(model))


def test_its_menu_offers_what_a_group_can_do(bench: Panel) -> None:
    panel, *_ = bench
    panel.table.choose([4])
    menu = panel.acts.menu()
    acts = {action.objectName(): action for action in menu.actions()}
    assert acts["history_restore"].text() == "Open in its view"
    assert acts["history_delete"].text() == "Delete 4 runs"
    assert not acts["history_ghost"].isEnabled() and not acts["history_export"].isEnabled()
    menu.deleteLater()


def test_dragged_it_carries_no_id_of_a_run(bench: Panel) -> None:
    _, model, _, _group = bench
    data = model.mimeData([model.index(place, 1) for place in (3, 4)])
    assert bytes(data.data(data.formats()[0]).data()).decode() == numbers(6)[0]


# ---- opened in its view


def sweep_parts() -> tuple[dict[str, Any], list[RunResult]]:
    sweep = made_sweep()
    skipped = {one.config.key: one.skipped for one in sweep.runs if one.skipped is not None}
    axes = {"block": [[64, 32, 1], *sweep.axes["block"]]}
    document = {
        "schema": sweep.schema, "axes": axes, "skipped": skipped, "points": 4, "order": ["block"],
        "cannot": {"too many threads": [0]},
    }  # fmt: skip
    return document, sweep.measured


def map_parts() -> tuple[dict[str, Any], list[RunResult]]:
    runs = [made_run(n) for n in range(3)]  # of 16×1, 16×2, 16×4
    request = {"workload": "matmul", "variant": "naive", "size": {"N": 512}}
    return {
        "schema": "gpuexplorer/block-map/1", "request": request, "x": [16], "y": [1, 2, 4, 8],
        "z": 1, "best": [16, 1, 1], "ties": [[16, 2, 1]],
        "beside": [
            {"block": [16, 1, 1], "looked_s": 1e-3, "turns": 12, "ratio": None},
            {"block": [16, 4, 1], "looked_s": 2e-3, "turns": 6, "ratio": {
                "ratio": 1.5, "ci95_low": 1.4, "ci95_high": 1.6, "pairs": 6, "verdict": "slower"}},
        ],
    }, runs  # fmt: skip


def tuning_parts() -> tuple[dict[str, Any], list[RunResult]]:
    return msgspec.to_builtins(TUNING), [made_run(0)]


GROUPS: dict[str, Callable[[], tuple[dict[str, Any], list[RunResult]]]] = {
    "sweep": sweep_parts,
    "block map": map_parts,
    "tuning": tuning_parts,
    "comparison": lambda: comparison_parts(made_comparison()),
    "study": lambda: study_parts(STUDIES["precision"]),
}


@pytest.mark.parametrize("kind", FOLDED)
def test_it_is_opened_in_its_view_after_a_restart(
    qtbot: QtBot, open_window: OpenWindow, kind: str
) -> None:
    document, results = GROUPS[kind]()
    plain = msgspec.json.decode(msgspec.json.encode(document))
    with Store.open() as store:
        group = store.add_group(kind, plain, results)
    window = open_window()
    table, model = window.panels.history.table, window.session.history_model
    until(qtbot, lambda: model.find(group) is not None)
    until(qtbot, lambda: cell(model, 0, "device") == results[0].config.device)
    table.doubleClicked.emit(model.index(model.find(group) or 0, place_of("workload")))
    panels = window.panels
    tab = {
        "sweep": panels.sweep, "block map": panels.block_map, "tuning": panels.tune,
        "comparison": panels.compare, "study": panels.lab,
    }[kind]  # fmt: skip
    until(qtbot, lambda: panels.places.current is tab and tab.held() is not None)
    assert window.commands.export.isEnabled()
    held: Any = tab.held()
    if kind == "comparison":
        assert isinstance(held, HeldComparison)
        assert held.result is not None and held.result.contestants == made_comparison().contestants
    elif kind == "study":
        assert held[0].result == STUDIES["precision"] and held[0].origin == HISTORY
    elif kind == "tuning":
        assert isinstance(held.result.tuning, Tuning) and held.result.tuning == TUNING
    elif kind == "sweep":
        found = held.to_document()
        refused, *others = found.runs
        assert [one.values for one in others] == [one.values for one in made_sweep().runs]
        assert others[2].skipped == "too large"
        assert (refused.skipped, refused.why) == ("too many threads", "cannot")
        assert refused.values == {"block": [64, 32, 1]} and refused.config.block == (64, 32, 1)
    else:
        surface = held.surface
        assert (surface.best, surface.ties) == ((16, 1, 1), {(16, 2, 1)})
        assert [cell.time_s for cell in surface.cells] == [
            *(run.timing.median_s for run in results), None,
        ]  # fmt: skip
        beside = [(cell.looked_s, cell.turns) for cell in surface.cells]
        assert beside == [(1e-3, 12), (None, 0), (2e-3, 6), (None, 0)]
        assert surface.cells[2].ratio == Comparison(1.5, 1.4, 1.6, 6, "slower")


def test_a_group_that_cannot_be_shown_says_why(qtbot: QtBot, open_window: OpenWindow) -> None:
    with Store.open() as store:
        group = store.add_group("sweep", {"schema": "gpuexplorer/sweep/1"}, [made_run(0)])
    window = open_window()
    model = window.session.history_model
    until(qtbot, lambda: model.find(group) is not None)
    window.panels.history.table.choose([model.find(group) or 0])
    window.panels.history.acts.ask("restore")
    banner = window.panels.banner
    until(qtbot, lambda: "its axes are missing" in banner.text)
    assert window.panels.sweep.held() is None
