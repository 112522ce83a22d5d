"""Documents in session files: one way to decode them, and what holds for every one.

Limits of figures and names stand in the types (see ``core.fields``). What a file says is shown as
words, so no text may hold markup or control characters, but for those that quote a kernel or a
compiler: these are shown as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, TypeVar

import msgspec

from gpuexplorer.analysis.static import KernelAnalysis
from gpuexplorer.core.accesses import AccessProfile, AccessRow, CompiledAccesses
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.fields import Name, Positive, Symbol, Tunable
from gpuexplorer.core.operators import Operator, OperatorProfile
from gpuexplorer.core.result import MOST_PRINTED
from gpuexplorer.core.text import brief

MAX_TEXT = 20_000
"""Characters of a text."""
_QUOTED = {"printed": MOST_PRINTED, "reason": MAX_TEXT, "skipped": MAX_TEXT,
           "memory_counter": MAX_TEXT}  # fmt: skip
"""Fields that hold what a kernel printed or a compiler said, and the most characters of one."""
_QUOTED_IN: dict[type, dict[str, int]] = {
    Operator: {"name": MAX_TEXT},
    OperatorProfile: {"names": MAX_TEXT},
    AccessProfile: {"entry": MAX_TEXT},
    AccessRow: {"text": MAX_TEXT},
    CompiledAccesses: {"unknown": MAX_TEXT},
    KernelAnalysis: {"name": MAX_TEXT},
}
"""The same of one document alone: kernels of templates by their names, and a source's own text."""
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


def require(condition: bool, what: str) -> None:
    """Raise InputError with ``what`` unless a condition holds."""
    if not condition:
        raise InputError(what)


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
    What is quoted of a kernel or a compiler has a limit of its length alone. Whole numbers of more
    than 64 bits are refused too.
    """
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            _check_length(one, MAX_TEXT)
            if _MARKUP.search(one) or _CONTROL.search(one):
                raise InputError("a text holds markup or control characters")
        elif isinstance(one, int) and not -(2**63) <= one < 2**63:
            raise InputError("a number is far too large")
        else:
            waiting += _inside(one)


def _check_length(text: str, most: int) -> None:
    if len(text) > most:
        raise InputError("a text is far too long")


def _inside(value: Any) -> list[object]:
    """Return what a value holds; quoted texts are left out, once their length was looked at."""
    quoted = _QUOTED
    if isinstance(value, msgspec.Struct):
        names: Iterable[str] = value.__struct_fields__
        quoted = _QUOTED | _QUOTED_IN.get(type(value), {})
    elif isinstance(value, dict):
        return [*value, *value.values()]
    elif isinstance(value, (list, tuple)):
        return [one for one in value if not isinstance(one, float)]  # samples are many
    else:
        return []
    found = list[object]()
    for name in names:
        part = getattr(value, name)
        if part is None or name not in quoted:
            found.append(part)
            continue
        texts = part.values() if isinstance(part, dict) else part
        for text in [texts] if isinstance(texts, str) else texts:
            _check_length(text, quoted[name])
        found += part if isinstance(part, dict) else ()
    return found
