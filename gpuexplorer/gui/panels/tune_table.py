"""The leaders of a tuning in a table: as the search sees them, then as the final left them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHeaderView

from gpuexplorer.charts.tuning import interval_words, standing_words
from gpuexplorer.charts.words import knob_words
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.tuning import Evaluation, Tuning
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.rows_table import LEFT, RIGHT, Column, RowsTable

COLUMNS = ("Configuration", "Time per launch", "× the best", "95 % interval", "Beside the best")
WIDTHS = (190, 120, 90, 130, None)
SIDES = (LEFT, RIGHT, RIGHT, RIGHT, LEFT)
TIPS = (
    "Block and tunables",
    "Median time of one launch, in seconds",
    "Its time over that of the fastest, measured in turns",
    "Of that ratio",
    "Whether it can be told from the fastest",
)
STANDING = 4
SHOWN_WHILE_SEARCHING = 12

Row = tuple[RunConfig, tuple[str, ...]]


class FinalTable(RowsTable):
    """One row a configuration, the fastest first; ``chosen`` carries the one double-clicked."""

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__("tuneTable", "The fastest configurations", 24)
        self.setToolTip("A double click sets the knobs to that configuration")
        self.set_columns([Column(*one) for one in zip(COLUMNS, TIPS, SIDES, WIDTHS, strict=True)])
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setSectionResizeMode(STANDING, QHeaderView.ResizeMode.Stretch)
        self.setMinimumHeight(120)
        self._configs: list[RunConfig] = []
        self._tuning: Tuning | None = None
        self.cellActivated.connect(lambda row, _: self.chosen.emit(self._configs[row]))

    def show_leaders(self, evaluations: Sequence[Evaluation]) -> None:
        """List the fastest of a search that goes on."""
        self._tuning = None
        latest = {e.config.key: e for e in evaluations if e.outcome == "measured"}
        leaders = sorted(latest.values(), key=lambda e: e.median_s or 0.0)[:SHOWN_WHILE_SEARCHING]
        best_s = leaders[0].median_s if leaders else None
        self._list([(e.config, _leader_words(e, best_s)) for e in leaders])

    def show_tuning(self, tuning: Tuning) -> None:
        """List the finalists; the chosen one is bold, those that are as good as the best green."""
        self._tuning = tuning
        rows: list[Row] = []
        for finalist in tuning.finalists:
            ratio = f"{finalist.ratio:.3f}" if finalist.ratio is not None else "–"
            words = (
                knob_words(finalist.config),
                quantity(finalist.median_s, "s"),
                ratio,
                interval_words(finalist),
                standing_words(finalist, tuning),
            )
            rows.append((finalist.config, words))
        self._list(rows)

    def _list(self, rows: Sequence[Row]) -> None:
        self._configs = [config for config, _ in rows]
        self.setRowCount(len(rows))
        bold = self._tuning.chosen if self._tuning is not None else None
        for row, (config, texts) in enumerate(rows):
            for column, text in enumerate(texts):
                item = self.put(row, column, text)
                font = item.font()
                font.setBold(config == bold)
                item.setFont(font)
        self.paint_rows()

    def paint_rows(self) -> None:
        """Colour those that cannot be told from the best."""
        tied = {f.config.key for f in self._tuning.tied} if self._tuning is not None else set()
        for row, config in enumerate(self._configs):
            item = self.item(row, STANDING)
            if item is not None:
                name = "good" if config.key in tied else "muted"
                item.setForeground(QColor(theme().colour(name)))


def _leader_words(evaluation: Evaluation, best_s: float | None) -> tuple[str, ...]:
    time_s = evaluation.median_s
    return (
        knob_words(evaluation.config),
        quantity(time_s, "s"),
        f"{time_s / best_s:.3f}" if time_s and best_s else "",
        "",
        "not measured in turns yet",
    )
