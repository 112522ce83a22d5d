"""A chart in the language of the process: every word that is drawn, and nothing else.

Who draws a chart, or has another process draw it, sends it through ``told`` first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import msgspec

from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.core import language
from gpuexplorer.core.language import tr

WORDS = {"title", "subtitle", "notes", "label", "categories", "name", "labels", "text"}
"""Fields of a chart and its parts that are shown."""
Part = TypeVar("Part", bound=msgspec.Struct)


def told(chart: ChartSpec) -> ChartSpec:
    """Return a chart with its words as the language says them."""
    return _told(chart) if language.changes() else chart


def texts(part: object) -> Iterator[str]:
    """Yield every text that a chart or a part of it holds."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, msgspec.Struct):
        for name in part.__struct_fields__:
            yield from texts(getattr(part, name))
    elif isinstance(part, tuple):
        for one in part:
            yield from texts(one)


def _told(part: Part) -> Part:
    changed = {}
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if isinstance(value, str):
            new: object = tr(value) if name in WORDS else value
        elif isinstance(value, tuple):
            new = tuple(_of(one, shown=name in WORDS) for one in value)
        else:
            new = _of(value, shown=False)
        if new != value:
            changed[name] = new
    return msgspec.structs.replace(part, **changed) if changed else part


def _of(value: object, *, shown: bool) -> object:
    if isinstance(value, msgspec.Struct):
        return _told(value)
    if isinstance(value, tuple):
        return tuple(_of(one, shown=shown) for one in value)
    return tr(value) if shown and isinstance(value, str) else value
