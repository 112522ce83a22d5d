"""Turn parsed TOML into typed tables, naming the exact key when something is wrong."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

import msgspec

from gpuexplorer.core.errors import InputError

T = TypeVar("T")
MAX_SHOWN = 60
"""Characters of a wrong value that its error message quotes."""
MAX_SAID = 450
"""Characters of a message, and of a remedy."""
MAX_NAMES = 100
"""Names that an error message lists."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return what could have been meant, and everything that is allowed, as one clause."""
    names = [str(k) for k in known]
    close = difflib.get_close_matches(word, names, n=1)
    allowed, more = ", ".join(names[:MAX_NAMES]) or "nothing", len(names) - MAX_NAMES
    if more > 0:
        allowed = f"{allowed} and {more} more"
    return f"did you mean '{close[0]}'? allowed: {allowed}" if close else f"allowed: {allowed}"


def _type_name(kind: Any) -> str:
    names = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type_name(k) for k in typing.get_args(kind) if k is not type(None))
    if origin is typing.Literal:
        allowed = [repr(a) for a in typing.get_args(kind)]
        return allowed[0] if len(allowed) == 1 else f"one of {', '.join(allowed)}"
    if origin is list:
        return "a list"
    if origin is dict or (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return "a table"
    return names.get(kind, str(kind))


@cache
def _fields(kind: Any) -> dict[str, msgspec.structs.FieldInfo]:
    """Return a table's fields by key: read from its annotations, which takes long, once a type."""
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def convert(raw: Any, kind: type[T], where: str) -> T:
    """Convert ``raw`` to the Struct ``kind``; ``where`` names the file for the error message.

    Every Struct that it may hold forbids unknown fields.
    """
    try:
        table = msgspec.convert(raw, kind, strict=True)  # all of it at once, a tenth of the time
    except msgspec.ValidationError:
        return _table(raw, kind, where, "")  # which says what is wrong, by its key
    return _table(raw, kind, where, "") if _has_large_number(raw) else table


def _has_large_number(raw: Any) -> bool:
    """Return whether a whole number of more than 64 bits stands somewhere."""
    kind = type(raw)
    if kind is dict:
        return any(map(_has_large_number, raw.values()))
    if kind is list:
        return any(map(_has_large_number, raw))
    return kind is int and not -(2**63) <= raw < 2**63


def _table(raw: Any, kind: type[T], where: str, key: str) -> T:
    """Convert one table key by key; InputError names the first that is wrong."""
    if not isinstance(raw, dict):
        raise InputError(f"{where}: '{key}' must be a table")
    known = _fields(typing.cast(Any, kind))
    prefix = f"{key}." if key else ""
    for name in raw:
        if name not in known:
            raise InputError(
                f"{where}: unknown key '{prefix}{name}'", remedy=suggestion(name, known)
            )
    values: dict[str, Any] = {}
    for name, field in known.items():
        if name in raw:
            values[field.name] = _value(raw[name], field.type, where, f"{prefix}{name}")
        elif field.required:
            raise InputError(
                f"{where}: '{prefix}{name}' is missing", remedy=f"add {_type_name(field.type)}"
            )
    return kind(**values)


def brief(said: str) -> str:
    """Return what is said, cut where a manifest's own words make it too long to read."""
    return said if len(said) <= MAX_SAID else f"{said[:MAX_SAID]}…"


def _shown(raw: Any) -> str:
    text = repr(raw) if isinstance(raw, str | int | float | list | dict) else str(raw)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _value(raw: Any, kind: Any, where: str, key: str) -> Any:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _table(raw, kind, where, key)
    if origin is dict and isinstance(raw, dict):
        return {k: _value(v, args[1], where, f"{key}.{k}") for k, v in raw.items()}
    if origin is list and isinstance(raw, list):
        return [_value(v, args[0], where, f"{key}[{i}]") for i, v in enumerate(raw)]
    if origin in (typing.Union, types.UnionType) and isinstance(raw, dict):
        for option in args:
            if isinstance(option, type) and issubclass(option, msgspec.Struct):
                return _table(raw, option, where, key)
    if isinstance(raw, int) and _has_large_number(raw):
        raise InputError(f"{where}: '{key}' is too large a number", remedy="use at most 64 bits")
    try:
        return msgspec.convert(raw, kind, strict=True)
    except msgspec.ValidationError:
        raise InputError(
            f"{where}: '{key}' is {_shown(raw)}", remedy=f"it must be {_type_name(kind)}"
        ) from None
