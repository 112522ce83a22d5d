"""The package's copyright file: who holds what of everything in it, and under which terms."""

from __future__ import annotations

import re
from collections.abc import Sequence

from builder.linux_metadata import HOMEPAGE
from builder.parts import Part

FORMAT = "https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
PROGRAM = "usr/lib/gpuexplorer"
_COMMON = {
    "Apache-2.0": (
        r"Apache License\s+Version 2\.0, January 2004",
        r"any such warranty or additional liability\.(?:\s+END OF TERMS AND CONDITIONS)?",
    ),
    "GPL-2": (r"GNU GENERAL PUBLIC LICENSE\s+Version 2, June 1991", r"END OF TERMS AND CONDITIONS"),
    "GPL-3": (
        r"GNU GENERAL PUBLIC LICENSE\s+Version 3, 29 June 2007",
        r"END OF TERMS AND CONDITIONS",
    ),
    "LGPL-2.1": (
        r"GNU LESSER GENERAL PUBLIC LICENSE\s+Version 2\.1, February 1999",
        r"END OF TERMS AND CONDITIONS",
    ),
    "LGPL-3": (
        r"GNU LESSER GENERAL PUBLIC LICENSE\s+Version 3, 29 June 2007",
        r"permanent authorization for you to choose that version for the\s+Library\.",
    ),
}
"""Licences that every Debian system has a copy of: how their texts begin and end."""
_HOLDER = re.compile(r"(?im)^\W*(?:portions )?(copyright (?:\(c\)|©|\d{4}).*|\(c\) .*\d{4}.*)$")
_MOST_HOLDERS = 40


def copyright_file(licence: str, parts: Sequence[Part]) -> str:
    """Return the file in Debian's form; ``licence`` is the product's own text."""
    holder = next((line for line in licence.splitlines() if line.startswith("Copyright")), "")
    own = licence.partition(holder)[2] if holder else licence
    stanzas = [
        [
            f"Format: {FORMAT}",
            "Upstream-Name: GPU Explorer",
            f"Source: {HOMEPAGE}",
            "Comment:",
            *_indented(
                "The program brings a Python and libraries with it, each under its own terms, "
                "which follow. Modules that are written in Python alone are packed into "
                f"{PROGRAM}/gpuexplorer; their paragraphs name that file."
            ),
        ],
        [
            "Files: *",
            f"Copyright: {holder.removeprefix('Copyright (c) ')}",
            "License: Expat",
            *_indented(own.strip()),
        ],
    ]
    stanzas += [_stanza(part, parts) for part in parts]
    return "\n\n".join("\n".join(stanza) for stanza in stanzas) + "\n"


def _stanza(part: Part, all_parts: Sequence[Part]) -> list[str]:
    words = "\n\n".join(text.words.strip() for text in part.texts)
    return [
        "Files:",
        *(f" {pattern}" for pattern in patterns(part, all_parts)),
        "Copyright:",
        *(f" {holder}" for holder in holders(words) or ["its authors, as the text below says"]),
        f"License: {' '.join(part.licence.split())}",
        *_indented(without_common(words)),
        "Comment:",
        f" {part.name} {part.version}{f', {part.homepage}' if part.homepage else ''}",
    ]


def patterns(part: Part, all_parts: Sequence[Part]) -> list[str]:
    """Return the files of a part, a folder that is all its own as one pattern."""
    if not part.files:
        return [f"{PROGRAM}/gpuexplorer"]
    others = {_top(name) for other in all_parts if other is not part for name in other.files}
    found = []
    for name in part.files:
        top = _top(name)
        own = top != name and top not in others
        found.append(f"{PROGRAM}/{top}/*" if own else f"{PROGRAM}/{name}".replace(" ", "?"))
    return list(dict.fromkeys(found))


def _top(name: str) -> str:
    """Return a file's folder right below the program's libraries."""
    return "/".join(name.split("/")[:2])


def holders(words: str) -> list[str]:
    """Return the lines of a licence that name who holds the copyright, each once."""
    found = [" ".join(line.split()) for line in _HOLDER.findall(words)]
    return list(dict.fromkeys(found))[:_MOST_HOLDERS]


def without_common(words: str) -> str:
    """Return a licence in which texts that every Debian system has are named, not repeated."""
    for name, (begin, end) in _COMMON.items():
        said = f"[The whole text is /usr/share/common-licenses/{name} on Debian systems.]"
        words = re.sub(rf"(?s){begin}.*?{end}", said, words)
    return words


def _indented(words: str) -> list[str]:
    """Return lines as the form wants them: indented by one, an empty one as a dot."""
    clean = "".join(c if c in "\n\t" or c.isprintable() else " " for c in words)
    return [f" {line.rstrip()}" if line.strip() else " ." for line in clean.splitlines()]
