"""Values as NVBench's JSON holds them: numbers are text, and a figure is one of a list."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

from gpuexplorer.exchange.sanity import MOST_TEXT


def at(value: Any, *names: str) -> Any:
    """Return what stands under some names, one in another; None where there is nothing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def field(summary: dict[str, Any], name: str) -> Any:
    """Return a value of a summary's data by name; None where there is none."""
    data = at(summary, "data")
    for entry in data if isinstance(data, list) else ():
        if at(entry, "name") == name:
            return at(entry, "value")
    return None


def text(value: Any) -> str:
    """Return a value as text; nothing for null."""
    return value if isinstance(value, str) else "" if value is None else str(value)


def decimal(value: Any) -> float | str:
    """Return an axis value as a number; as it stands when it is none."""
    with suppress(ValueError):
        number = float(text(value))
        if math.isfinite(number):
            return number
    return text(value)[:MOST_TEXT]


def whole(value: Any) -> int | None:
    """Return a whole number that NVBench wrote as text or number; None when it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and len(value) <= 20:
        with suppress(ValueError):
            value = int(value)
    return value if isinstance(value, int) and abs(value) < 2**63 else None
