"""Text that came from elsewhere, as it may be shown: on a terminal, in a table, on a page.

A terminal obeys what stands between ESC and a letter: it changes colours, the window's title, the
clipboard. Characters that turn the direction of writing make a name read as another one. Documents
keep every byte; whatever shows their words sends them through ``visible``.
"""

from __future__ import annotations

import os
import unicodedata
from difflib import unified_diff

from gpuexplorer.core.patterns import later

REPLACEMENT = "\ufffd"
_UNSAFE = later(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Controls but for tabs and ends of lines; what turns the direction of writing; halves of
characters; what is no character."""

_NARROW_PIECE = later(r"\S+|\s+")
"""What stays in one line of a text without wide characters: a word, a space."""
_PIECE = later(r"[\u2e80-\uffef][，。；：、！？）]*|[^\s\u2e80-\uffef]+|\s+")
"""The same of any text: a wide character with the sign after it, a word, a space."""
_WIDE = "[\u2014\u2018-\u201d\u2026\u2e80-\uffef]"
"""A character that is as wide as two others, or a mark that is so in Chinese."""
_FIRST_WIDE = "\u2e80"
"""The first that is wide in every language."""
_ENDS_WIDE = later(rf"({_WIDE})\**(?:\]\([^)]*\))?\**$")
_BEGINS_WIDE = later(rf"\**\[?\**({_WIDE})")
_ENDS_SIGN = later("[，。；：、！？）]$")
"""A sign that has its own room after it, where a space would be a second one."""
_BEGINS_WORD = later(r"(?!\d+[.)] |```)\**[0-9A-Za-z`]")
"""A word or code, which are not the mark of a list or of a block."""


def visible(text: str) -> str:
    """Return text without what a terminal or a reader would obey; each such character is a sign."""
    if text.isprintable():  # as nearly every text is
        return text
    text = text.replace("\r\n", "\n")
    return text if _is_safe(text) else _UNSAFE().sub(REPLACEMENT, text)


def visible_json(data: bytes) -> bytes:
    """Return JSON with the same values that a terminal may show: unsafe characters are escaped."""
    text = data.decode()
    if _is_safe(text):
        return data
    return _UNSAFE().sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def _is_safe(text: str) -> bool:
    """Whether nothing unsafe is in a text, as a quick look says: False where it cannot tell."""
    return text.replace("\n", "").replace("\t", "").isprintable()


def _has_wide(text: str) -> bool:
    """Whether a character is in a text that may be wide in every language."""
    return max(text, default="") >= _FIRST_WIDE


def brief(text: str, most: int = 200) -> str:
    """Return text on one line, of ``most`` characters and a sign for the rest."""
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[:most]}…"


def path_text(path: os.PathLike[str] | str) -> str:
    """Return a path as text that can be written; a file's name may hold bytes that are no text."""
    return os.fspath(path).encode(errors="backslashreplace").decode()


def differing(before: str, after: str, before_name: str, after_name: str) -> str:
    """Return what changed from one text to another, as ``diff -u`` writes it; empty for nothing."""
    lines = unified_diff(
        before.splitlines(), after.splitlines(), before_name, after_name, lineterm=""
    )
    return "\n".join(lines)


def columns(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def wrapped(text: str, width: int) -> list[str]:
    """Return a text in lines of at most so many columns, broken at spaces and wide characters."""
    lines, taken = [""], 0
    pieces = _PIECE() if _has_wide(text) else _NARROW_PIECE()
    for piece in pieces.findall(text):
        wide = columns(piece)
        if taken and taken + wide > width:
            lines.append("")
            taken = 0
        if taken or piece.strip():
            lines[-1] += piece
            taken += wide
    return [line.rstrip() for line in lines]


def joined(markdown: str) -> str:
    """Return Markdown whose lines are joined where wide characters end one and begin the next.

    A reader of Markdown shows the end of a line as a space, and Chinese has none between words,
    nor after a sign of its own.
    Headings and code stay as they are.
    """
    if not _has_wide(markdown):
        return markdown
    lines: list[str] = []
    is_code = False
    for line in markdown.split("\n"):
        is_code ^= line.startswith("```")
        before = lines[-1] if lines else ""
        is_prose = not (is_code or line.startswith("    ") or before.startswith(("#", "    ")))
        ends, begins = _ENDS_WIDE().search(before), _BEGINS_WIDE().match(line.lstrip())
        is_wide = ends and begins and max(ends[1], begins[1]) >= _FIRST_WIDE
        follows_sign = _ENDS_SIGN().search(before) and _BEGINS_WORD().match(line.lstrip())
        if is_prose and (is_wide or follows_sign):
            lines[-1] += line.lstrip()
        else:
            lines.append(line)
    return "\n".join(lines)
