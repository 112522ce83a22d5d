"""A comparison to a file: its chart as a drawing, or its document."""

from __future__ import annotations

import re
from pathlib import Path

from gpuexplorer.charts.comparison import comparison_chart
from gpuexplorer.charts.spec import encode
from gpuexplorer.core.compared import ComparisonResult, comparison_json
from gpuexplorer.core.errors import InputError
from gpuexplorer.exchange import atomic_file
from gpuexplorer.gui.export import CHARTS, Exporter, render
from gpuexplorer.gui.theme import theme

FORMATS = {
    "png": "PNG image",
    "svg": "SVG drawing",
    "pdf": "PDF document",
    "json": "JSON document of the comparison",
}


def write(result: ComparisonResult, path: Path, scheme: str) -> None:
    """Write a comparison by the file's ending; raises ExplorerError in one sentence."""
    suffix = path.suffix.lower().lstrip(".")
    if suffix in CHARTS:
        render(encode(comparison_chart(result)), path, scheme)
    elif suffix == "json":
        with atomic_file(path) as stream:
            stream.write(comparison_json(result))
    else:
        raise InputError(
            f"cannot tell a format from '{path.name}'", remedy=f"end it in {', '.join(FORMATS)}"
        )


def ask(exporter: Exporter, result: ComparisonResult, suffix: str) -> None:
    """Ask for a file name and have a comparison written there."""
    first = result.contestants[result.reference].run.config
    named = re.sub(r"[^\w.-]+", "_", f"{first.workload}-comparison") + f".{suffix}"
    path = exporter.ask_path(suffix, named, FORMATS)
    if path is not None:
        scheme = theme().scheme
        exporter.do(path, lambda target: write(result, target, scheme))
