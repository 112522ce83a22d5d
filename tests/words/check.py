"""What is wrong with a language's file: untranslated, unused, too long, with other fields."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.words import files
from tests.words.sources import everything


def faults(path: Path) -> Iterator[str]:
    """Yield each fault of a file in words."""
    _, told = files.read(path)
    said = everything()
    for key in said.keys() - told.keys():
        yield f"{key[0]!r} has no entry; run 'python -m tests.words update'"
    for key in told.keys() - said.keys():
        yield f"{key[0]!r} is not said any more; run 'python -m tests.words update'"
    for key, entry in told.items():
        if key in said and not entry.is_told:
            yield f"{entry.english!r} is {'unsure' if entry.is_unsure else 'not translated'}"
        elif key in said:
            yield from files.faults_of(entry)
