"""Documents in session files: one way to decode them, and what holds for every one.

Limits of figures and names stand in the types (see ``core.fields``). What a file says is shown as
words, so no text may hold markup or control characters, whatever its field.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Annotated, Any, TypeVar

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.fields import Name, Positive, Symbol, Tunable
from gpuexplorer.core.text import brief

MAX_TEXT = 20_000
"""Characters of a text."""
_MARKUP = re.compile(r"<[A-Za-z/!?]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

T = TypeVar("T")

HISTORY = "the history"
"""The origin of what the history brought, in place of a file's name."""


def origin_words(origin: str, device: str = "") -> str:
    """Return where a result comes from that was not measured just now, and on which device."""
    if origin == HISTORY:
        return f"From the history, on {device}" if device else "From the history"
    return f"From file {origin}, on {device}" if device else f"From file {origin}"


class Head(msgspec.Struct):
    """What tells one kind of document from another."""

    schema: str = ""


def decode_part(data: bytes, kind: type[T], schema: str, what: str) -> T:
    """Return the document that ``data`` holds as JSON, of the given type and schema.

    InputError with one sentence about ``what``, such as ``the block map``, when it is none.
    """
    if decode(data, Head, what).schema != schema:
        raise InputError(f"{what} is of an unknown format")
    document = decode(data, kind, what)
    check_texts(document)
    return document


def decode(data: bytes, kind: type[T], what: str) -> T:
    """Return JSON as a type; InputError with one short sentence when it does not fit."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{what} cannot be read: {brief(str(error))}") from None


class _Config(msgspec.Struct, kw_only=True):
    """A configuration that this program can have made."""

    workload: Name
    variant: Name
    size: Annotated[dict[Symbol, Positive], msgspec.Meta(min_length=1)]
    precision: Name
    device: Name
    block: tuple[Positive, ...] | None
    grid: tuple[Positive, ...] | None
    tunables: dict[Symbol, Tunable]
    fill: Name
    switches: dict[Name, bool | int | float | str]


def check_config(config: RunConfig) -> None:
    """Raise InputError for names and numbers that no configuration of this program can have."""
    try:
        msgspec.convert(config, _Config, from_attributes=True)
    except msgspec.ValidationError as error:
        raise InputError(f"a configuration cannot be: {brief(str(error))}") from None


def check_texts(value: object) -> None:
    """Raise InputError for a text with markup or control characters, or one far too long.

    Labels of the window may take markup for formatting; what a file says is words and no more.
    Whole numbers of more than 64 bits are refused too.
    """
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if len(one) > MAX_TEXT:
                raise InputError("a text is far too long")
            if _MARKUP.search(one) or _CONTROL.search(one):
                raise InputError("a text holds markup or control characters")
        elif isinstance(one, int) and not -(2**63) <= one < 2**63:
            raise InputError("a number is far too large")
        else:
            waiting += _inside(one)


def _inside(value: Any) -> list[object]:
    if isinstance(value, msgspec.Struct):
        return [getattr(value, name) for name in value.__struct_fields__]
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, (list, tuple)):
        return [one for one in value if not isinstance(one, float)]  # samples are many
    return []
