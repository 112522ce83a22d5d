"""Values of an axis as they are written: ``1:256:*2``, ``16:64:+16``, ``1,2,4``, or all mixed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuexplorer.core.errors import InputError

_RANGE = re.compile(r"(-?\d{1,18}):(-?\d{1,18})(?::([*×+])(\d{1,18}))?", re.ASCII)
_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
MAX_VALUES = 100_000
GRAMMAR = "values such as 1,2,4, or a range such as 1:256:*2 or 16:64:+16"


def whole_numbers(text: str) -> tuple[int, ...]:
    """Read whole numbers: a list of numbers and ranges, each value once, in the order given.

    ``a:b:*2`` doubles from a up to b, ``a:b:+4`` adds 4, ``a:b`` adds 1; b is in it when it is hit.
    Raises InputError for what is none of these, and for a range without an end in sight.
    """
    found: dict[int, None] = {}
    for part in text.split(","):
        found |= dict.fromkeys(_values(part.strip(), text))
    return tuple(found)


def _values(part: str, text: str) -> list[int]:
    if _WHOLE.fullmatch(part):
        return [int(part)]
    match = _RANGE.fullmatch(part)
    if match is None:
        raise InputError(f"'{part or text}' is no value", remedy=f"give {GRAMMAR}")
    first, last, sign, by = int(match[1]), int(match[2]), match[3] or "+", int(match[4] or 1)
    if last < first:
        raise InputError(f"range '{part}' ends before it begins", remedy=f"give {GRAMMAR}")
    if sign == "+":
        if by < 1:
            raise InputError(f"range '{part}' does not advance", remedy="add 1 or more")
        if (last - first) // by >= MAX_VALUES:
            raise InputError(f"range '{part}' has too many values", remedy="make larger steps")
        return list(range(first, last + 1, by))
    if by < 2 or first < 1:
        raise InputError(
            f"range '{part}' does not grow", remedy="start at 1 or more and multiply by 2 or more"
        )
    values = [first]
    while values[-1] * by <= last:
        values.append(values[-1] * by)
    return values


def sizes(text: str) -> dict[str, tuple[int, ...]]:
    """Read sizes by symbol: ``256,512`` (the first symbol, as the empty one), ``N=64,128,M=32``.

    A value without a symbol belongs to the symbol before it.
    """
    found: dict[str, str] = {}
    symbol = ""
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals:
            symbol = name.strip()
            if not symbol.isidentifier():
                raise InputError(f"'{part}' names no size", remedy="give 256,512 or N=256,512")
            if symbol in found:
                raise InputError(f"size {symbol} is given twice", remedy="join its values")
        else:
            value = part
        found[symbol] = f"{found[symbol]},{value}" if symbol in found else value
    return {name: whole_numbers(values) for name, values in found.items()}


def block(text: str) -> tuple[int, ...]:
    """Read threads per block along one to three axes, such as ``16x16`` or ``8x8x4``."""
    sides = re.split("[x×]", text.strip().lower())
    whole = all(re.fullmatch(r"\d{1,9}", side, re.ASCII) for side in sides)
    if not whole or not 1 <= len(sides) <= 3:
        raise InputError(f"'{text}' is not one to three whole numbers joined by x, such as 16x16")
    return tuple(map(int, sides))


def blocks(text: str) -> tuple[tuple[int, ...], ...]:
    """Read blocks such as ``16x16,32x8``, each once, with all three axes."""
    found: dict[tuple[int, ...], None] = {}
    for part in text.split(","):
        try:
            found[(*block(part), 1, 1)[:3]] = None
        except InputError:
            remedy = "give blocks such as 16x16,32x8"
            raise InputError(f"'{part}' is no block", remedy=remedy) from None
    return tuple(found)


def names(text: str) -> tuple[str, ...]:
    """Read names divided by commas, each once."""
    found = dict.fromkeys(part.strip() for part in text.split(","))
    if "" in found:
        raise InputError(f"'{text}' names nothing between two commas", remedy="give a,b,c")
    return tuple(found)


def numbers_text(values: Sequence[int]) -> str:
    """Return whole numbers as ``whole_numbers`` reads them, as short as they can be said."""
    low, high = values[0], values[-1]
    if len(values) >= 4:
        step, factor = values[1] - values[0], values[1] // max(values[0], 1)
        if step > 0 and list(values) == list(range(low, high + 1, step)):
            return f"{low}:{high}" + (f":+{step}" if step > 1 else "")
        if low > 0 and factor > 1 and list(values) == [low * factor**i for i in range(len(values))]:
            return f"{low}:{high}:*{factor}"
    return ",".join(map(str, values))
