"""Where the program's data files are: inside the package, or in the checkout."""

from __future__ import annotations

from pathlib import Path


def folder() -> Path:
    """Return the folder with icons, themes, help pages, lessons and languages."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "_data" / "resources"
    return inside if inside.is_dir() else package.parent / "resources"


def text(*parts: str) -> str:
    """Return a text file's content."""
    return folder().joinpath(*parts).read_text(encoding="utf-8")
