"""What a page in a language calls buttons, menus and places: as the window does in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product

from gpuexplorer.core.language.catalogue import Entry
from gpuexplorer.core.text import joined

CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
NAME = re.compile(r"(?<!\*)\*{1,2}([^*]+?)\*{1,2}(?!\*)")
ARROW = re.compile(r" (?:→|›|>) ")
ARROWS = (" → ", " › ", " > ")
SIGNS = re.compile(r"\(&.\)|&|[…：:]|\.\.\.| ▾")
"""What a button or a menu has beside its name."""

Names = Mapping[str, frozenset[str]]


def names(told: Mapping[tuple[str, str], Entry]) -> Names:
    """Return how what the window shows is called in a language; some words have several."""
    found: dict[str, set[str]] = {}
    for (english, _), entry in told.items():
        if english[:1].isupper() or english[:1] == "&":
            found.setdefault(bare(english), set()).add(bare(entry.told[0] or english))
    return {english: frozenset(words) for english, words in found.items()}


def bare(text: str) -> str:
    """Return a name without the letter to press and the signs at its end."""
    return SIGNS.sub("", text).strip()


def names_amiss(page: str, own: str, known: Names) -> Iterator[str]:
    """Yield each name that stands out on a page, and on a language's own page is another one.

    Places, with an arrow between a menu and what is in it, are names of the window in any case;
    what else stands out is one where the window shows the same words.
    """
    words = bare(joined(own)).replace("*", "")
    for found in NAME.finditer(" ".join(CODE.sub("", page).split())):
        name, parts = found[1], ARROW.split(found[1])
        unknown = [part for part in parts if bare(part) not in known]
        if unknown and len(parts) > 1:
            yield f"{name!r}: the window shows no {unknown[0]!r}"
        elif not unknown:
            told = [
                arrow.join(path)
                for path in product(*(known[bare(p)] for p in parts))
                for arrow in ARROWS
            ]
            if not any(path in words for path in told):
                yield f"{name!r} is not called {told[0]!r}"
