"""What is wrong with a language's file: untranslated, unused, too long, other fields or terms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import ndiff
from pathlib import Path

from tests.words import files
from tests.words.glossary import terms, terms_amiss
from tests.words.page_names import names, names_amiss
from tests.words.sources import everything

MARK = re.compile(r"#+ |\| *|- |\d+\. ")
"""What a line begins with that is a heading, a table's row or a point of a list."""
REMARK = re.compile(r"(^|\s+)#.*")
TARGET = re.compile(r"\]\(([^)]+)\)")
OWN_PICTURE = re.compile(r"\.[a-zA-Z_]+(\.png)$")
"""Of a picture in the page's own language, what the English one does not have."""

UPDATE = "run 'python -m tests.words update'"


def outline(page: Path) -> list[str]:
    """Return what a page has in every language: headings, code, points, tables, links, pictures.

    Code goes without the remarks in it. Of links and pictures the targets come last, sorted; a
    picture in the page's language stands for the English one.
    """
    found: list[str] = []
    targets: list[str] = []
    is_fenced, before = False, ""
    for line in page.read_text(encoding="utf-8").split("\n"):
        is_inset = line.startswith("    ") and (not before or before[0] in "# ")
        if line.startswith("```"):
            is_fenced = not is_fenced
            found.append(line)
        elif is_fenced or is_inset:
            found.append(REMARK.sub("", line))
        elif mark := MARK.match(line):
            number = line.count("|") - line.count(r"\|")
            found.append(f"{mark[0][0]} {number}" if number else mark[0].strip())
        if not (is_fenced or is_inset):
            targets += TARGET.findall(line)
        before = line
    return [*found, *sorted(OWN_PICTURE.sub(r"\1", target) for target in targets)]


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
    shown = names(told)
    for page, own in files.pages(path.stem).items():
        if not own.is_file():
            continue
        text, own_text = page.read_text(encoding="utf-8"), own.read_text(encoding="utf-8")
        yield from (f"{own.name}: {one}" for one in names_amiss(text, own_text, shown))
        pictures = [one for one in TARGET.findall(own_text) if one.endswith(".png")]
        missing = [one for one in pictures if not (own.parent / one).is_file()]
        yield from (f"{own.name}: there is no {one}" for one in missing)
        if outline(own) != outline(page):
            unlike = [one for one in ndiff(outline(page), outline(own)) if one[0] in "+-"]
            yield f"{own.name} is built otherwise than {page.name}: {', '.join(unlike[:4])}"
    wanted = terms(path)
    for key, entry in told.items():
        if key in said and entry.is_told:
            yield from files.faults_of(entry)
            yield from terms_amiss(entry, wanted)
