"""A sheet as sections of a page: a table for each of its parts."""

from __future__ import annotations

from gpuexplorer.core.sheet import Medium, Sheet
from gpuexplorer.report.html import bullets, section, table


def sheet_sections(sheet: Sheet) -> str:
    """Return a section for each part, with the sheet's sentences above the first.

    A part without any figure is a list of its rows' reasons.
    """
    body = ""
    for part, rows in sheet.parts_on(Medium.PAGE).items():
        above = bullets(sheet.notes) if not body else ""
        if part and all(row.note for row in rows):
            shown = bullets(f"{row.title}: {row.note}" for row in rows)
        else:
            heads = [column.title for column in sheet.columns_on(Medium.PAGE)]
            lines = [[t or None for t in sheet.texts(row, Medium.PAGE)] for row in rows]
            shown = table(lines, heads, "runs")
        body += section(part or sheet.title, above, shown)
    return body
