"""Where the program's data files are: inside the package, or in the checkout."""

from __future__ import annotations

from pathlib import Path


def folder() -> Path:
    """Return the folder with icons, themes, help pages, lessons and languages."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "_data" / "resources"
    return inside if inside.is_dir() else package.parent / "resources"


def text(*parts: str, language: str = "") -> str:
    """Return a text file's content: that of ``name.LANGUAGE.md`` for ``name.md``, if there is one.

    Without a language, or in one that has no such file, it is the file itself.
    """
    path = folder().joinpath(*parts)
    own = path.with_suffix(f".{language}{path.suffix}") if language else path
    return (own if own.is_file() else path).read_text(encoding="utf-8")
