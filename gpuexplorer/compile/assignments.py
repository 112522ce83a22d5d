"""What a text of CUDA C++ assigns, and from what."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"[A-Za-z_]\w*")
_ASSIGNED = re.compile(
    r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?:\.\s*\w+\s*)?(?:[-+*/%&|^]|<<|>>)?=(?!=)"
)
_COUNTED = re.compile(r"(?:\+\+|--)\s*([A-Za-z_]\w*)|\b([A-Za-z_]\w*)\s*(?:\+\+|--)")


def assigned(text: str) -> Iterator[tuple[str, str]]:
    """Yield each assignment of a text: the name, and the text of its value."""
    for match in _ASSIGNED.finditer(text):
        yield match[1], right_side(text, match.end())


def assignments(text: str) -> list[tuple[str, set[str]]]:
    """Return each assignment of a text: the name, and the names its value is made of."""
    return [(name, set(_WORD.findall(value))) for name, value in assigned(text)]


def changed_names(text: str) -> set[str]:
    """Return the names that a text assigns to, or counts up or down."""
    found = {name for name, _ in assignments(text)}
    return found | {before or behind for before, behind in _COUNTED.findall(text)}


def right_side(body: str, start: int) -> str:
    """Return what is assigned: up to the semicolon, comma or closing bracket that ends it."""
    depth = 0
    for i in range(start, len(body)):
        c = body[i]
        depth += (c in "([{") - (c in ")]}")
        if depth < 0 or (depth == 0 and c in ";,"):
            return body[start:i]
    return body[start:]
