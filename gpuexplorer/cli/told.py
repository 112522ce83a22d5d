"""What a console prints, in the language of the process: strings, texts and tables of them."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpuexplorer.core.language import tr


def told(shown: Any) -> Any:
    """Return something that a console prints as the language says it; a table changes itself."""
    if isinstance(shown, str):
        return tr(shown)
    if isinstance(shown, Text):
        return _text(shown)
    if isinstance(shown, Table):
        _tell_table(shown)
    elif isinstance(shown, Group):
        return Group(*map(told, shown.renderables), fit=shown.fit)
    elif isinstance(shown, Padding):
        shown.renderable = told(shown.renderable)
    return shown


class AsIs(Text):
    """A text that no language changes: what a user wrote, a lesson's words."""


def _text(text: Text) -> Text:
    """Return a text as one sentence, if what has a style is found in it; or else its pieces."""
    if isinstance(text, AsIs):
        return text
    whole = text.blank_copy(tr(text.plain))
    if whole.plain == text.plain:
        return text
    for span in text.spans:
        words = tr(text.plain[span.start : span.end])
        at = whole.plain.find(words)
        if at < 0:
            return _in_pieces(text)
        whole.stylize(span.style, at, at + len(words))
    return whole


def _in_pieces(text: Text) -> Text:
    ends = {0, len(text.plain)}
    pieces = text.divide(sorted({at for s in text.spans for at in (s.start, s.end)} - ends))
    made = text.blank_copy()
    for piece in pieces:
        one = piece.blank_copy(tr(piece.plain))
        for span in piece.spans:
            one.stylize(span.style)
        made.append_text(one)
    return made


def _tell_table(table: Table) -> None:
    table.title = told(table.title)
    for column in table.columns:
        column.header = told(column.header)
        column._cells = [told(cell) for cell in column._cells]
