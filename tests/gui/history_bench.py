"""The history's panel on a store of its own, without an engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.model.history import History
from gpuexplorer.gui.model.history_columns import place_of
from gpuexplorer.gui.panels.history import HistoryPanel
from gpuexplorer.gui.panels.history_model import HistoryModel
from gpuexplorer.gui.store_worker import StoreWorker
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.history.store import Store
from tests.gui.driver import until
from tests.support.history import numbered_run


@dataclass
class Bench:
    """The panel on a store of its own, without an engine."""

    path: Path
    history: History
    model: HistoryModel
    runs: StoreWorker
    panel: HistoryPanel

    def ids(self) -> list[str]:
        """Return the ids of the rows that are known, in order."""
        rows = [self.model.row(place) for place in range(self.model.rowCount())]
        return [row.id for row in rows if row is not None]

    def shown(self, key: str) -> list[str]:
        """Return what a column shows, row by row."""
        model, column = self.model, place_of(key)
        return [str(model.index(row, column).data()) for row in range(model.rowCount())]

    def choose(self, *ids: str) -> None:
        """Choose these runs."""
        places = [self.model.find(run_id) for run_id in ids]
        self.panel.table.choose([place for place in places if place is not None])


@contextmanager
def made_bench(tmp_path: Path, qapp: QApplication, qtbot: QtBot) -> Iterator[Bench]:
    """Yield six runs of two workloads in a store, and the panel that shows them."""
    make_theme(qapp, "light")
    path = tmp_path / "history.sqlite"
    with Store.open(path) as store:
        store.add_all(
            numbered_run(i, workload="matmul" if i % 2 else "transpose", size={"N": 64 * (i + 1)})
            for i in range(6)
        )
    history = History()
    runs = StoreWorker(lambda: Store.open_to_read(path, busy_s=0.2))
    model = HistoryModel(history, runs)
    panel = HistoryPanel(history, model, runs)
    panel.resize(1280, 400)
    panel.show()
    runs.start()
    until(qtbot, lambda: model.rowCount() == 6)
    yield Bench(path, history, model, runs, panel)
    panel.close_down()
    assert runs.close()
    panel.deleteLater()


def numbers(*wanted: int) -> list[str]:
    return [numbered_run(i).id for i in wanted]
