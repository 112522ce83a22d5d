"""A comparison as a table, in the terminal and on a page."""

from __future__ import annotations

import io

from rich.console import Console

from gpuexplorer.charts.comparison import comparison_chart
from gpuexplorer.cli.sheets import print_sheet
from gpuexplorer.core.compared import ComparisonResult, Contestant
from gpuexplorer.core.sheet import Medium
from gpuexplorer.report.html import sheet_sections
from gpuexplorer.results.comparison import sheet_of
from tests.support.results import made_result

RESULT = ComparisonResult(
    id="c", time_utc="2026-01-01T00:00:00+00:00", reference=1, interleaved=True, rounds=12,
    stopped_by="verdict", tolerance=0.005, fail_if_slower=0.02,
    contestants=[
        Contestant(label="block 8", run=made_result(20), ratio=0.5, ci95_low=0.49, ci95_high=0.51,
                   verdict="faster", too_slow=False, warnings=("The driver differs.",)),
        Contestant(label="block 16", run=made_result(20)),
        Contestant(label="block 32", run=made_result(20)),
    ],
)  # fmt: skip


def test_the_reference_alone_is_called_so() -> None:
    sheet = sheet_of(RESULT)
    assert [row.cells["verdict"].text for row in sheet.rows] == ["faster", "reference", ""]
    page = sheet_sections(sheet)
    assert page.count("<td>reference</td>") == 1 and '<th scope="col">too slow</th>' in page
    assert "The driver differs." in page and "1.96–2.04" in page


def test_the_terminal_has_the_same_figures_and_the_warnings() -> None:
    stream = io.StringIO()
    print_sheet(sheet_of(RESULT), Console(width=100, file=stream))
    said = stream.getvalue()
    assert "1.96–2.04" in said and "faster" in said and "too slow" not in said
    assert "block 8: The driver differs." in said


def test_every_line_of_the_chart_has_its_row() -> None:
    sheet = sheet_of(RESULT)
    drawn = {
        key
        for line in comparison_chart(RESULT).rows
        for panel in line
        for one in panel.series
        for key in one.keys
        if key
    }
    assert drawn and drawn <= set(sheet.marks)
    assert len(sheet.rows_on(Medium.WINDOW)) == 3
