"""Rows of the history that are chosen at one moment, for what is done with them then or later."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpuexplorer.gui.panels.history_model import HistoryModel
from gpuexplorer.gui.panels.history_table import MAX_CHOSEN
from gpuexplorer.history.model import Row


class Chosen:
    """The rows at some places, whatever stands there later.

    Those that are not known yet are asked of the store; they are lost where the list changes first.
    """

    def __init__(self, model: HistoryModel, places: Sequence[int], number: int) -> None:
        self.number = number
        """How many are chosen; where these are too many, ``places`` need not be all."""
        self.query = model.view.query
        """What the runs are that they were chosen among."""
        self._model = model
        self._rows: list[Row] | None = None
        self._are_lost = False
        self._wanted: tuple[Callable[[list[Row]], None], Callable[[], None]] | None = None
        if number <= MAX_CHOSEN:
            model.with_rows(places, self._take, self._lose)

    def use(self, then: Callable[[list[Row]], None], lost: Callable[[], None]) -> None:
        """Call ``then`` with the rows, now or once they are known, or ``lost`` instead."""
        self._wanted = then, lost
        self._tell()

    def _take(self, rows: list[Row]) -> None:
        self._rows = rows
        self._tell()

    def _lose(self) -> None:
        self._are_lost = True
        self._tell()

    def _tell(self) -> None:
        if self._wanted is None:
            return
        then, lost = self._wanted
        if self._are_lost:
            lost()
        elif self._rows is not None:
            then([self._model.latest(row) if row.running else row for row in self._rows])
