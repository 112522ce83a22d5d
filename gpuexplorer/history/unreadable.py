"""What cannot be read of one run costs that run alone: a row of blanks that says so, and its name.

SQLite keeps any value in any column, and a disk may change what it keeps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from gpuexplorer.core.units import listed
from gpuexplorer.history.errors import StoreDamaged
from gpuexplorer.history.model import Row

_BLANKS: tuple[Any, ...] = (None, "", 0, False, ())
_NUMBER = re.compile(r"row-([0-9]{1,18})")


def text_of(data: bytes) -> str | bytes:
    """Return a text of SQLite's; one that is no text as its bytes, so that it costs itself only."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def row_of(number: int, values: Mapping[str, Any]) -> Row:
    """Return one run of a list; what cannot be read of it is blank and named in ``damaged``.

    ``number`` names a run whose id cannot be read, as ``number_of`` reads it.
    """
    try:
        return msgspec.convert(values, Row)
    except msgspec.ValidationError:
        pass
    found: dict[str, Any] = {}
    unreadable = []
    for field in msgspec.structs.fields(Row):
        if field.name not in values:
            continue
        try:
            found[field.name] = msgspec.convert(values[field.name], field.type)
        except msgspec.ValidationError:
            unreadable.append(field.name)
            found[field.name] = _blank(field.type)
    if "id" in unreadable:
        found["id"] = name_of(number)
    if "tags" in unreadable:
        found["tags"] = tuple(tag for tag in values["tags"] if isinstance(tag, str))
    return Row(**found, damaged=f"{listed(unreadable)} cannot be read")


def _blank(kind: Any) -> Any:
    for blank in _BLANKS:
        try:
            return msgspec.convert(blank, kind)
        except msgspec.ValidationError:
            continue
    raise TypeError(kind)


def name_of(number: int) -> str:
    """Return what a run is named by whose id cannot be read."""
    return f"row-{number}"


def number_of(text: str) -> int | None:
    """Return the number of a run that is named by it, because its id cannot be read."""
    named = _NUMBER.fullmatch(text)
    return int(named[1]) if named else None


def run_damaged(run_id: str, why: object) -> StoreDamaged:
    """Return that one run cannot be read, and how to be rid of it."""
    return StoreDamaged(
        f"the run '{run_id}' in the history cannot be read ({why})",
        remedy=f"the other runs are unharmed; 'gpuexplorer history delete {run_id}' takes this one "
        "out of the list",
    )
