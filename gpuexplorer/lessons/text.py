"""The words of a lesson in one language: ``text.en.md``, a section for each name in the manifest.

The file begins with ``# Title`` and a paragraph that says what it is about. Every ``## key``
begins a section, whose key is the same in every language: ``question``, ``choice NAME``,
``measure NAME``, ``claim NAME``, ``see``, ``gpu``, ``exercise``. The first line of a measure's
section is its button.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.text import joined
from gpuexplorer.workloads.loader import read_source
from gpuexplorer.workloads.strict import suggestion

FALLBACK = "en"
"""The language that every lesson has."""


class LessonText(msgspec.Struct, frozen=True):
    """A lesson's words."""

    language: str
    title: str
    about: str
    """What it is about, in a paragraph."""
    sections: dict[str, str]
    """By key, as Markdown."""

    def __getitem__(self, key: str) -> str:
        return self.sections[key]

    def button(self, measure: str) -> str:
        """Return the words of the button that measures."""
        return self.sections[f"measure {measure}"].partition("\n")[0].strip()

    def beside(self, measure: str) -> str:
        """Return what is said beside that button."""
        return self.sections[f"measure {measure}"].partition("\n")[2].strip()


def text_file(folder: Path, language: str) -> Path:
    """Return where the words in a language are."""
    return folder / f"text.{language}.md"


def languages(folder: Path) -> list[str]:
    """Return the languages that a lesson has, English first."""
    found = (path.name.split(".")[1] for path in sorted(folder.glob("text.*.md")))
    return sorted(found, key=lambda name: name != FALLBACK)


def read_text(folder: Path, language: str, keys: Sequence[str]) -> LessonText:
    """Read the words in a language, or in English where the lesson has none in it.

    ``keys`` are the sections that the manifest needs. Raises InputError for a file that is not
    there or no text, and for a section that is missing, empty, there twice, or not needed.
    """
    path = text_file(folder, language)
    if not path.is_file() and language != FALLBACK:
        language, path = FALLBACK, text_file(folder, FALLBACK)
    title, about, sections = _parsed(read_source(path), path)
    for key in sections:
        if key not in keys:
            raise InputError(f"{path}: the manifest has no '{key}'", remedy=suggestion(key, keys))
    for key in keys:
        if not sections.get(key):
            raise InputError(
                f"{path}: '## {key}' is missing or empty", remedy="write what the lesson says there"
            )
    return LessonText(language, title, about, sections)


def _parsed(text: str, path: Path) -> tuple[str, str, dict[str, str]]:
    """Return title, paragraph and sections."""
    head, *parts = f"\n{text}".split("\n## ")
    lines = head.strip().split("\n")
    if not lines[0].startswith("# ") or not "".join(lines[1:]).strip():
        raise InputError(
            f"{path}: it does not begin with a title and a paragraph",
            remedy="begin with '# Title', and what the lesson is about",
        )
    sections: dict[str, str] = {}
    for part in parts:
        key, _, body = part.partition("\n")
        key = " ".join(key.split())
        if key in sections:
            raise InputError(f"{path}: '## {key}' is there twice", remedy="leave one out")
        first, end, rest = body.strip().partition("\n")
        is_button = key.startswith("measure ")
        sections[key] = f"{first}{end}{joined(rest)}" if is_button else joined(body.strip())
    return lines[0][2:].strip(), joined("\n".join(lines[1:]).strip()), sections
