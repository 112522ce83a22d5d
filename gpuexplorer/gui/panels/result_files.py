"""How sweeps are written to files: as a document, a table or a chart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpuexplorer.core.errors import InputError
from gpuexplorer.gui.panels.result_tab import Exported

if TYPE_CHECKING:
    from pathlib import Path

    from gpuexplorer.charts.spec import ChartSpec
    from gpuexplorer.charts.sweep_points import Figure
    from gpuexplorer.core.sweep import SweepDocument


def sweep_files(
    document: Callable[[], SweepDocument], stem: str, figure: Figure | None = None
) -> Exported:
    """Return how a sweep is written, as a document, a table or a chart of a figure.

    ``document`` makes it, in any thread, and raises ExplorerError when there is nothing.
    """
    from gpuexplorer.core.sweep import sweep_json

    def csv(path: Path) -> None:
        from gpuexplorer.exchange.csv_table import write_sheet
        from gpuexplorer.results.sweep import sheet_of

        write_sheet(sheet_of(document()), path)

    def chart() -> ChartSpec:
        from gpuexplorer.charts.sweep import chart_of_sweep

        found = document()
        if not found.measured:
            raise InputError("nothing of the sweep was measured", remedy="let it measure first")
        return chart_of_sweep(found, figure=figure)

    return Exported(stem, lambda: sweep_json(document()), csv, chart)
