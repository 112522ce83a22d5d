"""What is wrong with a language's file: untranslated, unused, too long, other fields or terms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.words import files
from tests.words.glossary import terms, terms_amiss
from tests.words.sources import everything

UPDATE = "run 'python -m tests.words update'"


def outline(page: Path) -> list[str]:
    """Return how deep the headings of a page are, in their order, and its pieces of code."""
    prose, *rest = page.read_text(encoding="utf-8").split("```")
    pieces = [prose, *rest[1::2]]
    found = []
    for number, piece in enumerate(pieces):
        found += ["code"] * (number > 0)
        found += [m.group() for m in re.finditer("^#+(?= )", piece, re.MULTILINE)]
    return found


def faults(path: Path) -> Iterator[str]:
    """Yield each fault of a file in words.

    A language that is whole lacks nothing and keeps nothing that is not said. Of one that is not,
    no less may be told than its head says.
    """
    head, told = files.read(path)
    said = everything()
    lacking = files.lacking(path.stem, told)
    held, now = files.share_in(head), files.share(path.stem, told)
    if held == 100:
        yield from (f"{one!r} is not told; {UPDATE}" for one in lacking)
        for key in told.keys() - said.keys():
            yield f"{key[0]!r} is not said any more; {UPDATE}"
    elif now != held:
        yield f"{now} % of it is told, and {held} % was before; {UPDATE}, and tell what is new"
    for page, own in files.pages(path.stem).items():
        if own.is_file() and outline(own) != outline(page):
            yield f"{own.name} has other headings or code than {page.name}"
    wanted = terms(path)
    for key, entry in told.items():
        if key in said and entry.is_told:
            yield from files.faults_of(entry)
            yield from terms_amiss(entry, wanted)
