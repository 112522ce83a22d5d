"""Standard streams that every command can rely on: open, and able to take any text."""

from __future__ import annotations

import codecs
import io
import os
import sys

_PLAIN = {
    "µ": "u", "×": "x", "·": "|", "–": "-", "→": "->", "←": "<-", "≤": "<=", "≥": ">=", "≈": "~",
    "∞": "inf", "°": "deg ", "±": "+-", "²": "^2", "³": "^3", "…": "...", "✓": "ok", "✗": "x",
    "‘": "'", "’": "'", "“": '"', "”": '"', "\u202f": " ", "\u00a0": " ",
}  # fmt: skip
"""What stands for our characters where the terminal or the file has no such letter."""


def prepare_streams() -> None:
    """Open the standard streams that are closed, and let none of them fail over a character.

    A descriptor that the caller closed would otherwise be the next file or pipe that is opened, and
    a library's print would end up there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    codecs.register_error("gpuexplorer", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="gpuexplorer")


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Write what cannot be encoded in plain letters, or as its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    parts = (_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in found)
    return "".join(parts), error.end
