"""A language's terms: ``NAME.glossary.toml`` beside its file, and whether its sentences keep them.

Each English term has the words that may stand for it. One ends in ``*`` where more letters may
follow: ``coalesc*`` is in *coalesced* and in *coalescing*.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpuexplorer.core.language.catalogue import Entry

Terms = Mapping[re.Pattern[str], tuple[str, ...]]


def terms(path: Path) -> Terms:
    """Return the terms of a language's file; none where it has no glossary."""
    glossary = path.with_name(f"{path.stem}.glossary.toml")
    if not glossary.is_file():
        return {}
    table = tomllib.loads(glossary.read_text(encoding="utf-8"))["terms"]
    return {
        re.compile(
            rf"(?<![\w.:/=-]){re.escape(term.removesuffix('*'))}"
            rf"{'[a-z]*' * term.endswith('*')}(?![\w(/=]|-\w|\.\w)",
            re.IGNORECASE,
        ): tuple(words)
        for term, words in table.items()
    }


def terms_amiss(entry: Entry, wanted: Terms) -> Iterator[str]:
    """Yield the terms that an entry has and its translation has not."""
    told = "".join(entry.told).lower()
    english = re.sub(r"\{\w+\}", "{}", f"{entry.english} {entry.many}")
    for term, words in wanted.items():
        found = term.search(english)
        if found is not None and not any(
            word.lower() in told
            for word in (*words, found[0])  # or it stands in a command
        ):
            yield f"{entry.english!r}: {found[0]!r} is told as none of {', '.join(words)}"
