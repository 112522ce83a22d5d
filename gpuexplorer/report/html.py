"""HTML from values: everything that comes from a run, a file or a user is escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from gpuexplorer.core.language import in_file, tr
from gpuexplorer.core.sheet import Medium, Sheet
from gpuexplorer.core.sheet import told as sheet_told
from gpuexplorer.core.text import visible

MOST_TEXT = 2000
"""Characters of one text that are shown."""


def text(value: object) -> str:
    """Return a value as text of a page: no markup, no control characters, not endless."""
    words = str(value)
    if len(words) > MOST_TEXT:
        words = words[:MOST_TEXT] + "…"
    return html.escape(visible(words), quote=True)


def told(value: object) -> str:
    """Return a value as text of a page, in the language of the process."""
    with in_file():
        return text(tr(str(value)))


def table(
    rows: Iterable[Sequence[object]], heads: Sequence[str] = (), kind: str = "", caption: str = ""
) -> str:
    """Return a table; with ``heads`` a row of column titles, else the first cell is a row's title.

    ``kind`` is a class of the page's style.
    """
    above = f"<caption>{told(caption)}</caption>" if caption else ""
    head = "".join(f'<th scope="col">{told(name)}</th>' for name in heads)
    body = "".join(f"<tr>{_row(row, titled=not heads)}</tr>\n" for row in rows)
    top = f"<thead><tr>{head}</tr></thead>" if heads else ""
    shape = f' class="{kind}"' if kind else ""
    return f'<div class="wide"><table{shape}>{above}{top}<tbody>\n{body}</tbody></table></div>\n'


def _row(cells: Sequence[object], *, titled: bool) -> str:
    made = []
    for place, cell in enumerate(cells):
        if titled and place == 0:
            made.append(f'<th scope="row">{told(cell)}</th>')
        else:
            made.append(f"<td>{told('–' if cell is None else cell)}</td>")
    return "".join(made)


def section(title: str, *parts: str) -> str:
    """Return a part of the page; empty when nothing is in it."""
    body = "".join(parts)
    return f"<section>\n<h2>{told(title)}</h2>\n{body}</section>\n" if body else ""


def paragraph(words: str, kind: str = "") -> str:
    """Return a paragraph."""
    shape = f' class="{kind}"' if kind else ""
    return f"<p{shape}>{told(words)}</p>\n"


def written(words: str, kind: str) -> str:
    """Return a paragraph of what a user wrote, which no language changes."""
    return f'<p class="{kind}">{text(words)}</p>\n'


def bullets(sentences: Iterable[str]) -> str:
    """Return a list; empty when there is nothing to list."""
    items = "".join(f"<li>{told(words)}</li>\n" for words in sentences)
    return f"<ul>\n{items}</ul>\n" if items else ""


def sheet_sections(sheet: Sheet) -> str:
    """Return a section for each part, with the sheet's sentences above the first.

    A part without any figure is a list of its rows' reasons.
    """
    with in_file():
        body, sheet = "", sheet_told(sheet)
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
