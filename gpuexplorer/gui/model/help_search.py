"""Finding words in the help pages."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

EXCERPT = 90
"""Letters of a page that are shown around what was found."""
LEAD = 30
"""Of these, letters before it."""


class Found(msgspec.Struct, frozen=True):
    """A page with every word that was looked for, and a piece of it around the first of them."""

    page: str
    excerpt: str


def parts_of(typed: str) -> list[str]:
    """Return the words that are looked for."""
    return typed.casefold().split()


def plain_text(markdown: str) -> str:
    """Return a page's words on one line, without the marks of Markdown."""
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", markdown)
    text = re.sub(r"^[#>|:\- ]+|[`*|]", " ", text, flags=re.MULTILINE)
    return " ".join(text.split())


def search(pages: Mapping[str, tuple[str, str]], typed: str) -> list[Found]:
    """Return the pages with all words that were typed, in the pages' order.

    ``pages`` maps names to title and Markdown. Those with every word in the title come first, then
    those with the words side by side as typed, then the others.
    """
    parts = parts_of(typed)
    if not parts:
        return []
    ranked = []
    for name, (title, markdown) in pages.items():
        text = plain_text(markdown)
        # Letter for letter as long as the text, which casefold is not.
        heading, low = title.lower(), text.lower()
        if all(part in heading or part in low for part in parts):
            in_title = all(part in heading for part in parts)
            phrase = low.find(" ".join(parts))
            at = phrase if phrase >= 0 else next((low.find(p) for p in parts if p in low), 0)
            ranked.append((not in_title, phrase < 0, Found(name, _piece(text, at))))
    ranked.sort(key=lambda entry: entry[:2])  # stable
    return [found for *_, found in ranked]


def marked(text: str, typed: str) -> list[tuple[str, bool]]:
    """Return a text in pieces, each with whether it is one of the words that were typed."""
    parts = sorted(parts_of(typed), key=len, reverse=True)
    if not parts:
        return [(text, False)]
    pieces = re.split(f"({'|'.join(map(re.escape, parts))})", text, flags=re.IGNORECASE)
    return [(piece, number % 2 == 1) for number, piece in enumerate(pieces) if piece]


def _piece(text: str, at: int) -> str:
    """Return some words of a text around a place, with dots where it goes on."""
    start = max(0, at - LEAD)
    if start:
        start = text.find(" ", start) + 1 or start
        start = min(start, at)
    end = min(len(text), start + EXCERPT)
    if end < len(text):
        end = max(text.rfind(" ", at, end), at + 1)
    return f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}"
